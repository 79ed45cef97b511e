"""Apply to a report what was agreed on beforehand: waivers of the configuration, and decisions of the store.

A waiver changes no verdict of a tensor. It accepts a tensor that does not pass while its largest error is within the
waiver's own limit, and only the report's verdict counts the tensor as passed:

    accepted(t)  <=>  t was compared, t does not pass,  max_ulp(t) + radius(t) <= max_ulp(w),  today <= expires(w)

A decision is bound to the values it was made on. The file in git wins: where a waiver there names a tensor that does
not pass, the store is not asked. Whatever is expired, exceeded, unneeded or names nothing is said (`Report.agreed`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from precdiff.comparison import Scope, TensorComparison, TensorLimit, Verdict, Waived, limit_of, over_tensors, worst_ulp
from precdiff.dump.decision import Decision
from precdiff.report.configuration import Waiver
from precdiff.report.report import Agreed, Candidate, Report, over_the_envelope

Outcome = dict[str, list[str]]


@dataclass(frozen=True)
class Agreements:
    """What holds for a comparison: limits (`stated`: the caller's own win), waivers, and decisions on this run by the
    name of the tensor; `store` is how messages call their file.
    """

    limits: Sequence[TensorLimit] = ()
    waivers: Sequence[Waiver] = ()
    decisions: Mapping[str, Decision] = dataclasses.field(default_factory=dict)
    store: str = ""
    stated: bool = False


def key_of(row: TensorComparison) -> str:
    """How a decision names a tensor: an output by its name, a step by its id."""
    return row.name if row.role == "output" and row.name else row.id or row.name


def with_agreements(report: Report, agreements: Agreements, today: date) -> Report:
    """The report with waivers applied, and with what became of everything agreed on."""
    applied = _Applied(agreements, today)
    tensors = tuple(applied.seen(row) for row in report.tensors)
    envelope = None if report.envelope is None else tuple(applied.candidate(one) for one in report.envelope)
    made = dataclasses.replace(report, tensors=tensors, envelope=envelope)
    return dataclasses.replace(made, agreed=applied.told(report), verdict=_verdict(report, made))


def _verdict(before: Report, after: Report) -> Verdict:
    """The verdict over the tensors, those accepted counted as passed; else as it was."""
    rows = [dataclasses.replace(row, verdict="pass") if row.waived else row for row in after.tensors]
    if not any(row.waived for row in rows):
        return before.verdict
    verdict = over_the_envelope(over_tensors(rows), after.envelope or ())
    return "undecided" if verdict == "pass" and before.provenance.get("incomplete") else verdict


class _Tensor(Protocol):
    """What a waiver looks at, of a tensor or of an output under a candidate."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def max_ulp(self) -> float: ...
    @property
    def verdict(self) -> Verdict: ...


class _Applied:
    """What becomes of the agreements while the tensors go by."""

    def __init__(self, agreements: Agreements, today: date) -> None:
        self._agreements, self._today = agreements, today
        self._waivers: list[Outcome] = [{} for _ in agreements.waivers]
        self._decisions: dict[str, Outcome] = {name: {} for name in agreements.decisions}

    def seen(self, row: TensorComparison) -> TensorComparison:
        """The row, waived where something accepts it."""
        spoken = [n for n, waiver in enumerate(self._agreements.waivers) if _names(waiver.scope, row)]
        decision = self._agreements.decisions.get(key_of(row))
        if row.verdict == "pass":
            self._passing(row, spoken, decision)
            return row
        if spoken:
            return self._by_waivers(row, spoken, decision)
        return row if decision is None else self._by_decision(row, decision)

    def _passing(self, row: TensorComparison, spoken: Iterable[int], decision: Decision | None) -> None:
        for number in spoken:
            _note(self._waivers[number], "unneeded", row)
        if decision is not None:
            said = "unneeded" if decision.verdict == "accept" else decision.verdict
            _note(self._decisions[key_of(row)], said if decision.content == row.sha256 else "reopened", row)

    def _by_waivers(self, row: TensorComparison, spoken: Sequence[int], decision: Decision | None) -> TensorComparison:
        """The row under the first waiver that accepts it; what the others say of it is noted."""
        if decision is not None:
            _note(self._decisions[key_of(row)], "overruled", row)
        for number in spoken:
            waiver = self._agreements.waivers[number]
            said = _said(row, waiver, self._today)
            _note(self._waivers[number], said, row)
            if said == "accepted":
                how = Waived(waiver.source, waiver.reason, waiver.author, str(waiver.expires), waiver.max_ulp)
                return dataclasses.replace(row, waived=how)
        return row

    def _by_decision(self, row: TensorComparison, decision: Decision) -> TensorComparison:
        said = self._decided(row, decision)
        _note(self._decisions[key_of(row)], said, row)
        if said != "accepted":
            return row
        source = f"{self._agreements.store}#{decision.number}"
        how = Waived(source, decision.reason, decision.author, decision.expires, decision.max_ulp)
        return dataclasses.replace(row, waived=how)

    def _decided(self, row: TensorComparison, decision: Decision) -> str:
        if decision.content != row.sha256:
            return "reopened"
        if decision.verdict != "accept":
            return decision.verdict
        if decision.expired(self._today):
            return "expired"
        limit = math.inf if decision.max_ulp is None else decision.max_ulp
        return "accepted" if _within(row, limit) else "exceeded"

    def candidate(self, one: Candidate) -> Candidate:
        """A candidate of the envelope; waived where waivers in git accept every output that does not pass there.

        A decision of the store speaks of the very values compared, which are not the candidate's.
        """
        waived = all(
            any(
                _names(waiver.scope, row) and _said(row, waiver, self._today) == "accepted"
                for waiver in self._agreements.waivers
            )
            for row in one.beyond
        )
        return dataclasses.replace(one, waived=bool(one.beyond) and waived)

    def told(self, report: Report) -> tuple[Agreed, ...]:
        """What became of every row."""
        given = self._agreements
        limits = [_limit(row, report, given) for row in given.limits]
        waivers = [_waiver(row, outcome) for row, outcome in zip(given.waivers, self._waivers, strict=True)]
        decided = [
            _decision(given.decisions[name], outcome, given.store)
            for name, outcome in self._decisions.items()
            if outcome
        ]
        return (*limits, *waivers, *decided)


def _names(scope: Scope, row: _Tensor) -> bool:
    return scope.matches(row.id, row.name, row.layer)


def _said(row: _Tensor, waiver: Waiver, today: date) -> str:
    """What a waiver says of a tensor that does not pass."""
    if today > waiver.expires:
        return "expired"
    return "accepted" if _within(row, waiver.max_ulp) else "exceeded"


def _within(row: _Tensor, limit: float) -> bool:
    """Whether a tensor was compared and its error, with all that its reference leaves open, is within a limit."""
    error = row.max_ulp
    if isinstance(row, TensorComparison):
        error = worst_ulp(row) + (row.reference.max_radius_ulp if row.reference is not None else 0.0)
    return row.verdict != "not_compared" and error <= limit


def _note(outcome: Outcome, said: str, row: TensorComparison) -> None:
    names = outcome.setdefault(said, [])
    if key_of(row) not in names:
        names.append(key_of(row))


def _limit(row: TensorLimit, report: Report, agreements: Agreements) -> Agreed:
    """What a limit was used for; tensors are judged by limits where they are outputs or there is no kernel."""
    judged = [one for one in report.tensors if one.role == "output" or _given(one)]
    own = [one for one in judged if limit_of(agreements.limits, one.id, one.name, one.layer) is row]
    said = "set aside" if agreements.stated else "judged"
    outcome = {said: tuple(dict.fromkeys(map(key_of, own)))} if own else {}
    return Agreed(
        "limit", row.source, row.scope.tensor or "", row.scope.layer or "", row.max_ulp, row.standard or "",
        outcome=outcome,
    )  # fmt: skip


def _given(row: TensorComparison) -> bool:
    return row.reference is None or row.reference.status == "given"


def _waiver(row: Waiver, outcome: Outcome) -> Agreed:
    return Agreed(
        "waiver", row.source, row.scope.tensor or "", row.scope.layer or "", row.max_ulp,
        reason=row.reason, author=row.author, expires=str(row.expires), outcome=_frozen(outcome),
    )  # fmt: skip


def _decision(row: Decision, outcome: Outcome, store: str) -> Agreed:
    return Agreed(
        "decision", f"{store}#{row.number}", row.name, row.layer, row.max_ulp,
        reason=row.reason, author=row.author, expires=row.expires, outcome=_frozen(outcome),
    )  # fmt: skip


def _frozen(outcome: Outcome) -> dict[str, Sequence[str]]:
    return {said: tuple(names) for said, names in outcome.items()}
