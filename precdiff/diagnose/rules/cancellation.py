"""cancellation: a subtraction (or a sum of opposite signs) brings up the rounding errors its operands already had.

Evidence: the condition number max(|a|, |b|) / |a + b| is above the threshold where the error passes *and* the operands
are numbers that are not exact, rounded in the subtraction's own format or a wider one (what a narrower one left is that
format's doing, an infinity is an overflow's); the subtraction's own rounding is innocent (exact, by Sterbenz, when the
operands are close). Proof: the operands exactly, read unrounded: the error is gone although the subtraction is
unchanged.

The threshold is that of magnification.py; the proof decides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.magnification import least_condition, magnified
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.trace import Change, Region, Step, needed_for


@cause_rule(
    "cancellation", rank=40, at_root=True, groups=("finite", "nonfinite"),
    definition="an addition or subtraction of large condition number whose operands carry rounding errors",
)  # fmt: skip
def cancellation(evidence: Evidence) -> Iterator[Hypothesis]:
    """Every cancelling step, the smallest region first."""
    steps = (s for s in evidence.steps if s.op in ("add", "sub", "fma"))
    found = [hypothesis for step in steps for hypothesis in _hypotheses(evidence, step)]
    yield from sorted(found, key=lambda h: len(h.region.steps))


def _hypotheses(evidence: Evidence, step: Step) -> Iterator[Hypothesis]:
    condition = magnified(evidence, step, least_condition(evidence.problem))
    operands = [i for i in step.inputs if evidence.inexact(i).any()]
    if not condition.size or not operands or any(evidence.lost(i).any() for i in operands):
        return
    needed = needed_for(evidence.trace, operands)
    region = Region(tuple(s.id for s in evidence.steps if s.id in needed))
    born = [id for id in evidence.born_at() if id in needed] or operands
    if all(evidence.format(id).p < evidence.format(step.id).p for id in born):
        return
    yield Hypothesis(
        step.id, region, born, ({region: Change("exact", exit="wide")},),
        f"Rewrite {step.source.name or step.id} so that the large parts cancel before they are rounded, "
        "or compute its operands in a wider format.",
        {"condition_number": float(np.max(condition)), "cancels": step.id, "operands": operands},
    )  # fmt: skip
