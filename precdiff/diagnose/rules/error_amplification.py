"""error_amplification: a function magnifies the rounding errors of its argument by its condition number.

exp(y ln x) is the classic: one ulp of the argument is |y ln x| ulps of the result. Evidence: steps that carry the error
feed a function whose condition number exceeds 2 where the error passes. Proof: those steps, and all on the way to the
function, in the next wider format, read unrounded; where that is too little (1 + 1e-25 is 1 in fp64 as well), exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.magnification import magnified
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import way, wider
from precdiff.trace import Change, Step, needed_for

AMPLIFIES = 2.0
_FUNCTIONS = ("exp", "expm1", "log", "log1p", "power", "tanh", "erf", "rsqrt", "reciprocal", "sqrt")


@cause_rule(
    "error_amplification", rank=50,
    definition="rounding errors of an argument magnified by a function of condition number above 2",
)  # fmt: skip
def error_amplification(evidence: Evidence) -> Iterator[Hypothesis]:
    """Every function that magnifies what steps of the largest share feed it, the smallest region first."""
    born = evidence.born_at()
    steps = [s for s in evidence.steps if s.op in _FUNCTIONS]
    found = [hypothesis for step in steps for hypothesis in _hypotheses(evidence, step, born)]
    yield from sorted(found, key=lambda h: len(h.region.steps))


def _hypotheses(evidence: Evidence, step: Step, all_born: list[str]) -> Iterator[Hypothesis]:
    before = needed_for(evidence.trace, step.inputs)
    born = [id for id in all_born if id in before]
    condition = magnified(evidence, step, AMPLIFIES) if born else np.zeros(0)
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
