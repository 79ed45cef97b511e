"""domain_error: a step gave NaN for numbers, although its exact value is a number.

0/0, inf - inf, a logarithm or root just outside its domain. Evidence: the first step whose recorded value is NaN, whose
recorded operands are all finite, and whose exact value (ideal mathematics from the inputs) is real: its operands left
the domain by their rounding. Infinite operands are an overflow's doing;
an underflow or a cancellation that is proven is the root and this its consequence, so it is sought where nothing else
is proven. Proof: the operands exactly, read unrounded.
Source: IEEE 754-2019, 7.2 (invalid operation).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.machine.realarray import FINITE
from precdiff.trace import Change, Region, Step, needed_for


def _invalid(evidence: Evidence, step: Step) -> np.ndarray:
    """Elements that are NaN out of finite operands although the exact value is a number."""
    if not evidence.format(step.id).is_float or not step.inputs:
        return np.zeros(evidence.values(step.id).shape, bool)
    born = np.isnan(evidence.values(step.id)) & (evidence.exact(step.id).kind == FINITE)
    operands = [np.isfinite(evidence.values(i)) for i in step.inputs]
    if any(o.shape not in ((), born.shape) for o in operands):
        return np.asarray(born & all(o.all() for o in operands))
    return np.asarray(np.logical_and.reduce(np.broadcast_arrays(born, *operands)))


@cause_rule(
    "domain_error", rank=85, groups=("nonfinite",), fallback=True,
    definition="NaN out of finite operands although the exact value is a number: rounding took them out of the domain",
)  # fmt: skip
def domain_error(evidence: Evidence) -> Iterator[Hypothesis]:
    """The first step that is invalid on the failing elements."""
    for step in evidence.steps:
        where = _invalid(evidence, step) & evidence.touched(step.id)
        if where.any():
            yield _hypothesis(evidence, step, where)
            return


def _hypothesis(evidence: Evidence, step: Step, where: np.ndarray) -> Hypothesis:
    needed = needed_for(evidence.trace, step.inputs)
    region = Region(tuple(s.id for s in evidence.steps if s.id in needed))
    at = tuple(int(i) for i in np.argwhere(where)[0])
    recorded = [float(np.broadcast_to(evidence.values(i), where.shape)[at]) for i in step.inputs]
    name = step.source.name or step.id
    return Hypothesis(
        step.id, region, [step.id], ({region: Change("exact", exit="wide")},),
        f"Keep the operands of {name} inside its domain: clamp them, or compute them in a wider format.",
        {"invalid": int(np.count_nonzero(where)), "first_at": list(at), "operands": recorded},
    )  # fmt: skip
