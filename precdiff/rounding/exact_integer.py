"""How a real becomes an integer: the definition, on Fraction. `round_integer` (array.py) says the same for arrays.

Out of range saturates and NaN gives 0, as casts of Ascend vector units do (CANN asc-devkit, Cast); bool is x != 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from precdiff.errors import PrecDiffError
from precdiff.rounding.rounding import Rounding


def _away(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2)) if x >= 0 else math.ceil(x - Fraction(1, 2))


def _odd(x: Fraction) -> int:
    whole = math.trunc(x)
    return whole if whole == x or whole % 2 else whole + (1 if x > 0 else -1)


_WHOLE: dict[str, Callable[[Fraction], int]] = {
    "nearest-even": round,
    "nearest-away": _away,
    "toward-zero": math.trunc,
    "up": math.ceil,
    "down": math.floor,
    "to-odd": _odd,
}


def round_integer_exact(x: Fraction | float, rounding: Rounding) -> int:
    """Round `x` to the integer format of `rounding`.

    >>> [round_integer_exact(x, Rounding("i8")) for x in (Fraction(5, 2), -0.5, 300.0, float("nan"))]
    [2, 0, 127, 0]
    """
    if rounding.direction not in _WHOLE:
        raise PrecDiffError(f"direction {rounding.direction!r}: a reference needs one of {', '.join(_WHOLE)}")
    low, high = rounding.format.integer_range
    if rounding.format.kind == "bool":
        return int(x != 0)
    if isinstance(x, float) and not math.isfinite(x):
        return 0 if math.isnan(x) else high if x > 0 else low
    return min(max(_WHOLE[rounding.direction](Fraction(x)), low), high)
