"""Comparisons and `where`. A comparison of reals can be undecided in a reference; the pair (certainly, possibly) says
so.

IEEE 754-2019 5.11: every comparison with a NaN is false but `ne`, which is true; a profile may say otherwise (Ascend's
Compare NE with a NaN gives 0: numerics A4).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from precdiff.ops.enclosure import Pair
from precdiff.ops.op import Elementwise, Selection


def _nan(x: Pair, y: Pair) -> np.ndarray:
    return np.isnan(x[0]) | np.isnan(y[0])


def _equal(x: Pair, y: Pair) -> Pair:
    points = (x[0] == x[1]) & (y[0] == y[1])
    return _bits(points & (x[0] == y[0]), (x[0] <= y[1]) & (y[0] <= x[1]))


def _not_equal(x: Pair, y: Pair) -> Pair:
    certain, possible = _equal(x, y)
    return _bits((possible == 0.0) | _nan(x, y), certain == 0.0)


def _bits(certain: np.ndarray, possible: np.ndarray) -> Pair:
    return certain.astype(np.float64), possible.astype(np.float64)


def _ball_less(x: Any, y: Any) -> Any:
    """True, False, or None where the balls overlap."""
    if x < y:
        return True
    return False if x >= y else None


def _ball_less_equal(x: Any, y: Any) -> Any:
    if x <= y:
        return True
    return False if x > y else None


def _ball_equal(x: Any, y: Any) -> Any:
    if x.is_exact() and y.is_exact():
        return bool(x == y)
    return None if x.overlaps(y) else False


def _not(value: Any) -> Any:
    return None if value is None else not value


def _row(name: str, host: Callable[..., Any], enclose: Callable[..., Any], ball: Callable[..., Any]) -> Elementwise:
    mp = getattr(operator, name)
    return Elementwise(
        name, host=host, bound=0.0, exact=True, allowance=0.0, enclose=enclose, ball=ball, result="bool",
        mp=lambda m, x, y: mp(x, y),
    )  # fmt: skip


eq = _row("eq", np.equal, _equal, _ball_equal)
ne = _row("ne", np.not_equal, _not_equal, lambda x, y: _not(_ball_equal(x, y)))
lt = _row("lt", np.less, lambda x, y: _bits(x[1] < y[0], x[0] < y[1]), _ball_less)
le = _row("le", np.less_equal, lambda x, y: _bits(x[1] <= y[0], x[0] <= y[1]), _ball_less_equal)
gt = _row("gt", np.greater, lambda x, y: _bits(x[0] > y[1], x[1] > y[0]), lambda x, y: _ball_less(y, x))
ge = _row("ge", np.greater_equal, lambda x, y: _bits(x[0] >= y[1], x[1] >= y[0]), lambda x, y: _ball_less_equal(y, x))

where: Selection = Selection("where", vjp=lambda g, out, c, x, y: (None, where(c, g, 0.0 * g), where(c, 0.0 * g, g)))
