"""Compare one tensor with what was expected: metrics, verdict, worst elements, and which elements fail.

What holds under every standard is here. A value that is not finite where the expected one rounded once is (or the
reverse, or NaN against a number) is mismatched and fails; NaN against NaN agrees, but a tensor with nothing else in
it was not compared; an element whose verdict would change within its reference's radius is undecided. Tensors are
taken in chunks: memory stays a few MiB beyond the mask.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from precdiff.comparison.elements import CHUNK, Elements, Rows
from precdiff.comparison.expected import Expected
from precdiff.comparison.metric import METRICS
from precdiff.comparison.pairing import check_shapes
from precdiff.comparison.result import Errors, ReferenceInfo, TensorComparison, Verdict
from precdiff.comparison.standard import Judgement, Limits, Standard, check_taken, get_standard
from precdiff.comparison.whole import Counts, Decision, Share, Silent, Whole
from precdiff.comparison.worst import WorstElements
from precdiff.errors import NotComparableError
from precdiff.formats import Array, Format, get_format, to_bits


@dataclass(frozen=True)
class Identity:
    """Which tensor this is; the fields are those of the report's row."""

    id: str = ""
    name: str = ""
    sha256: str = ""
    layer: str = ""
    op: str = ""
    source: str = ""
    iteration: int | None = None
    rank: int | None = None
    phase: str = "forward"
    role: str = "output"
    paired_by: str = "name"


class Compared(NamedTuple):
    """A row of the report and the mask of the elements that fail, in the tensor's shape."""

    row: TensorComparison
    failing: Array


def compare_tensor(
    actual: Array,
    expected: Expected | Array,
    format: str | Format,
    standard: str | Standard = "auto",
    limits: Limits | None = None,
    identity: Identity | None = None,
) -> Compared:
    """Judge a carrier array of `format` against a carrier array of the same format or an Expected.

    >>> row, failing = compare_tensor(np.float32([1.0, 2.0]), np.float32([1.0, 2.25]), "fp16", "ulp", Limits(max_ulp=4))
    >>> row.verdict, row.max_ulp, failing.tolist()
    ('fail', 128.0, [False, True])
    """
    format, identity = get_format(format), identity or Identity()
    actual = np.asarray(actual)
    wanted = expected if isinstance(expected, Expected) else Expected.array(np.asarray(expected), format)
    check_shapes(identity.name or identity.id or "tensor", actual.shape, wanted.shape)
    asked = get_standard(standard)
    limits, chosen = _completed(limits or Limits(), identity, asked), _fitting(asked, format)
    if limits.peer is not None:
        check_shapes(f"the peer of {identity.name or 'tensor'}", limits.peer.shape, wanted.shape)
    reason = chosen.silent(limits, format) if chosen.silent is not None else ""
    chosen = _silent(reason) if reason else chosen
    return _Comparison(actual, wanted, format, chosen, limits).run(identity)


def _fitting(standard: Standard, format: Format) -> Standard:
    return get_standard("bitwise") if standard.floats_only and not format.is_float else standard


def _completed(limits: Limits, identity: Identity, standard: Standard) -> Limits:
    """The limits with what the tensor and the standard say."""
    tolerances = {name: getattr(limits, name) is not None for name in ("rtol", "atol")}
    check_taken(
        standard, **tolerances, zero_atol=limits.zero_atol > 0.0, peer=limits.peer is not None, runs=limits.runs
    )
    conventions = replace(limits.conventions, equal_nan=limits.conventions.equal_nan and not standard.nan_differs)
    return replace(limits, role=identity.role, op=limits.op or identity.op, conventions=conventions)


def _silent(reason: str) -> Standard:
    """What stands for a standard with nothing to say."""

    def judge(elements: Elements, limits: Limits) -> Judgement:
        return Judgement.of(np.zeros(len(elements), bool), elements.distance, np.inf)

    return Standard("silent", lambda limits, format: reason, judge, whole=lambda *given: Silent(reason))


