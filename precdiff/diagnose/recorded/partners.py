"""What an expected side adds: a tensor must follow from what it followed from there.

The expected side of a migration ran the same program, perhaps in wider formats. Its values differ by all rounding so
far, so that being far from them says little; but where its tensor was an earlier one (origins.py), or rounded from it,
or a sum or parts of some, the actual tensor must be that of its own earlier tensors. What nothing made (weights, inputs
of the model) must be the expected one's, rounded once. An unknown call is compared where all it was given agrees so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from precdiff.comparison import Errors, Expected, Limits, TensorComparison, compare_streamed, compare_tensor
from precdiff.comparison.msprobe import Sheet, figures
from precdiff.diagnose.recorded.judging import Judged, Recording, follows, judged_step, not_compared, on_a_grid, ulps
from precdiff.diagnose.recorded.origins import Origin, rebuilt
from precdiff.diagnose.recorded.summaries import by_summary
from precdiff.dump import StepRow
from precdiff.formats import Format
from precdiff.reference.calls import Operand
from precdiff.rounding import Rounding, round_array

#: ulp within which an unknown call's outputs from equal inputs have to be: what `auto` allows of bare arrays
UNKNOWN_ULP = 4.0
_HALF = 0.5


@dataclass(frozen=True)
class Sides:
    """Two recordings and which tensor of the actual one (key) goes with which of the expected one."""

    actual: Recording
    expected: Recording
    pairs: Mapping[str, str]
    #: how each pair was found
    how: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def back(self) -> dict[str, str]:
        """From expected ids to actual ids."""
        return {theirs: mine for mine, theirs in self.pairs.items()}

    def partner(self, id: str) -> Operand | None:
        """The expected values of a tensor, None where it has none that were kept in its shape."""
        theirs = self.pairs.get(id)
        if theirs is None or not (self.actual.contents.held(id) and self.expected.contents.held(theirs)):
            return None
        mine = self.actual.dump.tensors[id].shape
        return self.expected.contents.operand(theirs) if mine == self.expected.dump.tensors[theirs].shape else None

    def judged(self, step: StepRow) -> list[Judged]:
        """Everything a step was given and made that has a partner, and all it made."""
        made = [self._made(step, judged) for judged in judged_step(self.actual, step)]
        given = [self._given(step, id) for _, id in step.inputs if id in self.pairs and self._first(step, id)]
        return [self._measured(judged) for judged in (*given, *made)]

    def loose(self) -> list[Judged]:
        """Tensors of no step that have a partner, compared as bare arrays are."""
        nowhere = StepRow("", "", (), ())
        return [self.by_standard(nowhere, id, "ulp", Limits(max_ulp=UNKNOWN_ULP)) for id in self._loose]

    @cached_property
    def _loose(self) -> list[str]:
        in_steps = {id for step in self.actual.dump.steps for _, id in (*step.inputs, *step.outputs)}
        return [id for id in self.actual.dump.tensors if id in self.pairs and id not in in_steps]

    def every(self, standard: str, limits: Limits) -> Iterator[Judged]:
        """Every pair by one standard, in the order of the steps."""
        seen: set[str] = set()
        for step in self.actual.dump.steps:
            for _, id in (*step.inputs, *step.outputs):
                if id in self.pairs and id not in seen:
                    seen.add(id)
                    yield self.by_standard(step, id, standard, limits)
        nowhere = StepRow("", "", (), ())
        yield from (self.by_standard(nowhere, id, standard, limits) for id in self._loose)

    def by_standard(self, step: StepRow, id: str, standard: str, limits: Limits) -> Judged:
        """A tensor against its partner."""
        if not self.actual.contents.held(id) or not self.expected.contents.held(self.pairs[id]):
            return self._summarised(not_compared(self.actual, step, id, "its values were not kept"))
        mine, theirs = self.actual.contents.streamed(id), self.expected.contents.streamed(self.pairs[id])
        identity, sheet = self.actual.identity(id, step, self.how.get(id, "name")), Sheet(mine.shape)

        def wanted(part: np.ndarray) -> Expected:
            return _expected(mine.format, Operand(part, theirs.format))

        row = compare_streamed(mine, theirs, wanted, mine.format, standard, limits, identity, sheet)
        return Judged(_measured(row, row.max_ulp, sheet.figures()), step.id, "the expected one")

    def _first(self, step: StepRow, id: str) -> bool:
        """Whether a tensor is an input here for the first time, and no call's output."""
        return self._read_by.get(id) == step.id

    @cached_property
    def _read_by(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for step in self.actual.dump.steps:
            for _, id in step.inputs:
                found.setdefault(id, step.id)
        for step in self.actual.dump.steps:
            for _, id in step.outputs:
                found.pop(id, None)
        return found

    def _made(self, step: StepRow, judged: Judged) -> Judged:
        if judged.row.verdict != "not_compared":
            return judged
        if not self.actual.contents.held(judged.row.id):
            return self._summarised(judged)
        return self._by_origin(step, judged.row.id) or self._unknown(step, judged)

    def _given(self, step: StepRow, id: str) -> Judged:
        recording = self.actual
        if not recording.contents.held(id) or not self.expected.contents.held(self.pairs[id]):
            return self._summarised(not_compared(recording, step, id, "its values were not kept"))
        origin = recording.origins.get(id)
        if (origin is None or origin.sources[0] in self._read_by) and self._is_parameter(id):
            return self._by_rounding(step, id)
        if origin is not None:
            return follows(recording, step, id, origin)
        return self._by_origin(step, id) or self._by_rounding(step, id)

    def _summarised(self, judged: Judged) -> Judged:
        """By statistics or checksums, where it has a partner."""
        id = judged.row.id
        if id not in self.pairs:
            return judged
        row = by_summary(judged.row, self.actual.contents, id, self.expected.contents, self.pairs[id])
        return replace(judged, row=replace(row, paired_by="name"), why=row.rule)

    def _by_origin(self, step: StepRow, id: str) -> Judged | None:
        """Against what the partner's origin makes of the actual side's own tensors."""
        theirs = self.pairs.get(id)
        origin = None if theirs is None else self.expected.origins.get(theirs)
        if origin is None or not all(s in self.back for s in origin.sources):
            return None
        mine = Origin(origin.kind, tuple(self.back[s] for s in origin.sources))
        if not all(self.actual.contents.held(s) for s in mine.sources):
            return None
        operand = self.actual.contents.operand(id)
        wanted = _wanted(mine, operand, [self.actual.contents.operand(s) for s in mine.sources])
        return None if wanted is None else self._against(step, id, wanted, mine)

    def _against(self, step: StepRow, id: str, wanted: np.ndarray, origin: Origin) -> Judged:
        operand = self.actual.contents.operand(id)
        truth = ulps(Operand(wanted, operand.format), 1.0 if origin.kind == "sum" else 0.0)
        expected = Expected(wanted, info=None, format=operand.format, measures="local")
        limits = Limits(bound=truth.allowed, bound_unit="absolute")
        identity = self.actual.identity(id, step, f"{self.how.get(id, 'name')}; {origin}, as on the expected side")
        standard = "bound" if operand.format.is_float else "bitwise"
        row = compare_tensor(operand.values, expected, operand.format, standard, limits, identity).row
        rule = f"{origin}, as on the expected side"
        row = replace(row, extra={**row.extra, "share_of_allowed": math.inf if row.over_limit else 0.0})
        said = rule if row.verdict != "fail" else f"{rule}{on_a_grid(operand)}"
        return Judged(replace(row, rule=said), step.id, rule, float(row.over_limit > 0), truth, origin)

    def _by_rounding(self, step: StepRow, id: str) -> Judged:
        """A tensor that nothing recorded made: the expected one's values rounded once."""
        partner = self.partner(id)
        if partner is None:
            return not_compared(self.actual, step, id, "nothing recorded made it, and it has no partner of its shape")
        judged = self._stored(step, id, partner)
        if judged.row.verdict == "pass" or self._is_parameter(id):
            return judged
        return not_compared(self.actual, step, id, "nothing recorded made it, here or on the expected side")

    def _is_parameter(self, id: str) -> bool:
        """Whether it is a parameter of a module, or its partner holds what one of the expected side holds."""
        if self.actual.dump.tensors[id].role == "parameter":
            return True
        return self.expected.contents.digest(self.pairs[id]) in self._parameters

    @cached_property
    def _parameters(self) -> set[bytes]:
        """What parameters of the expected side hold."""
        rows = self.expected.dump.tensors.values()
        found = {self.expected.contents.digest(row.id) for row in rows if row.role == "parameter"}
        return {digest for digest in found if digest is not None}

    def _stored(self, step: StepRow, id: str, partner: Operand) -> Judged:
        operand = self.actual.contents.operand(id)
        standard, limits = ("ulp", Limits(max_ulp=_HALF)) if operand.format.is_float else ("bitwise", Limits())
        identity = self.actual.identity(id, step, "name")
        row = compare_tensor(
            operand.values, _expected(operand.format, partner), operand.format, standard, limits, identity
        ).row
        return Judged(row, step.id, "the expected one, rounded once")

    def _unknown(self, step: StepRow, judged: Judged) -> Judged:
        """An unknown call that was given what the expected one was given."""
        partner = self.partner(judged.row.id)
        if partner is None or not step.inputs or not all(self._alike(id) for _, id in step.inputs):
            return judged
        operand = self.actual.contents.operand(judged.row.id)
        identity = self.actual.identity(judged.row.id, step, "name")
        against, limits = _expected(operand.format, partner), Limits(max_ulp=UNKNOWN_ULP)
        row = compare_tensor(operand.values, against, operand.format, "ulp", limits, identity).row
        return Judged(row, step.id, "the expected one, from equal inputs")

    def _alike(self, id: str) -> bool:
        """Whether an input is its partner's values, rounded once."""
        partner = self.partner(id)
        if partner is None:
            return False
        operand = self.actual.contents.operand(id)
        return bool(np.array_equal(operand.values, _rounded(partner, operand), equal_nan=operand.format.is_float))

    def _measured(self, judged: Judged) -> Judged:
        """The row with the error against the expected tensor: everything that happened so far."""
        partner = self.partner(judged.row.id)
        if partner is None or not partner.values.size:
            return judged
        operand = self.actual.contents.operand(judged.row.id)
        limits = Limits(max_ulp=np.inf)
        wanted = _expected(operand.format, partner)
        against = compare_tensor(operand.values, wanted, operand.format, "ulp", limits).row
        found = figures(operand.values, partner.values)
        return replace(judged, row=_measured(judged.row, against.max_ulp, found))


def _measured(row: TensorComparison, total: float, found: Mapping[str, float]) -> TensorComparison:
    """The row with the error against the expected tensor and msprobe's figures."""
    if not row.compared:
        return row
    extra = {f"msprobe_{name}": x for name, x in found.items()}
    return replace(row, errors=Errors(total, None, row.errors.local, None), extra={**row.extra, **extra})


def _expected(format: Format, partner: Operand) -> Expected:
    if partner.format is format or not format.is_float:
        return Expected.array(partner.values, partner.format)
    return Expected.reals(partner.values)


def _rounded(partner: Operand, like: Operand) -> np.ndarray:
    if partner.format is like.format or not like.format.is_float:
        return partner.values
    return np.asarray(round_array(np.asarray(partner.values, np.float64), Rounding(like.format)), like.format.carrier)


def _wanted(origin: Origin, operand: Operand, sources: list[Operand]) -> np.ndarray | None:
    """What the origin makes of the sources; of parts, for each element the nearest of the source's values."""
    shape, format = operand.values.shape, operand.format
    if origin.kind == "parts":
        return _nearest(operand.values, np.asarray(round_array(sources[0].values, Rounding(format)), format.carrier))
    if any(s.values.size != operand.values.size for s in sources):
        return None
    flat = [s.values.reshape(-1) for s in sources]
    kind = "cast" if origin.kind == "same" and sources[0].format is not format and format.is_float else origin.kind
    return rebuilt(Origin(kind, origin.sources), flat, format).reshape(shape)


def _nearest(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    known = np.unique(among)
    place = np.clip(np.searchsorted(known, values), 1, max(known.size - 1, 1))
    low, high = known[place - 1], known[np.minimum(place, known.size - 1)]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.abs(values - low) <= np.abs(high - values), low, high), values.dtype)
