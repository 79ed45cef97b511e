"""inaccurate_intrinsic: a function is further from the exact value of its recorded operands than declared.

Recognised in functions whose error on exact operands exceeds an ulp and follows no simpler pattern.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.rule import Changes, imitation
from precdiff.ops import OPS, Elementwise
from precdiff.trace import Change

_ARITHMETIC = ("add", "sub", "mul", "div", "fma")


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
