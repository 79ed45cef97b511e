"""overflow: a step's exact value is beyond its format's largest number while the output is representable.

Proof: the overflowing steps with unbounded exponent (precision kept), read unrounded; where the precision kept is
itself too little (a huge offset absorbs the signal), the same steps with their cones exactly. An infinity in place of
a number cannot be made good downstream: where more went wrong after it, the smallest region around it, exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.widening import cones_around, reader
from precdiff.machine.realarray import FINITE, NEGATIVE_INFINITY, POSITIVE_INFINITY
from precdiff.ops import OPS, Elementwise
from precdiff.trace import Change, Region, Step, needed_for


def _overflowing(evidence: Evidence, step: Step, earlier: Collection[str]) -> np.ndarray:
    """Elements whose exact value exceeds the format's largest number, recorded as an infinity, NaN or that number;
    `earlier` are the steps before it that overflow.
    """
    format = evidence.format(step.id)
    if not format.is_float or step.op == "constant":
        return np.zeros(evidence.values(step.id).shape, bool)
    exact, recorded = evidence.exact(step.id), evidence.values(step.id)
    beyond = (exact.kind == FINITE) & (np.abs(exact.hi) > format.max_finite)
    # a certified value beyond fp64 is kept as an infinity
    infinite = np.isin(exact.kind, (POSITIVE_INFINITY, NEGATIVE_INFINITY))
    beyond |= infinite & (_no_pole(evidence, step) | any(i in earlier for i in step.inputs))
    with np.errstate(invalid="ignore"):
        return np.asarray(beyond & ~(np.abs(recorded) < format.max_finite))


def _no_pole(evidence: Evidence, step: Step) -> np.ndarray:
    """Where all operands are finite and none is 0: an infinity here is neither handed on nor a pole."""
    operands = [evidence.values(i) for i in step.inputs]
    shape = evidence.values(step.id).shape
    if not isinstance(OPS[step.op], Elementwise):
        return np.full(shape, all(np.isfinite(x).all() for x in operands))
    usable = [np.isfinite(x) & (x != 0) for x in operands]
    return np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*usable)), shape)


@cause_rule(
    "overflow", rank=10, groups=("finite", "nonfinite"),
    definition="an exact intermediate beyond the largest finite number while the output is representable",
)  # fmt: skip
def overflow(evidence: Evidence) -> Iterator[Hypothesis]:
    """The steps that overflow, in execution order; the first is the birthplace, later ones its consequences."""
    steps: dict[str, np.ndarray] = {}
    for step in evidence.steps:
        where = _overflowing(evidence, step, steps)
        if (where & evidence.touched(step.id)).any():
            steps[step.id] = where
    if not steps:
        return
    found = _hypothesis(evidence, list(steps), next(iter(steps.values())))
    yield found
    if (evidence.lost(found.born_at[0]) & evidence.touched(found.born_at[0])).any():
        for region in cones_around(evidence, list(steps)):
            yield replace(found, step=region.steps[-1], region=region, changes=({region: Change("exact")},))


def _hypothesis(evidence: Evidence, ids: list[str], where: np.ndarray) -> Hypothesis:
    first, region = evidence.trace.step(ids[0]), Region(tuple(ids))
    before = needed_for(evidence.trace, ids)
    cones = Region(tuple(s.id for s in evidence.steps if s.id in before))
    exact = np.abs(evidence.exact(first.id).values()[where])
    return Hypothesis(
        reader(evidence, ids), region, [first.id],
        ({region: Change("exponent", "unbounded", "wide")}, {cones: Change("exact", exit="wide")}),
        f"Keep {first.source.name or first.id} in range: scale or shift its operands, or compute it in a wider format.",
        {
            "first": first.id, "overflowed": int(np.count_nonzero(where)), "largest_exact": float(exact.max()),
            "largest_finite": evidence.format(first.id).max_finite,
        },
    )  # fmt: skip


def _recognised(found: Deviation) -> str:
    infinite = np.isinf(found.actual.astype(np.float64)) & found.lost
    if not infinite.any() or not found.format.is_float:
        return ""
    return f"{int(np.count_nonzero(infinite))} infinities in place of numbers of the format"


@imitation(
    "overflow", rank=12, recognised=_recognised,
    remedy="Compute the step in a format of a wider range, or scale its operands.",
)  # fmt: skip
def overflowed(found: Deviation) -> Iterator[Changes]:
    """The step, or its accumulator, in fp16's range; infinities for saturation and the other way round."""
    if _recognised(found):
        yield {found.step.id: Change("format", "fp16")}
        yield {found.step.id: Change("accumulator", "fp16")}
    if found.blind or _recognised(found):
        yield {found.step.id: Change("overflow", "ieee")}
        yield {found.step.id: Change("overflow", "saturate")}
