"""fmod, remainder, copysign, fmin and fmax: exact functions of two operands.

    fmod(x, y)        x - y trunc(x / y), the sign of x                        C23 7.12.10.1
    remainder(x, y)   x - y round(x / y), ties of the quotient to even         IEEE 754-2019 5.3.1
    copysign(x, y)    |x| with the sign of y                                   IEEE 754-2019 5.5.1
    fmin, fmax        a NaN is missing data: the other operand is the result   IEEE 754-2008 minNum, C23 7.12.12

Of x = +-inf or y = 0 fmod and remainder are NaN, of y = +-inf they are x; a zero result has the sign of x. The IEEE
remainder is not numpy's and torch's, which is floor_mod here (integers). fmin(-0, +0) = -0 and fmax(-0, +0) = +0, as
IEEE 754-2019's minimumNumber. The sign of a NaN depends on the host that made it, so copysign counts NaN as positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.ops.arithmetic import _maximum, _minimum, _where_less
from precdiff.ops.enclosure import Pair, absolute, exact_monotone, unknown
from precdiff.ops.op import OPS, Elementwise
from precdiff.ops.pieces import is_point

Quotient = Callable[[Fraction], int]
Dyadic = tuple[int, int]

#: exponents between which quotients of balls are looked at
_FAR = 20_000


def _remainder(x: Any, y: Any) -> Any:
    """glibc's steps, each exact: reduce by 2y, then take y away at most twice."""
    with np.errstate(all="ignore"):
        size, divisor = np.abs(x), np.abs(y)
        rest = np.fmod(size, 2.0 * divisor)
        # rest > divisor / 2, asked so that nothing underflows; half of the smallest subnormal is not a number
        once = rest - divisor
        twice = np.where(once >= divisor - once, once - divisor, once)
        rest = np.where(rest > divisor - rest, twice, rest)
    return np.where(np.signbit(x), -rest, rest)


def _copysign(x: Any, y: Any) -> Any:
    return np.copysign(x, np.where(np.isnan(y), 1.0, y))


def _fmin(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, _minimum(x, y)))


def _fmax(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, _maximum(x, y)))


def _remainder_twin(host: Callable[..., Any]) -> Callable[[Pair, Pair], Pair]:
    """Twin of fmod or remainder, neither larger than an operand; with a point divisor monotone until it wraps."""

    def enclose(x: Pair, y: Pair) -> Pair:
        with np.errstate(all="ignore"):
            points, last = host(x[0], y[0]), host(x[1], y[0])
            size, (divisor, most) = absolute(x)[1], absolute(y)
            most = np.minimum(size, most)
            # fmod has the sign of x; remainder has it where it is x itself
            signed = (size < divisor / 2) if host is _remainder else np.full(size.shape, True)
            lo, hi = np.where((x[0] >= 0) & signed, 0.0, -most), np.where((x[1] <= 0) & signed, 0.0, most)
            one_piece = is_point(y) & (x[1] - x[0] < divisor) & (last >= points)
            pair = np.where(one_piece, points, lo), np.where(one_piece, last, hi)
            invalid = ((y[0] <= 0) & (y[1] >= 0)) | np.isnan(pair[0]) | (is_point(x) & np.isinf(x[0]))
            lo, hi = unknown(pair, invalid)
            exact = is_point(x, y) | (is_point(y) & (np.isnan(y[0]) | (y[0] == 0))) | np.isnan(x[0])
            return np.where(exact, points, lo), np.where(exact, points, hi)

    return enclose


def _copysign_twin(x: Pair, y: Pair) -> Pair:
    lo, hi = absolute(x)
    point = is_point(y)
    negative = (point & np.signbit(y[0]) & ~np.isnan(y[0])) | (y[1] < 0)
    decided = point | (y[0] > 0) | (y[1] < 0)
    least = np.where(negative | ~decided, -hi, lo)
    return least, np.where(negative, -lo, hi)


def _rest(x: Dyadic, y: Dyadic, quotient: Quotient) -> Dyadic:
    """x - y quotient(x / y) of x = m 2^e and y = n 2^f, by modular powers whatever the exponents."""
    (m, e), (n, f) = (abs(x[0]), x[1]), (abs(y[0]), y[1])
    if e < f:
        if m.bit_length() < f - e:  # then x < y / 2
            return x
        n, f = n << (f - e), e
    rest = m * pow(2, e - f, 2 * n) % (2 * n)
    if quotient is math.trunc:
        rest %= n
    elif 2 * rest > n:
        rest -= n
        rest -= n if 2 * rest >= n else 0
    return (rest if x[0] > 0 else -rest), f


def _dyadic(x: Any) -> Dyadic:
    mantissa, exponent = x.man_exp()
    return int(mantissa), int(exponent)


