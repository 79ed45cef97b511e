"""Where a step magnifies the errors of its operands, and whether what hurts passes there.

A large condition number somewhere proves little: softmax subtracts a maximum from itself (condition infinite, error
none). So a step counts as magnifying only if at least half of the error that passes it, to first order of the adjoint
sweep, passes elements of large condition. Where nothing can be told to first order, one such element is enough.
"""

from __future__ import annotations

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.problem import Problem
from precdiff.trace import Step

#: three bits of the operands' digits
MAGNIFIES = 8.0


def least_condition(problem: Problem) -> float:
    """The smallest condition number that counts as magnifying: three bits, and where the limit is tighter than that,
    so much that a single rounding of an operand (half an ulp) uses up a quarter of it; never below 2.
    """
    return min(MAGNIFIES, max(2.0, problem.limit / 2)) if problem.unit_name == "ULP" else MAGNIFIES


def magnified(evidence: Evidence, step: Step, least: float) -> np.ndarray:
    """The condition numbers of at least `least` that magnify; empty where the step does not magnify."""
    condition = evidence.condition(step)
    large = (condition >= least) & evidence.touched(step.id)
    passing = _passing(evidence, step)
    whole, there = float(passing.sum()), float(passing[large].sum())
    magnifies = whole <= 0 or there >= whole / 2
    return np.asarray(condition[large] if magnifies else [])


def _passing(evidence: Evidence, step: Step) -> np.ndarray:
    """What the step's total error adds to the output's squared error, element by element; 0 where that is unknown."""
    error = evidence.total_error(step.id)
    return evidence.flow(step.id, error) if step.id in evidence.cotangents else np.zeros(error.shape)
