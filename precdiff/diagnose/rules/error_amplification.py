"""error_amplification: a function magnifies the rounding errors of its argument by its condition number.

exp(y ln x) is the classic: one ulp of the argument is |y ln x| ulps of the result. Evidence: the steps that carry the
error are read by a function whose condition number on the failing elements exceeds 2. Proof: those steps in the next
wider format, read unrounded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import reader, wider
from precdiff.trace import Change, Region

AMPLIFIES = 2.0
_FUNCTIONS = ("exp", "expm1", "log", "log1p", "power", "tanh", "erf", "rsqrt", "reciprocal", "sqrt")


@cause_rule(
    "error_amplification", rank=50,
    definition="rounding errors of an argument magnified by a function of condition number above 2",
)  # fmt: skip
def error_amplification(evidence: Evidence) -> Iterator[Hypothesis]:
    """The steps of the largest share, if a function reads and magnifies them."""
    born = evidence.born_at()
    root = reader(evidence, born) if born else ""
    step = next((s for s in evidence.steps if s.id == root), None)
    if step is None or step.op not in _FUNCTIONS or root in born:
        return
    mask = evidence.touched(root)
    condition = np.broadcast_to(evidence.condition(step), mask.shape)[mask]
    target = wider(evidence.format(born[-1]))
    if not (condition.size and np.nanmax(condition) > AMPLIFIES) or target is None:
        return
    region = Region(tuple(born))
    names = ", ".join(evidence.trace.step(id).source.name or id for id in born)
    yield Hypothesis(
        root, region, born, ({region: Change("format", target, "wide")},),
        f"Compute {names} in {target} and hand the unrounded value to {step.op}.",
        {"condition_max": float(np.nanmax(condition)), "condition_median": float(np.nanmedian(condition))},
    )  # fmt: skip
