"""underflow_ftz: a non-zero exact intermediate is stored as zero, flushed, or as a subnormal that lost its digits.

Evidence: |exact| below the smallest normal number and a relative error above the unit roundoff. Proof: subnormals kept
where the profile flushes them; else unbounded exponent below (precision kept), read unrounded. Where the error is born
in such a step but more went wrong after it, the smallest region around it, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.widening import cones_around, reader
from precdiff.formats import get_format
from precdiff.machine import MpMachine, RealArray
from precdiff.machine.realarray import FINITE
from precdiff.reference.restrict import is_elementwise, isolated, restricted
from precdiff.trace import Change, Region, local


def _underflowing(evidence: Evidence, step: str) -> np.ndarray:
    format = evidence.format(step)
    if not format.is_float:
        return np.zeros(evidence.values(step).shape, bool)
    # a step's own result, so that a cancelled zero is not mistaken for an underflow
    exact, recorded = evidence.locals_[step].values, evidence.values(step)
    with np.errstate(all="ignore"):
        relative = np.abs((recorded - exact.hi) - exact.lo) / np.abs(exact.hi)
    nonzero = _nonzero(evidence, step, exact)
    small = (exact.kind == FINITE) & nonzero & (np.abs(exact.hi) < format.min_normal)
    return np.asarray(small & ((relative > 2 * format.u) | (exact.hi == 0)))


def _nonzero(evidence: Evidence, step: str, exact: RealArray) -> np.ndarray:
    """Where the exact value is not 0; mpmath tells where it is too small for fp64 (exp(-1000) is not 0, log(1) is)."""
    certain = np.asarray(np.abs(exact.hi) > exact.radius)
    doubtful = (exact.kind == FINITE) & ~certain & (exact.radius > 0)
    alone = isolated(evidence.trace, evidence.trace.step(step))
    if not doubtful.any() or not is_elementwise(alone, step):
        return certain
    part = restricted(alone, step, doubtful)
    certain[doubtful] = [value != 0 for value in local(part, part.steps[0], MpMachine()).planes[0]]
    return certain


@cause_rule(
    "underflow_ftz", rank=20, groups=("finite", "nonfinite"),
    definition="a non-zero exact intermediate below the normal range, stored as zero or with relative error above u",
)  # fmt: skip
def underflow_ftz(evidence: Evidence) -> Iterator[Hypothesis]:
    """The steps that underflow on the failing elements."""
    steps = [s for s in evidence.steps if (_underflowing(evidence, s.id) & evidence.touched(s.id)).any()]
    if not steps:
        return
    found = _hypothesis(evidence, [s.id for s in steps])
    yield found
    if set(evidence.born_at()) & set(found.born_at):
        for region in cones_around(evidence, found.born_at):
            yield replace(found, step=region.steps[-1], region=region, changes=({region: Change("exact")},))


def _hypothesis(evidence: Evidence, ids: list[str]) -> Hypothesis:
    alone, region = Region(tuple(ids)), Region(_reaching(evidence, ids))
    first = evidence.trace.step(ids[0])
    mask = _underflowing(evidence, first.id)
    smallest = np.abs(evidence.locals_[first.id].values.hi[mask])
    return Hypothesis(
        reader(evidence, region.steps), region, ids,
        (
            {alone: Change("subnormals", "keep")},
            {alone: Change("exponent", "unbounded", "wide")},
            {region: Change("exponent", "unbounded", "wide")},
            # below fp64's own range no carrier holds them
            *(({region: Change("exact", exit="wide")},) if smallest.min() < np.finfo(np.float64).tiny else ()),
        ),
        f"Keep {first.source.name or first.id} in range: scale its operands up, or compute it in a wider format.",
        {
            "first": first.id, "underflowed": int(np.count_nonzero(mask)), "smallest_exact": float(smallest.min()),
            "smallest_normal": evidence.format(first.id).min_normal,
        },
    )  # fmt: skip


def _reaching(evidence: Evidence, ids: list[str]) -> tuple[str, ...]:
    """The underflowing steps and those they feed while the exact value stays below the normal range."""
    reached = set(ids)
    for step in evidence.steps:
        format = evidence.format(step.id)
        if step.id not in reached and format.is_float and any(i in reached for i in step.inputs):
            exact = np.abs(evidence.exact(step.id).values()[evidence.touched(step.id)])
            if exact.size and np.nanmin(exact) < format.min_normal:
                reached.add(step.id)
    return tuple(s.id for s in evidence.steps if s.id in reached)


def _recognised(found: Deviation) -> str:
    if not found.format.is_float or found.lost.any():
        return ""
    flushed = (found.actual[found.where] == 0).all() and (found.declared[found.where] != 0).all()
    return "every result that differs is 0 in place of a tiny number" if flushed and _tiny(found) else ""


def _tiny(found: Deviation) -> bool:
    """Whether the results that differ, or operands of theirs, are subnormal."""
    least = found.format.min_normal
    if (np.abs(found.declared[found.where]) < least).all():
        return True
    return any(_has_subnormals(found, source) for source in found.step.inputs)


def _has_subnormals(found: Deviation, source: str) -> bool:
    format = get_format(found.trace.formats[source])
    sizes = np.abs(np.asarray(found.trace.values[source], np.float64))
    return format.is_float and bool(((sizes > 0) & (sizes < format.min_normal)).any())


@imitation(
    "underflow_ftz", rank=8, recognised=_recognised,
    remedy="Keep subnormals (flush-to-zero off), or scale the operands up.",
)  # fmt: skip
def flushed(found: Deviation) -> Iterator[Changes]:
    """Subnormals flushed."""
    if found.format.is_float:
        yield {found.step.id: Change("subnormals", "flush")}
