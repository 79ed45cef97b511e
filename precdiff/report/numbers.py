"""How numbers are written, everywhere: four significant digits for errors, enough for the format's values.

One way for terminal, assertion and web, so that the same run shows the same numbers
(tests/web/test_same_numbers.py).
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from precdiff.formats import get_format

#: log10(2), which turns significand bits into decimal digits
_DIGITS_A_BIT = math.log10(2.0)


def error(x: float | None) -> str:
    """An error, a limit, a ratio: four significant digits; nothing known is a dash.

    >>> error(412.345), error(0.5), error(float("inf")), error(None)
    ('412.3', '0.5', 'inf', '-')
    """
    return "-" if x is None or math.isnan(x) else f"{x:.4g}"


def at_least(x: float) -> str:
    """A limit that passes: four significant digits, rounded up.

    >>> at_least(412.31), at_least(4.0)
    ('412.4', '4')
    """
    if not math.isfinite(x):
        return error(x)
    up = Decimal(x).normalize(Context(prec=4, rounding=ROUND_CEILING))
    return f"{float(up):.4g}"


def value(x: float, format: str, extra: int = 0) -> str:
    """A tensor's value with the digits that tell the format's numbers apart, and `extra` more for real ones.

    >>> value(1/3, "fp16"), value(1/3, "fp16", extra=3)
    ('0.33333', '0.33333333')
    """
    row = get_format(format)
    if not row.is_float:
        return str(x) if isinstance(x, int) else f"{x:.17g}"
    digits = 1 + math.ceil(row.p * _DIGITS_A_BIT)
    return f"{x:.{min(17, digits + extra)}g}"


def share(part: float, whole: float) -> str:
    """A share in percent, three significant digits.

    >>> share(37, 4096)
    '0.903 %'
    """
    return f"{100.0 * part / whole:.3g} %" if whole else "-"


def index(place: tuple[int, ...]) -> str:
    """The index of an element, as Python writes it."""
    return f"({place[0]})" if len(place) == 1 else f"({', '.join(map(str, place))})"