class _Comparison:
    """One tensor's comparison while its chunks go by."""

    def __init__(self, actual: Array, expected: Expected, format: Format, standard: Standard, limits: Limits) -> None:
        self._actual, self._expected, self._format = actual, expected, format
        self._standard, self._limits = standard, limits
        self._whole = self._gathered()
        self._metrics = [make(format) for _, make in METRICS.items()]
        self._worst = WorstElements(actual.shape)
        self._failing = np.zeros(actual.size, bool)
        self._compared = self._excused = self._undecided = self._nan_pairs = 0
        self._excused_ulp = self._needed = self._radius = 0.0
        self._factor = False
        self._hash = hashlib.sha256()

    def _gathered(self) -> Whole:
        """What decides: the standard's own figures, or the share of elements beyond the limit, none if not stated."""
        if self._standard.whole is not None:
            return self._standard.whole(self._limits, self._format, self._actual.shape)
        return Share(self._limits.allow_fraction or 0.0, self._standard.rule(self._limits, self._format))

    def run(self, identity: Identity) -> Compared:
        """Go through the chunks and say what was found."""
        for elements in self._chunks():
            for metric in self._metrics:
                metric.add(elements)
            self._judge(elements)
        return Compared(self._row(identity), self._failing.reshape(self._actual.shape))

    def _chunks(self) -> Iterator[Elements]:
        rows, peer = Rows.of(self._actual, self._expected), self._limits.peer
        peers = None if peer is None else Rows.of(peer, self._expected)
        representable = self._expected.format is self._format
        for start in range(0, self._actual.size, CHUNK):
            chunk = slice(start, min(start + CHUNK, self._actual.size))
            made = [
                Elements(one, chunk, self._format, self._limits.conventions, representable)
                for one in (rows, peers)
                if one is not None
            ]
            made[0].peer = made[1] if peers is not None else None
            yield made[0]

    def _judge(self, elements: Elements) -> None:
        judgement = self._standard.judge(elements, self._limits.at(elements.chunk, self._actual.shape))
        judgement = _special(elements, judgement)
        self._whole.add(elements)
        self._count(elements, judgement)
        self._worst.add(elements, _ranks(elements, judgement))
        self._failing[elements.chunk] = judgement.over
        codes = to_bits(elements.actual, self._format)
        self._hash.update(codes.astype(codes.dtype.newbyteorder("<"), copy=False).data)

    def _count(self, elements: Elements, judgement: Judgement) -> None:
        skipped = 0 if elements.skipped is None else int(np.count_nonzero(elements.skipped))
        self._compared += len(elements) - skipped
        self._nan_pairs += elements.nan_pairs
        self._undecided += int(np.count_nonzero(judgement.maybe))
        if isinstance(elements.slack, np.ndarray):
            self._radius = max(self._radius, float(elements.slack.max(initial=0.0)))
        if judgement.excused is not None and judgement.excused.any():
            self._excused += int(np.count_nonzero(judgement.excused))
            self._excused_ulp = max(self._excused_ulp, float(elements.distance[judgement.excused].max()))
        beyond = judgement.over | judgement.maybe
        if beyond.any():
            self._factor = np.ndim(judgement.limit) > 0
            self._needed = max(self._needed, _needed(elements, judgement, beyond))

    def _row(self, identity: Identity) -> TensorComparison:
        found: dict[str, Any] = {name: value for metric in self._metrics for name, value in metric.results().items()}
        own = {field.name: found.pop(field.name) for field in fields(TensorComparison) if field.name in found}
        decision = self._decision()
        verdict = self._verdict(decision, own["nonfinite"].mismatched)
        if verdict == "not_compared" or (decision.of_tensor and verdict == "pass"):
            self._failing[:] = False
        over = int(np.count_nonzero(self._failing))
        return TensorComparison(
            **{**vars(identity), **own, "sha256": identity.sha256 or self._hash.hexdigest()},
            format=self._format.name,
            shape=tuple(self._actual.shape),
            verdict=verdict,
            rule=decision.rule,
            compared=self._compared,
            excused=self._excused,
            over_limit=over,
            errors=Errors(**{self._expected.measures: own["max_ulp"]}) if self._expected.measures else Errors(),
            worst=self._worst.rows(),
            reference=self._reference(),
            extra={**found, "undecided": self._undecided, **self._notes(over + self._undecided, decision)},
        )

    def _decision(self) -> Decision:
        """What the standard says of all chunks; its rule alone where nothing was compared."""
        if not self._compared:
            return Decision("undecided" if self._undecided else "pass", self._standard.rule(self._limits, self._format))
        over = int(np.count_nonzero(self._failing))
        return self._whole.decide(Counts(self._compared, over, self._undecided))

    def _verdict(self, decision: Decision, mismatched: int) -> Verdict:
        if decision.outcome == "not_compared":
            return "not_compared"
        if mismatched or decision.outcome != "pass":
            return "fail" if mismatched else decision.outcome
        return "pass" if self._compared > self._nan_pairs else "not_compared"

    def _notes(self, beyond: int, decision: Decision) -> dict[str, float]:
        notes = {"excused_max_ulp": self._excused_ulp} if self._excused else {}
        notes |= {"nan_pairs": self._nan_pairs} if self._nan_pairs else {}
        notes |= {"warning": 1} if decision.warning else {}
        if decision.of_tensor:
            known = decision.outcome != "pass" and math.isfinite(decision.factor)
            return notes | ({"needed_factor": decision.factor} if known else {})
        if beyond:
            notes["needed_factor" if self._factor else "needed_limit"] = self._needed
        return notes

    def _reference(self) -> ReferenceInfo | None:
        info = self._expected.info
        return info and replace(info, max_radius_ulp=max(info.max_radius_ulp, self._radius))


