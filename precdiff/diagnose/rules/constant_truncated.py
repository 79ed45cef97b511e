"""constant_truncated: a constant has fewer digits than its format holds.

Recognised in a constant that is off by little and lies on a coarser grid, binary or decimal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.rule import Changes, imitation
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Change

_FORMATS = ("fp32", "tf32", "fp16", "bf16")
#: what is off by more is another number
_SMALL = 2.0**-5


def _cut(value: float, digits: int) -> float:
    """The value with so many significant decimal digits, cut."""
    if value == 0 or not np.isfinite(value):
        return value
    places = digits - 1 - int(np.floor(np.log10(abs(value))))
    return float(np.trunc(value * 10.0**places) / 10.0**places)


def shortened(found: Deviation) -> bool:
    """Whether the step is a constant that is off by little: the same number, not another one."""
    if found.step.op != "constant" or not found.format.is_float:
        return False
    actual, meant = float(found.actual), float(found.exact.hi)
    return bool(np.isfinite(actual)) and abs(actual - meant) <= _SMALL * abs(meant)


def _recognised(found: Deviation) -> str:
    said = f"{float(found.actual)!r} stands for {float(found.exact.hi)!r}" if shortened(found) else ""
    return f"{said}: the same number with fewer digits" if said else ""


@imitation(
    "constant_truncated", rank=20, recognised=_recognised,
    remedy="Write the constant with all the digits its format holds.",
)  # fmt: skip
def constant_truncated(found: Deviation) -> Iterator[Changes]:
    """The constant in narrower formats, rounded and cut, and with fewer decimal digits."""
    if found.step.op != "constant" or not found.format.is_float:
        return
    meant = float(found.exact.hi)
    cuts = [float(round_array(np.float64(meant), Rounding(f))) for f in _FORMATS]
    cuts += [float(round_array(np.float64(meant), Rounding(f, "toward-zero"))) for f in _FORMATS]
    cuts += [_cut(meant, digits) for digits in range(7, 1, -1)] + [float(f"{meant:.{d}g}") for d in range(7, 1, -1)]
    cuts += [float(found.actual)] if shortened(found) else []
    for value in dict.fromkeys(v for v in cuts if v != meant and np.isfinite(v)):
        yield {found.step.id: Change("constant", value)}
