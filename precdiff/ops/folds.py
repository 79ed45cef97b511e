"""Folds along an axis, element after element: prod, cumsum, and min.

prod and cumsum run in ascending order, every operation rounded once in the operand's format, as numpy's cumsum and
axis-0 reductions do (numerics C); their rows are mul and add, so each machine folds in its own number system.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.formats import Format
from precdiff.ops.arithmetic import add, mul, neg
from precdiff.ops.op import OPS, Planes, Structural
from precdiff.ops.reductions import axes_of, kept_shape, max_row


def _slices(machine: Any, x: Any, axis: int, format: Format) -> list[Any]:
    """x[i] along the axis, for every i, as tensors of the machine."""
    moved = machine.apply(OPS["transpose"], (x,), {"axes": _to_front(x.ndim, axis)}, format)
    return [machine.apply(OPS["getitem"], (moved,), {"index": [i]}, format) for i in range(x.shape[axis])]


def _to_front(ndim: int, axis: int) -> list[int]:
    return [axis, *(i for i in range(ndim) if i != axis)]


def _prod(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    x = inputs[0]
    total = None
    for axis in reversed(axes_of(x.shape, params["axis"])):
        pieces = _slices(machine, x if total is None else total, axis, format)
        total = pieces[0] if pieces else machine.constant(1.0, format)
        for piece in pieces[1:]:
            total = machine.apply(mul, (total, piece), {}, format)
    planes: Planes = (x if total is None else total).planes
    return tuple(p.reshape(kept_shape(x.shape, params["axis"])) for p in planes) if params["keepdims"] else planes


def _cumsum(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    x, axis = inputs[0], params["axis"] % inputs[0].ndim
    sums: list[Any] = []
    for piece in _slices(machine, x, axis, format):
        sums.append(piece if not sums else machine.apply(add, (sums[-1], piece), {}, format))
    stacked = zip(*(s.planes for s in sums), strict=True)
    return tuple(np.stack(planes, axis=axis) for planes in stacked) if sums else x.planes


def _min(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    largest = machine.apply(max_row, (machine.apply(neg, inputs, {}, format),), params, format)
    planes: Planes = machine.apply(neg, (largest,), {}, format).planes
    return planes


def _prod_roundings(x: np.ndarray, axis: Any, keepdims: bool) -> tuple[int, np.ndarray]:
    """n - 1 roundings, relative to the product itself."""
    axes = axes_of(x.shape, axis)
    return math.prod(x.shape[i] for i in axes) - 1, np.abs(np.prod(x, axis=axes, keepdims=keepdims))


def _cumsum_roundings(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """k roundings for the k-th sum, relative to the sum of the magnitudes so far."""
    count = np.cumsum(np.ones(x.shape), axis=axis) - 1
    return count, np.cumsum(np.abs(x), axis=axis)


def _prod_vjp(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    kept = kept_shape(x.shape, axis)
    spread = [OPS["broadcast_to"](OPS["reshape"](t, shape=kept), shape=list(x.shape)) for t in (g, out)]
    return (spread[0] * spread[1] / x,)


def _cumsum_vjp(g: Any, out: Any, x: Any, axis: int) -> tuple[Any]:
    backwards = [[None, None, None]] * (axis % x.ndim) + [[None, None, -1]]
    reverse = OPS["getitem"]
    return (reverse(cumsum_row(reverse(g, index=backwards), axis=axis), index=backwards),)


def _min_vjp(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    kept = kept_shape(x.shape, axis)
    spread = [OPS["broadcast_to"](OPS["reshape"](t, shape=kept), shape=list(x.shape)) for t in (g, out)]
    return (OPS["where"](OPS["eq"](x, spread[1]), spread[0], 0.0 * x),)


prod_row: Structural = Structural("prod", run=_prod, vjp=_prod_vjp, accumulates=_prod_roundings)
cumsum_row: Structural = Structural("cumsum", run=_cumsum, vjp=_cumsum_vjp, accumulates=_cumsum_roundings)
min_row: Structural = Structural("min", run=_min, vjp=_min_vjp)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product along `axis` (all axes for None), in ascending order."""
    return prod_row(x, axis=None if axis is None else list(axes_of(x.shape, axis)), keepdims=keepdims)


def cumsum(x: Any, axis: int = -1) -> Any:
    """The running sums along `axis`, in ascending order."""
    return cumsum_row(x, axis=int(axis))


def min_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element along `axis`; NaN propagates, -0 is below +0."""
    return min_row(x, axis=None if axis is None else list(axes_of(x.shape, axis)), keepdims=keepdims)