def _special(elements: Elements, judgement: Judgement) -> Judgement:
    """Apply what holds under every standard to the elements that are not number against number."""
    if elements.numbers is None:
        return judgement
    over, maybe = judgement.over & elements.numbers, judgement.maybe & elements.numbers
    if elements.mismatched is not None:
        over |= elements.mismatched
    if elements.doubtful is not None:
        over, maybe = over & ~elements.doubtful, maybe | elements.doubtful
    excused = None if judgement.excused is None else judgement.excused & elements.numbers
    return replace(judgement, over=over, maybe=maybe, excused=excused)


def _ranks(elements: Elements, judgement: Judgement) -> tuple[Array | None, ...]:
    """Masks of the worst elements, most serious first: mismatched, beyond, undecided, merely inexact."""
    over, mismatched = judgement.over, elements.mismatched
    if mismatched is not None:
        mismatched = mismatched & over
        over = over & ~mismatched
    rest = (elements.distance > 0.0) & ~judgement.over & ~judgement.maybe
    for aside in (elements.skipped, judgement.excused):
        rest = rest if aside is None else rest & ~aside
    return mismatched, over, judgement.maybe, rest


def _needed(elements: Elements, judgement: Judgement, beyond: Array) -> float:
    """The smallest limit, or factor of the limits, under which the elements beyond would pass; inf where none does."""
    if elements.mismatched is not None and (elements.mismatched & beyond).any():
        return float("inf")
    error, limit = judgement.error[beyond], judgement.limit
    if np.ndim(limit) == 0:
        return float(error.max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float((error / np.broadcast_to(limit, judgement.over.shape)[beyond]).max())


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict over several tensors: the worst of them, since what was not compared is no success.

    >>> overall(["pass", "not_compared"]), overall(["pass"]), overall([])
    ('not_compared', 'pass', 'not_compared')
    """
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("fail", "undecided", "not_compared", "pass")
    return next((verdict for verdict in order if verdict in found), "not_compared")


def over_tensors(rows: Iterable[TensorComparison]) -> Verdict:
    """The verdict over tensors: every output must have been compared; a step with nothing to compare says nothing."""
    return overall(row.verdict for row in rows if row.role == "output" or row.verdict != "not_compared")


def require_compared(rows: Iterable[TensorComparison]) -> None:
    """Raise where nothing at all was compared: that is trouble, never success."""
    rows = list(rows)
    if all(row.verdict == "not_compared" for row in rows):
        found = ", ".join(f"{row.name or row.id} {row.shape} {_nothing(row)}" for row in rows) or "no tensors"
        raise NotComparableError(f"nothing was compared: {found}. Check that both sides hold data.")


def _nothing(row: TensorComparison) -> str:
    if row.compared > row.extra.get("nan_pairs", 0):
        return f"has no limit ({row.rule})"
    return "holds nothing but NaN, as expected" if row.compared else "holds no elements"
