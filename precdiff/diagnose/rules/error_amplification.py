"""error_amplification: a function magnifies the rounding errors of its argument by its condition number.

exp(y ln x) is the classic: one ulp of the argument is |y ln x| ulps of the result. Evidence: steps that carry the error
feed a function whose condition number exceeds magnification.py's threshold where the error passes. Proof: those steps,
and all on the way to the function, in the next wider format, read unrounded; where that is too little (1 + 1e-25 is 1
in fp64 as well), exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.magnification import least_condition, magnified
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import way, wider
from precdiff.ops import OPS, Elementwise
from precdiff.trace import Change, Step, needed_for

#: the operations of arithmetic, whose magnification is cancellation
_ARITHMETIC = ("add", "sub", "mul", "div", "fma")


@cause_rule(
    "error_amplification", rank=50, at_root=True,
    definition="rounding errors of an argument magnified by a function of large condition number",
)  # fmt: skip
def error_amplification(evidence: Evidence) -> Iterator[Hypothesis]:
    """Every function that magnifies what steps of the largest share feed it, the smallest region first."""
    born = evidence.born_at()
    steps = [s for s in evidence.steps if _function(s)]
    found = [hypothesis for step in steps for hypothesis in _hypotheses(evidence, step, born)]
    yield from sorted(found, key=lambda h: len(h.region.steps))


def _function(step: Step) -> bool:
    op = OPS[step.op]
    return isinstance(op, Elementwise) and not op.exact and not op.result and step.op not in _ARITHMETIC


def _hypotheses(evidence: Evidence, step: Step, all_born: list[str]) -> Iterator[Hypothesis]:
    before = needed_for(evidence.trace, step.inputs)
    # where first order tells nothing (an infinite slope), the operands that are off
    born = [id for id in all_born if id in before] or [i for i in step.inputs if evidence.inexact(i).any()]
    condition = magnified(evidence, step, least_condition(evidence.problem)) if born else np.zeros(0)
    if not condition.size:
        return
    region, target = way(evidence, born, step), wider(evidence.format(born[-1]))
    widened = ({region: Change("format", target, "wide")},) if target else ()
    names = ", ".join(evidence.trace.step(id).source.name or id for id in region.steps)
    yield Hypothesis(
        step.id, region, born, (*widened, {region: Change("exact", exit="wide")}),
        f"Compute {names} in {target or 'a wider format'} and hand the unrounded value to {step.op}.",
        {"condition_max": float(np.max(condition)), "condition_median": float(np.median(condition))},
    )  # fmt: skip
