"""Elementary functions. A device's result is the correctly rounded value or its documented approximation, never libm's.

The host functions differ between processors: numpy promises 4 ulp where it uses Intel's vector library (AVX-512), so
that is every row's bound, well above what the tests measure against balls (they print the worst seen).

power follows IEEE 754-2019 9.2.1 (pow): 0^-y = inf, x^0 = 1 even for NaN, 1^y = 1, (-x)^n by parity, NaN for a negative
base with a non-integer exponent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from precdiff.ops import enclosure
from precdiff.ops.arithmetic import _where_less
from precdiff.ops.op import OPS, Elementwise

_HOST = 4.0

# numpy has no erf: the C library's
_erf_plain = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Any) -> Any:
    return np.asarray(_erf_plain(x), np.float64)


def _power(x: Any, y: Any) -> Any:
    # numpy takes the square root where the exponent is a single 0.5, which is wrong at -0 and -inf
    return np.where((y == 0.5) & ((x == 0) | np.isinf(x)), np.abs(x), np.power(x, y))


def _power_ball(x: Any, y: Any) -> Any:
    if x > 0 or not y.is_integer():
        return x**y
    n = y.unique_fmpz()
    if not x < 0:
        return x**n
    size = (-x) ** y
    return -size if n % 2 else size


def _power_inside(x: float, y: float) -> tuple[float, float]:
    return (-math.inf, 0.0) if x < 0 and y % 2 == 1 else (0.0, math.inf)


def _erf_inside(x: float) -> tuple[float, float]:
    return (0.0, 1.0) if x > 0 else (-1.0, 0.0)


def _tanh_inside(x: float) -> tuple[float, float]:
    return (0.0, min(x, 1.0)) if x > 0 else (max(x, -1.0), 0.0)


def _power_mp(m: Any, x: Any, y: Any) -> Any:
    if y == 0 or x == 1:
        return m.mpf(1)
    if m.isnan(x) or m.isnan(y):
        return m.nan
    if x == 0:
        return m.zero if y > 0 else m.inf
    if m.isinf(y):
        return m.one if abs(x) == 1 else m.inf if (abs(x) > 1) == (y > 0) else m.zero
    if m.isinf(x):
        return m.zero if y < 0 else -m.inf if x < 0 and m.isint(y) and y % 2 else m.inf
    if x < 0 and not m.isint(y):
        return m.nan
    size = _exp_mp(m, y * m.ln(abs(x))) if m.mag(y) + m.mag(m.mag(x)) > 200 else m.power(abs(x), y)
    return -size if x < 0 and y % 2 else size


def _exp_mp(m: Any, x: Any) -> Any:
    return m.exp(_cut(m, x))


def _cut(m: Any, x: Any) -> Any:
    """x, or the infinity it stands for where e^x needs an exponent of 1,100 bits."""
    return m.sign(x) * m.inf if m.isfinite(x) and m.mag(x) > 1100 else x


def _power_vjp(g: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    # d x^y / dy = x^y ln x is meaningful for x > 0 only; elsewhere y is an integer and does not vary
    log_x = OPS["log"](_where_less(0.0, x, x, 0.0 * x + 1.0))
    return g * y * OPS["power"](x, y - 1.0), g * out * log_x


exp = Elementwise(
    "exp", bound=_HOST, host=np.exp, inside=lambda x: (0.0, math.inf),
    enclose=enclosure.increasing(np.exp, _HOST, low=0.0), ball=lambda x: x.exp(), mp=_exp_mp,
    vjp=lambda g, out, x: (g * out,),
)  # fmt: skip
expm1 = Elementwise(
    "expm1", bound=_HOST, host=np.expm1, inside=lambda x: (-1.0, math.inf),
    enclose=enclosure.increasing(np.expm1, _HOST, low=-1.0), ball=lambda x: x.expm1(),
    mp=lambda m, x: m.expm1(_cut(m, x)), vjp=lambda g, out, x: (g * (out + 1.0),),
)  # fmt: skip
log = Elementwise(
    "log", bound=_HOST, host=np.log, enclose=enclosure.increasing(np.log, _HOST, pole=0.0), ball=lambda x: x.log(),
    mp=lambda m, x: (m.ln(x) if x > 0 else -m.inf) if x >= 0 else m.nan, vjp=lambda g, out, x: (g / x,),
)  # fmt: skip
log1p = Elementwise(
    "log1p", bound=_HOST, host=np.log1p, enclose=enclosure.increasing(np.log1p, _HOST, pole=-1.0),
    ball=lambda x: x.log1p(), mp=lambda m, x: (m.log1p(x) if x > -1 else -m.inf) if x >= -1 else m.nan,
    vjp=lambda g, out, x: (g / (1.0 + x),),
)  # fmt: skip
tanh = Elementwise(
    "tanh", bound=_HOST, host=np.tanh, inside=_tanh_inside,
    enclose=enclosure.increasing(np.tanh, _HOST, low=-1.0, high=1.0), ball=lambda x: x.tanh(),
    mp=lambda m, x: m.tanh(_cut(m, x)), vjp=lambda g, out, x: (g * (1.0 - out * out),),
)  # fmt: skip
erf = Elementwise(
    "erf", bound=_HOST, host=_erf, inside=_erf_inside, enclose=enclosure.increasing(_erf, _HOST, low=-1.0, high=1.0),
    ball=lambda x: x.erf(), mp=lambda m, x: m.erf(_cut(m, x)),
    vjp=lambda g, out, x: (g * 1.1283791670955126 * OPS["exp"](-(x * x)),),
)  # fmt: skip
power = Elementwise(
    "power", bound=_HOST, host=_power, inside=_power_inside, enclose=enclosure.corners(_power, _HOST),
    ball=_power_ball, mp=_power_mp, vjp=_power_vjp,
)  # fmt: skip
