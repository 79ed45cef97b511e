"""inaccurate_intrinsic: a function is further from the exact value of its recorded operands than declared.

Recognised in functions whose error on exact operands exceeds an ulp and follows no simpler pattern.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.ops import OPS, Elementwise
from precdiff.trace import Change, Region

_ARITHMETIC = ("add", "sub", "mul", "div", "fma")


@cause_rule(
    "inaccurate_intrinsic", rank=32,
    definition="a function the device approximates, further from its exact value than the result allows",
)  # fmt: skip
def declared_approximation(evidence: Evidence) -> Iterator[Hypothesis]:
    """The approximated functions among the steps that carry the error, correctly rounded."""
    approximated = evidence.trace.profile.approximations.value
    for step in (s for s in evidence.steps if s.id in evidence.born_at() and s.op in approximated):
        yield Hypothesis(
            step.id, Region((step.id,)), [step.id], ({step.id: Change("approximation")},),
            f"Use an accurate {step.op}, or evaluate it in a wider format and round once.",
            {"function": step.op, "approximation": str(approximated[step.op])},
        )  # fmt: skip


def _function(found: Deviation) -> bool:
    op = OPS[found.step.op]
    return isinstance(op, Elementwise) and not op.exact and not op.result and found.step.op not in _ARITHMETIC


def _recognised(found: Deviation) -> str:
    if not _function(found):
        return ""
    worst = float(np.nanmax(np.abs(found.errors), initial=0.0))
    return f"{found.step.op} is off by up to {worst:.3g} ulp on its own operands"


@imitation(
    "inaccurate_intrinsic", rank=70, recognised=_recognised,
    remedy="Use the accurate variant of the function, or evaluate it in a wider format and round once.",
)  # fmt: skip
def inaccurate_intrinsic(found: Deviation) -> Iterator[Changes]:
    """Exact where the declared function is an approximation."""
    if _function(found):
        yield {found.step.id: Change("approximation")}
