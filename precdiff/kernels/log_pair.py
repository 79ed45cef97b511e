"""ln x as an unevaluated sum hi + lo of two fp32 numbers, in fp32 operations: about ten bits more than log.

    x = 2^k m,  m in [0.7, 1.41];   m = q (1 + r) with q the nearest eighth, so |r| <= 1/10
    ln x = k ln 2 + ln q + r + (ln(1 + r) - r)

k ln 2 is exact in its leading part (Cody and Waite 1980: the constant's last 8 bits are zero), the leading sums are
two_sums (Knuth), and ln(1 + r) - r = -r^2/2 + r^3/3 - ... is small enough that its own rounding does not matter.
Constants: ln 2 and ln(q/8) to 60 digits, split into a leading fp32 (or 16-bit) part and the rest.
"""

from __future__ import annotations

from precdiff.machine import Tensor
from precdiff.ops import floor, fma, log, power, where

_LN2_HI, _LN2_LO = 45426 / 65536, 1.428606765330187e-06

#: (q, ln q leading, ln q rest)
_EIGHTHS = (
    (0.625, -0.4700036346912384, 5.4455027154176605e-09),
    (0.75, -0.28768208622932434, 1.3777543550475002e-08),
    (0.875, -0.133531391620636, -1.0038866404826763e-09),
    (1.0, 0.0, 0.0),
    (1.125, 0.11778303235769272, 3.2986906539633765e-09),
    (1.25, 0.2231435477733612, 3.540848503291727e-09),
    (1.375, 0.31845372915267944, 1.9658552563583953e-09),
    (1.5, 0.40546509623527527, 1.1872889338349069e-08),
)

_SERIES = (-1 / 2, 1 / 3, -1 / 4, 1 / 5, -1 / 6, 1 / 7, -1 / 8)


def log_pair(x: Tensor) -> tuple[Tensor, Tensor]:
    """(hi, lo) with hi + lo = ln x for positive normal fp32 x; elsewhere hi = log(x) and lo = 0."""
    plain = log(x)
    k = floor(plain * 1.4426950408889634 + 0.5)
    m = x * power(2.0, -k)
    q, ln_q, ln_q_rest = _nearest_eighth(m)
    numerator = m - q
    r = numerator / q
    r_rest = fma(-r, q, numerator) / q
    head, first = _two_sum(k * _LN2_HI, ln_q)
    total, second = _two_sum(head, r)
    tail = (first + second) + (k * _LN2_LO + ln_q_rest + r_rest + _beyond_first_order(r))
    hi = total + tail
    lo = tail - (hi - total)
    usable = where(x > 2.0**-120, x < 2.0**120, x > x)
    return where(usable, hi, plain), where(usable, lo, 0.0)


def _nearest_eighth(m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, ln q and its rest, chosen by comparisons."""
    chosen = [0.0 * m + value for value in _EIGHTHS[-1]]
    for row, following in zip(reversed(_EIGHTHS[:-1]), reversed(_EIGHTHS), strict=False):
        below = m < (row[0] + following[0]) / 2
        chosen = [where(below, value, so_far) for value, so_far in zip(row, chosen, strict=True)]
    return chosen[0], chosen[1], chosen[2]


def _beyond_first_order(r: Tensor) -> Tensor:
    """ln(1 + r) - r by its series, Horner from the last term."""
    total = r * _SERIES[-1] + _SERIES[-2]
    for coefficient in reversed(_SERIES[:-2]):
        total = fma(total, r, 0.0 * r + coefficient)
    return total * (r * r)


def _two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)
