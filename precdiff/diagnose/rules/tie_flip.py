"""tie_flip: equal elements taken in another order: a sort, top-k or argmax that is not stable.

Recognised where the indices differ and point at equal values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.trace import Change, Region, Step, needed_for

#: ops that jump
_STEPS = ("floor", "ceil", "round", "trunc", "sign")


@cause_rule(
    "tie_flip", rank=18, groups=("finite",),
    definition="a choice among equal values, or between values nearer than their errors, that went the other way",
)  # fmt: skip
def tie_rule(evidence: Evidence) -> Iterator[Hypothesis]:
    """Indices of equal elements, then roundings and comparisons whose operand's error crosses the boundary."""
    for step in evidence.steps:
        if step.op in ("argsort", "argmax"):
            ties = _ties(evidence, step)
            if ties:
                yield Hypothesis(
                    step.id, Region((step.id,)), [step.id], ({step.id: Change("tie_rule", "last")},),
                    "Make the order of equal elements part of the contract: the lower index first.",
                    {"equal_elements": ties, "value_error": 0.0, "rules": ["first index wins", "last index wins"]},
                )  # fmt: skip
        elif step.op in _STEPS:
            yield from _crossing(evidence, step)


def _ties(evidence: Evidence, step: Step) -> int:
    """How many elements share their value with a neighbour in order."""
    ordered = np.sort(evidence.values(step.inputs[0]), axis=int(step.params["axis"]))
    return int((np.diff(ordered, axis=int(step.params["axis"])) == 0).sum())


def _crossing(evidence: Evidence, step: Step) -> Iterator[Hypothesis]:
    operand = step.inputs[0]
    exact, recorded = evidence.exact(step.id).values(), evidence.values(step.id)
    flipped = (exact != recorded) & evidence.touched(step.id)
    if not flipped.any() or operand not in evidence.totals:
        return
    value, error = evidence.exact(operand).values(), np.abs(evidence.total_error(operand))
    margin = np.abs(value - np.rint(value))[flipped]
    region = Region(tuple(s.id for s in evidence.steps if s.id in needed_for(evidence.trace, [step.id])))
    yield Hypothesis(
        step.id, region, [step.id], ({region: Change("exact")},),
        f"Decide {step.op} from a value whose error is below its margin, or allow both results.",
        {"flipped": int(flipped.sum()), "margin": float(margin.min()), "noise": float(error[flipped].max())},
    )  # fmt: skip


def _recognised(found: Deviation) -> str:
    if found.step.op not in ("argsort", "argmax"):
        return ""
    x, axis = found.trace.values[found.step.inputs[0]], int(found.step.params["axis"])
    one, other = (v if found.step.op == "argsort" else np.expand_dims(v, axis) for v in (found.actual, found.declared))
    length = x.shape[axis]
    if ((one < 0) | (one >= length)).any():
        return ""
    equal = np.take_along_axis(x, one, axis) == np.take_along_axis(x, other, axis)
    return "the indices differ only among equal elements" if equal.all() else ""


@imitation(
    "tie_flip", rank=5, recognised=_recognised,
    remedy="Make the order of equal elements part of the contract (the lower index first), or compare values.",
)  # fmt: skip
def tie_flip(found: Deviation) -> Iterator[Changes]:
    """Equal elements last first."""
    if found.step.op in ("argsort", "argmax"):
        yield {found.step.id: Change("tie_rule", "last")}
