"""cancellation: a subtraction (or a sum of opposite signs) brings up the errors its operands already had.

Evidence: condition number (|a| + |b|) / |a + b| above the threshold on failing elements *and* operands that are not
exact; the subtraction's own rounding is innocent (exact, by Sterbenz, when the operands are close). Proof: the
operands exactly, read unrounded: the error is gone although the subtraction is unchanged. Threshold 32: Herbie's
explain takes 32 as "maybe" and 100 as sure; the proof decides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.trace import Change, Region, Step, needed_for

CONDITION = 32.0


@cause_rule(
    "cancellation", rank=40,
    definition="an addition or subtraction of condition number above 32 with operands that carry errors",
)  # fmt: skip
def cancellation(evidence: Evidence) -> Iterator[Hypothesis]:
    """Every cancelling step, the worst conditioned first."""
    found = [
        (c, s) for s in evidence.steps if s.op in ("add", "sub", "fma") and (c := _condition(evidence, s)) >= CONDITION
    ]
    for condition, step in sorted(found, key=lambda pair: -pair[0]):
        operands = [i for i in step.inputs if i not in evidence.trace.inputs]
        if not any((evidence.inexact(i)).any() for i in operands):
            continue
        needed = needed_for(evidence.trace, operands)
        region = Region(tuple(s.id for s in evidence.steps if s.id in needed))
        born = [id for id in evidence.born_at() if id in needed] or operands
        yield Hypothesis(
            step.id, region, born, ({region: Change("exact", exit="wide")},),
            f"Rewrite {step.source.name or step.id} so that the large parts cancel before they are rounded, "
            "or compute its operands in a wider format.",
            {"condition_number": condition, "cancels": step.id, "operands": operands},
        )  # fmt: skip


def _condition(evidence: Evidence, step: Step) -> float:
    """The largest condition number of the step over the elements that matter."""
    mask = evidence.touched(step.id)
    condition = np.broadcast_to(evidence.condition(step), mask.shape)[mask]
    condition = np.where(np.isnan(condition), np.inf, condition)
    return float(condition.max(initial=0.0))
