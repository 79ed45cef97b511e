"""Sums and extrema along axes, casts and constants. Meaning without order: the order is the device's business.

`sum`: params axis (list or null for all), keepdims, acc and out (formats; default the operand's). `mean` is a function
over sum and div, as devices compute it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from precdiff.ops.op import OPS, Constant, Contraction, Conversion, Reduction


def axes_of(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The reduced axes, non-negative and ascending; None means all."""
    if axis is None:
        return tuple(range(len(shape)))
    chosen = axis if isinstance(axis, list | tuple) else (axis,)
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(tuple(chosen), len(shape))))


def kept_shape(shape: tuple[int, ...], axis: Any) -> list[int]:
    """The shape with the reduced axes kept as 1."""
    axes = axes_of(shape, axis)
    return [1 if i in axes else n for i, n in enumerate(shape)]


def _spread(g: Any, x: Any, axis: Any) -> Any:
    kept = OPS["reshape"](g, shape=kept_shape(x.shape, axis))
    return OPS["broadcast_to"](kept, shape=list(x.shape))


def _sum_vjp(g: Any, out: Any, x: Any, axis: Any = None, **_: Any) -> tuple[Any]:
    return (_spread(g, x, axis),)


def _extremum_vjp(g: Any, out: Any, x: Any, axis: Any = None, **_: Any) -> tuple[Any]:
    chosen = OPS["eq"](x, _spread(out, x, axis))
    return (OPS["where"](chosen, _spread(g, x, axis), 0.0 * x),)


def _matmul_vjp(g: Any, out: Any, a: Any, b: Any, c: Any = None, acc: Any = None, **_: Any) -> tuple[Any, ...]:
    # a result delivered in another format than the factors: its cotangent enters the unit in theirs
    entering = g if g.format == a.format else cast(g, a.format)
    grads = matmul(entering, _swap(b), acc=acc), matmul(_swap(a), entering, acc=acc)
    return grads if c is None else (*grads, g)


def _swap(x: Any) -> Any:
    axes = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
    return OPS["transpose"](x, axes=axes)


sum_row = Reduction("sum", kind="sum", vjp=_sum_vjp)
max_row = Reduction("max", kind="max", vjp=_extremum_vjp)
matmul_row = Contraction("matmul", vjp=_matmul_vjp)
cast_row = Conversion("cast", vjp=lambda g, out, x, **_: (g,))
constant = Constant("constant")


def sum_(x: Any, axis: Any = None, keepdims: bool = False, acc: str | None = None, out: str | None = None) -> Any:
    """The sum along `axis` (all axes for None), accumulated in format `acc`, given in `out`; both default to x's."""
    return sum_row(x, axis=_listed(axis), keepdims=keepdims, acc=acc, out=out)


def mean(x: Any, axis: Any = None, keepdims: bool = False, acc: str | None = None, out: str | None = None) -> Any:
    """The arithmetic mean: `sum_` divided by the count."""
    count = math.prod(x.shape[i] for i in axes_of(x.shape, axis))
    return sum_(x, axis, keepdims, acc, out) / count


def max_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element along `axis`; NaN propagates."""
    return max_row(x, axis=_listed(axis), keepdims=keepdims)


def matmul(a: Any, b: Any, c: Any = None, acc: str | None = None, out: str | None = None) -> Any:
    """a @ b (+ c), shapes (..., m, k) and (..., k, n): accumulated in `acc`, given in `out`, as the profile's unit
    does.

    c starts the accumulator and is in its format. Both default to what the profile's matrix unit declares.
    """
    operands = (a, b) if c is None else (a, b, c)
    return matmul_row(*operands, acc=acc, out=out)


def cast(x: Any, to: Any, mode: str | None = None) -> Any:
    """x in another format, rounded once: `mode` is a rounding direction, default the profile's."""
    return cast_row(x, to=getattr(to, "name", to), mode=mode)


def _listed(axis: Any) -> list[int] | None:
    if axis is None:
        return None
    return [int(a) for a in axis] if isinstance(axis, list | tuple) else [int(axis)]
