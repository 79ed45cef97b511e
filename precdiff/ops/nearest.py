"""ceil, trunc, round to nearest even, sign and clip: exact functions, whose results every float format holds.

round is IEEE 754-2019 5.9's roundToIntegralTiesToEven, ceil and trunc its TowardPositive and TowardZero; all keep the
sign of a zero result. sign of either zero is +0 and of NaN NaN, as numpy's. clip(x, low, high) is
minimum(maximum(x, low), high): NaN propagates, and where low > high the result is high.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from precdiff.ops import enclosure
from precdiff.ops.arithmetic import _maximum, _minimum, _where_less
from precdiff.ops.op import Elementwise


def _clip(x: Any, low: Any, high: Any) -> Any:
    return _minimum(_maximum(x, low), high)


def _at_ends(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The ball twin of a non-decreasing function of exact balls."""

    def ball(x: Any) -> Any:
        low, high = step(x.lower()), step(x.upper())
        return low if low == high else low.union(high)

    return ball


def _trunc_ball(x: Any) -> Any:
    return x.floor() if x >= 0 else x.ceil()


def _round_ball(x: Any) -> Any:
    whole = x.floor()
    rest = x - whole
    if rest < 0.5 or (not rest > 0.5 and (whole / 2).is_integer()):
        return whole
    return whole + 1


def _integral_mp(name: str) -> Callable[[Any, Any], Any]:
    """mpmath's rounding of that name; mpmath has no -0, so the float says it."""

    def mp(m: Any, x: Any) -> Any:
        value = _MP[name](m, x) if m.isfinite(x) else x
        return -0.0 if value == 0 and x < 0 else value

    return mp


_MP: dict[str, Callable[[Any, Any], Any]] = {
    "ceil": lambda m, x: m.ceil(x),
    "round": lambda m, x: m.nint(x),
    "trunc": lambda m, x: m.floor(x) if x >= 0 else m.ceil(x),
}


def _clip_mp(m: Any, x: Any, low: Any, high: Any) -> Any:
    return m.nan if m.isnan(x) or m.isnan(low) or m.isnan(high) else min(max(x, low), high)


def _clip_vjp(g: Any, out: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    none = 0.0 * g
    to_low, to_high = _where_less(x, low, g, none), _where_less(high, x, g, none)
    return g - to_low - to_high, to_low, to_high


def _exact(name: str, host: Callable[..., Any], ball: Callable[..., Any], mp: Callable[..., Any]) -> Elementwise:
    twin = enclosure.exact_monotone(host)
    return Elementwise(name, host=host, bound=0.0, exact=True, allowance=0.0, enclose=twin, ball=ball, mp=mp)


ceil = _exact("ceil", np.ceil, lambda x: x.ceil(), _integral_mp("ceil"))
round_ = _exact("round", np.rint, _at_ends(_round_ball), _integral_mp("round"))
trunc = _exact("trunc", np.trunc, _at_ends(_trunc_ball), _integral_mp("trunc"))
sign = _exact("sign", np.sign, lambda x: x.sgn(), lambda m, x: x if m.isnan(x) else m.sign(x))
clip = Elementwise(
    "clip", host=_clip, bound=0.0, exact=True, allowance=0.0, enclose=enclosure.exact_monotone(_clip),
    ball=lambda x, low, high: x.max(low).min(high), mp=_clip_mp, vjp=_clip_vjp,
)  # fmt: skip