def _remainder_ball(quotient: Quotient) -> Callable[[Any, Any], Any]:
    """Exact operands exactly; otherwise the piece they lie in, or all the function can be."""

    def ball(x: Any, y: Any) -> Any:
        if y.contains(0):
            raise ZeroDivisionError
        if x.is_exact() and y.is_exact():
            return type(x)(_rest(_dyadic(x), _dyadic(y), quotient))
        whole = _one_quotient(x, y, quotient)
        most = abs(x).upper().min(abs(y).upper())
        return type(x)(0, most) if whole is None else x - y * whole

    return ball


def _one_quotient(x: Any, y: Any, quotient: Quotient) -> int | None:
    """The integer that all quotients have, if they have one: monotone in each operand, so the corners tell."""
    ends = [_dyadic(end) for v in (x, y) for end in (v.lower(), v.upper())]
    if any(abs(exponent) > _FAR for _, exponent in ends):
        return None
    a, b, c, d = (Fraction(m) * Fraction(2) ** e for m, e in ends)
    wholes = {quotient(top / bottom) for top in (a, b) for bottom in (c, d)}
    return wholes.pop() if len(wholes) == 1 else None


def _remainder_mp(quotient: Quotient) -> Callable[[Any, Any, Any], Any]:
    def mp(m: Any, x: Any, y: Any) -> Any:
        if m.isnan(x) or m.isnan(y) or m.isinf(x) or y == 0:
            return m.nan
        if m.isinf(y):
            return x
        numbers = [(-man if negative else man, e) for negative, man, e, _ in (x._mpf_, y._mpf_)]
        rest, exponent = _rest(numbers[0], numbers[1], quotient)
        return -0.0 if rest == 0 and x < 0 else m.ldexp(m.mpf(rest), exponent)

    return mp


def _copysign_ball(x: Any, y: Any) -> Any:
    """For balls, and floats among them; of a zero the sign is the host's business."""
    size = abs(x)
    if y != y or (y >= 0 and not _negative_zero(y)):
        return size
    if y < 0 or _negative_zero(y):
        return -size
    return type(y)(0, math.inf) if isinstance(size, float) else size.union(-size)


def _copysign_at_specials(x: Any, y: Any) -> Any:
    result = _copysign_ball(x, y)
    return -0.0 if result == 0 and (_negative_zero(y) or y < 0) else result


def _negative_zero(y: Any) -> bool:
    return isinstance(y, float) and y == 0 and math.copysign(1.0, y) < 0


def _copysign_mp(m: Any, x: Any, y: Any) -> Any:
    size = abs(x)
    if not (y < 0 or _negative_zero(y)):
        return m.mpf(size)
    return -0.0 if size == 0 else -m.mpf(size)


def _extremum_mp(choose: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda m, x, y: y if m.isnan(x) else x if m.isnan(y) else choose(x, y)


def _unit(x: Any) -> Any:
    return OPS["copysign"](0.0 * x + 1.0, x)


fmod = Elementwise(
    "fmod", host=np.fmod, bound=0.0, exact=True, allowance=0.0, enclose=_remainder_twin(np.fmod),
    ball=_remainder_ball(math.trunc), mp=_remainder_mp(math.trunc),
    vjp=lambda g, out, x, y: (g, -(g * OPS["trunc"](x / y))),
)  # fmt: skip
remainder = Elementwise(
    "remainder", host=_remainder, bound=0.0, exact=True, allowance=0.0, enclose=_remainder_twin(_remainder),
    ball=_remainder_ball(round), mp=_remainder_mp(round), vjp=lambda g, out, x, y: (g, -(g * OPS["round"](x / y))),
)  # fmt: skip
copysign = Elementwise(
    "copysign", host=_copysign, bound=0.0, exact=True, allowance=0.0, enclose=_copysign_twin, ball=_copysign_ball,
    at_specials=_copysign_at_specials, mp=_copysign_mp, vjp=lambda g, out, x, y: (g * _unit(x) * _unit(y), 0.0 * y),
)  # fmt: skip
fmin = Elementwise(
    "fmin", host=_fmin, bound=0.0, exact=True, allowance=0.0, enclose=exact_monotone(_fmin),
    ball=lambda x, y: x.min(y), mp=_extremum_mp(min),
    vjp=lambda g, out, x, y: (_where_less(y, x, 0.0 * g, g), _where_less(y, x, g, 0.0 * g)),
)  # fmt: skip
fmax = Elementwise(
    "fmax", host=_fmax, bound=0.0, exact=True, allowance=0.0, enclose=exact_monotone(_fmax),
    ball=lambda x, y: x.max(y), mp=_extremum_mp(max),
    vjp=lambda g, out, x, y: (_where_less(x, y, 0.0 * g, g), _where_less(x, y, g, 0.0 * g)),
)  # fmt: skip
