"""The arithmetic of IEEE 754-2019 clauses 5.4 and 9.2: rows whose results a device rounds once, or not at all.

`rounded` is the correctly rounded array operation (rounding/arithmetic.py); exact rows (neg, abs, minimum, maximum,
floor) give representable results. minimum and maximum follow IEEE 754-2019 9.6: NaN propagates and -0 < +0, as Ascend
documents too (numerics A4: Max(-0, +0) = +0).
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from precdiff.ops import enclosure
from precdiff.ops.op import OPS, Elementwise
from precdiff.rounding import arithmetic


def _maximum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), y, x), np.maximum(x, y))


def _minimum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), x, y), np.minimum(x, y))


def _reciprocal(x: Any) -> Any:
    return 1.0 / x


def _rsqrt(x: Any) -> Any:
    # relative errors of 2^-53 each, at most 3/2 ulp together; IEEE 754 9.2.1: rsqrt(+-0) = +-inf
    return 1.0 / np.sqrt(x)


def _where_less(x: Any, y: Any, if_less: Any, otherwise: Any) -> Any:
    return OPS["where"](OPS["lt"](x, y), if_less, otherwise)


add = Elementwise(
    "add", host=np.add, bound=0.5, enclose=enclosure.add, ball=operator.add, mp=lambda m, x, y: x + y,
    rounded=arithmetic.add, allowance=1.0, vjp=lambda g, out, x, y: (g, g),
)  # fmt: skip
sub = Elementwise(
    "sub", host=np.subtract, bound=0.5, enclose=lambda x, y: enclosure.add(x, enclosure.negate(y)), ball=operator.sub,
    mp=lambda m, x, y: x - y, rounded=arithmetic.subtract, allowance=1.0, vjp=lambda g, out, x, y: (g, -g),
)  # fmt: skip
mul = Elementwise(
    "mul", host=np.multiply, bound=0.5, enclose=enclosure.multiply, ball=operator.mul, mp=lambda m, x, y: x * y,
    rounded=arithmetic.multiply, allowance=1.0, vjp=lambda g, out, x, y: (g * y, g * x),
)  # fmt: skip
div = Elementwise(
    "div", host=np.divide, bound=0.5, enclose=enclosure.divide, ball=operator.truediv, mp=lambda m, x, y: x / y,
    rounded=arithmetic.divide, allowance=1.0, vjp=lambda g, out, x, y: (g / y, -(g * out) / y),
)  # fmt: skip
fma = Elementwise(
    # the host rounds the product: its special values are right, its numbers may be off by any amount
    "fma", host=lambda x, y, z: x * y + z, bound=math.inf, enclose=enclosure.fused, ball=lambda x, y, z: x * y + z,
    mp=lambda m, x, y, z: m.fdot([(x, y), (z, m.mpf(1))]), rounded=arithmetic.fma, allowance=1.0,
    vjp=lambda g, out, x, y, z: (g * y, g * x, g),
)  # fmt: skip
sqrt = Elementwise(
    "sqrt", host=np.sqrt, bound=0.5, enclose=enclosure.increasing(np.sqrt, 0.5, low=0.0), ball=lambda x: x.sqrt(),
    mp=lambda m, x: m.sqrt(x) if x >= 0 else m.nan, rounded=arithmetic.sqrt, allowance=1.0,
    vjp=lambda g, out, x: (0.5 * g / out,),
)  # fmt: skip
rsqrt = Elementwise(
    "rsqrt", host=_rsqrt, bound=2.0, enclose=enclosure.decreasing(_rsqrt, 2.0, low=0.0, pole=0.0),
    ball=lambda x: x.rsqrt(), mp=lambda m, x: 1 / m.sqrt(x) if x >= 0 else m.nan,
    vjp=lambda g, out, x: (-0.5 * g * out / x,),
)  # fmt: skip
reciprocal = Elementwise(
    "reciprocal", host=_reciprocal, bound=0.5, enclose=enclosure.decreasing(_reciprocal, 0.5, pole=0.0),
    ball=lambda x: 1 / x, mp=lambda m, x: 1 / x, vjp=lambda g, out, x: (-g * out * out,),
)  # fmt: skip
neg = Elementwise(
    "neg", host=np.negative, bound=0.0, exact=True, enclose=enclosure.negate, ball=operator.neg, mp=lambda m, x: -x,
    allowance=0.0, vjp=lambda g, out, x: (-g,),
)  # fmt: skip
abs_ = Elementwise(
    "abs", host=np.abs, bound=0.0, exact=True, enclose=enclosure.absolute, ball=abs, mp=lambda m, x: abs(x),
    allowance=0.0, vjp=lambda g, out, x: (_where_less(x, 0.0, -g, _where_less(0.0, x, g, 0.0 * g)),),
)  # fmt: skip
minimum = Elementwise(
    "minimum", host=_minimum, bound=0.0, exact=True, enclose=enclosure.exact_monotone(_minimum),
    ball=lambda x, y: x.min(y), mp=lambda m, x, y: m.nan if m.isnan(x) or m.isnan(y) else min(x, y), allowance=0.0,
    vjp=lambda g, out, x, y: (_where_less(y, x, 0.0 * g, g), _where_less(y, x, g, 0.0 * g)),
)  # fmt: skip
maximum = Elementwise(
    "maximum", host=_maximum, bound=0.0, exact=True, enclose=enclosure.exact_monotone(_maximum),
    ball=lambda x, y: x.max(y), mp=lambda m, x, y: m.nan if m.isnan(x) or m.isnan(y) else max(x, y), allowance=0.0,
    vjp=lambda g, out, x, y: (_where_less(x, y, 0.0 * g, g), _where_less(x, y, g, 0.0 * g)),
)  # fmt: skip
floor = Elementwise(
    "floor", host=np.floor, bound=0.0, exact=True, enclose=enclosure.exact_monotone(np.floor),
    ball=lambda x: x.floor(), mp=lambda m, x: m.floor(x) if m.isfinite(x) else x, allowance=0.0,
)  # fmt: skip
