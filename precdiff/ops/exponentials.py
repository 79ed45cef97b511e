"""Powers of two, logarithms to bases 2 and 10, cube root and hypot.

Special values are those of IEEE 754-2019 9.2.1: exp2(-inf) = +0, log2(+-0) = -inf (a pole), NaN below 0; cbrt keeps the
sign, -0 included; hypot(+-inf, y) = +inf even for a NaN y. Exact results (log2 of a power of two, log10 of a power of
ten) are exact in the ball twins, which no rounding could separate from a number otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from precdiff.ops import enclosure, pieces
from precdiff.ops.functions import _HOST
from precdiff.ops.op import Elementwise

_LN_2, _LN_10 = math.log(2.0), math.log(10.0)

# without vector instructions numpy asks the C library: glibc 2.36 errs by 3.67 ulp (Zimmermann et al., Accuracy of
# Mathematical Functions, 2023)
_CBRT = 6.0


def _exp2_ball(x: Any) -> Any:
    """Exact at integers, whatever the exponent."""
    return type(x)((1, x.unique_fmpz())) if x.is_exact() and x.is_integer() else type(x)(2) ** x


def _exp2_mp(m: Any, x: Any) -> Any:
    # 2^x needs an exponent as long as x: beyond 2,000 bits it is the limit
    return m.power(2, m.sign(x) * m.inf if m.isfinite(x) and m.mag(x) > 2000 else x)


def _log_of(x: Any, base: int) -> Any:
    """log x / log base, exact at the integer powers of the base."""
    logarithm = x.log() / type(x)(base).log()
    whole = logarithm.unique_fmpz()
    is_power = whole is not None and x.is_exact() and _power_is(x, base, int(whole))
    return type(x)(whole) if is_power else logarithm


def _power_is(x: Any, base: int, k: int) -> bool:
    mantissa, exponent = (int(part) for part in x.man_exp())
    if base == 2:
        return mantissa == 1 and exponent == k
    # 10^k is dyadic only for k >= 0, and fp64 and its like hold no power beyond 10^22
    return 0 <= k < 400 and exponent >= 0 and mantissa << min(exponent, 2000) == 10**k


def _log_mp(m: Any, x: Any, base: int) -> Any:
    if not x > 0:
        return -m.inf if x == 0 else m.nan
    logarithm = m.ln(x) / m.ln(base)
    whole = m.nint(logarithm) if m.isfinite(x) else logarithm
    return whole if m.isfinite(x) and m.mpf(base) ** int(whole) == x else logarithm


def _cbrt_ball(x: Any) -> Any:
    if x > 0:
        return x.root(3)
    if x < 0:
        return -((-x).root(3))
    return x if x.is_zero() else _cbrt_ball(x.lower()).union(_cbrt_ball(x.upper()))


def _cbrt_mp(m: Any, x: Any) -> Any:
    return -m.cbrt(-x) if x < 0 else m.cbrt(x)


def _hypot_ball(x: Any, y: Any) -> Any:
    if x.is_zero() or y.is_zero():
        return abs(x) + abs(y)
    return (x * x + y * y).sqrt()


def _hypot_mp(m: Any, x: Any, y: Any) -> Any:
    return m.inf if m.isinf(x) or m.isinf(y) else m.sqrt(x * x + y * y)


exp2 = Elementwise(
    "exp2", bound=_HOST, host=np.exp2, inside=lambda x: (0.0, math.inf),
    enclose=enclosure.increasing(np.exp2, _HOST, low=0.0), ball=_exp2_ball, mp=_exp2_mp,
    vjp=lambda g, out, x: (g * out * _LN_2,),
)  # fmt: skip
log2 = Elementwise(
    "log2", bound=_HOST, host=np.log2, enclose=enclosure.increasing(np.log2, _HOST, pole=0.0),
    ball=lambda x: _log_of(x, 2), mp=lambda m, x: _log_mp(m, x, 2), vjp=lambda g, out, x: (g / (x * _LN_2),),
)  # fmt: skip
log10 = Elementwise(
    "log10", bound=_HOST, host=np.log10, enclose=enclosure.increasing(np.log10, _HOST, pole=0.0),
    ball=lambda x: _log_of(x, 10), mp=lambda m, x: _log_mp(m, x, 10), vjp=lambda g, out, x: (g / (x * _LN_10),),
)  # fmt: skip
cbrt = Elementwise(
    "cbrt", bound=_CBRT, host=np.cbrt, enclose=enclosure.increasing(np.cbrt, _CBRT), ball=_cbrt_ball, mp=_cbrt_mp,
    vjp=lambda g, out, x: (g / (3.0 * out * out),),
)  # fmt: skip
hypot = Elementwise(
    "hypot", bound=_HOST, host=np.hypot, inside=lambda x, y: (max(abs(x), abs(y)), math.inf),
    enclose=pieces.hypotenuse(np.hypot, _HOST), ball=_hypot_ball, mp=_hypot_mp,
    vjp=lambda g, out, x, y: (g * x / out, g * y / out),
)  # fmt: skip
