"""sin, cos, tan and their inverses, in radians.

Special values are those of IEEE 754-2019 9.2.1: of an infinity sin, cos and tan are NaN; asin and acos are NaN beyond
+-1; atan(+-inf) = +-pi/2; odd functions keep the sign of zero; atan2(+-0, -0) = atan2(+-0, x < 0) = +-pi, and at
infinities it is a multiple of pi/4. None of these but the zeros is a number of any format: references hold pi itself.

`inside` says on which side of x the odd functions lie near 0, where no precision tells them from x.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.ops import enclosure, pieces
from precdiff.ops.functions import _HOST
from precdiff.ops.op import OPS, Elementwise


def below(x: float) -> tuple[float, float]:
    """Where f(x) lies for |f(x)| < |x|."""
    return (0.0, x) if x > 0 else (x, 0.0)


def above(x: float) -> tuple[float, float]:
    """Where f(x) lies for |f(x)| > |x|."""
    return (x, math.inf) if x > 0 else (-math.inf, x)


def _pi() -> Any:
    from flint import arb

    return arb.pi()


def _anything() -> Any:
    from flint import arb

    return arb(0, math.inf)


def _sin_inside(x: float) -> tuple[float, float]:
    return below(x) if abs(x) < 1 else (-1.0, 1.0)


def _tan_inside(x: float) -> tuple[float, float]:
    return above(x) if abs(x) < 1 else (-math.inf, math.inf)


def _atan_at_specials(x: float) -> Any:
    return math.copysign(1.0, x) * _pi() / 2 if math.isinf(x) else x


def _sign(v: Any) -> int | None:
    """1, -1, or None where a ball reaches across zero; zeros have a sign."""
    if isinstance(v, float):
        return -1 if math.copysign(1.0, v) < 0 else 1
    return 1 if v >= 0 else -1 if v < 0 else None


def _quarters(y: Any, x: Any) -> int | None:
    """|atan2(y, x)| in quarters of pi where it is a multiple of them whatever the sizes; needs the sign of x else."""
    if _infinite(y):
        return 2 if not _infinite(x) else 1 if x > 0 else 3
    positive = _sign(x)
    if _infinite(x) or y == 0:
        return None if positive is None else 0 if positive > 0 else 4
    return 2 if x == 0 else None


def _infinite(v: Any) -> bool:
    return v in (math.inf, -math.inf) if isinstance(v, float) else False


def _atan2_at_specials(y: Any, x: Any) -> Any:
    if y != y or x != x:
        return math.nan
    quarters, side = _quarters(y, x), _sign(y)
    if quarters is None or side is None:
        return _anything()
    return math.copysign(0.0, side) if quarters == 0 else side * quarters * _pi() / 4


def _atan2_mp(m: Any, y: Any, x: Any) -> Any:
    if m.isnan(y) or m.isnan(x):
        return m.nan
    plain = [v if isinstance(v, float) else float(m.sign(v)) * math.inf if m.isinf(v) else v for v in (y, x)]
    quarters = _quarters(*plain)
    if quarters is None:
        return m.atan2(y, x)
    size = quarters * m.pi / 4
    return math.copysign(0.0, y) if quarters == 0 else -size if _sign(plain[0]) == -1 else size


def _atan2_inside(y: float, x: float) -> tuple[Any, Any]:
    """Below y / x near the positive x axis: exactly that quotient, since it may be a boundary."""
    if x > abs(y) > 0 and math.isfinite(x):
        quotient = Fraction(y) / Fraction(x)
        return (0, quotient) if y > 0 else (quotient, 0)
    return -math.inf, math.inf


def _atan2_vjp(g: Any, out: Any, y: Any, x: Any) -> tuple[Any, Any]:
    square = y * y + x * x
    return g * x / square, -(g * y) / square


sin = Elementwise(
    "sin", bound=_HOST, host=np.sin, inside=_sin_inside, enclose=pieces.periodic(np.sin, _HOST, 0.5),
    ball=lambda x: x.sin(), mp=lambda m, x: m.sin(x) if m.isfinite(x) else m.nan,
    vjp=lambda g, out, x: (g * OPS["cos"](x),),
)  # fmt: skip
cos = Elementwise(
    "cos", bound=_HOST, host=np.cos, inside=lambda x: (-1.0, 1.0), enclose=pieces.periodic(np.cos, _HOST, 0.0),
    ball=lambda x: x.cos(), mp=lambda m, x: m.cos(x) if m.isfinite(x) else m.nan,
    vjp=lambda g, out, x: (-(g * OPS["sin"](x)),),
)  # fmt: skip
tan = Elementwise(
    "tan", bound=_HOST, host=np.tan, inside=_tan_inside, enclose=pieces.tangent(np.tan, _HOST), ball=lambda x: x.tan(),
    mp=lambda m, x: m.tan(x) if m.isfinite(x) else m.nan, vjp=lambda g, out, x: (g * (1.0 + out * out),),
)  # fmt: skip
asin = Elementwise(
    "asin", bound=_HOST, host=np.arcsin, inside=above,
    enclose=pieces.within(enclosure.increasing(np.arcsin, _HOST, -pieces.HALF_PI, pieces.HALF_PI), -1.0, 1.0),
    ball=lambda x: x.asin(), mp=lambda m, x: m.asin(x) if abs(x) <= 1 else m.nan,
    vjp=lambda g, out, x: (g * OPS["rsqrt"](1.0 - x * x),),
)  # fmt: skip
acos = Elementwise(
    "acos", bound=_HOST, host=np.arccos,
    enclose=pieces.within(enclosure.decreasing(np.arccos, _HOST, 0.0, pieces.PI), -1.0, 1.0),
    ball=lambda x: x.acos(), mp=lambda m, x: m.acos(x) if abs(x) <= 1 else m.nan,
    vjp=lambda g, out, x: (-(g * OPS["rsqrt"](1.0 - x * x)),),
)  # fmt: skip
atan = Elementwise(
    "atan", bound=_HOST, host=np.arctan, inside=lambda x: below(x) if math.isfinite(x) else (-math.inf, math.inf),
    enclose=pieces.limits(
        enclosure.increasing(np.arctan, _HOST, -pieces.HALF_PI, pieces.HALF_PI), np.arctan, _HOST
    ),
    ball=lambda x: x.atan(), at_specials=_atan_at_specials, mp=lambda m, x: m.atan(x),
    vjp=lambda g, out, x: (g / (1.0 + x * x),),
)  # fmt: skip
atan2 = Elementwise(
    "atan2", bound=_HOST, host=np.arctan2, inside=_atan2_inside, enclose=pieces.angle(np.arctan2, _HOST),
    ball=lambda y, x: type(y).atan2(y, x), at_specials=_atan2_at_specials, mp=_atan2_mp, vjp=_atan2_vjp,
)  # fmt: skip
