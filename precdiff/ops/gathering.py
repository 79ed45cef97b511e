"""Moves by index tensors: take (embedding), scatter, and their additive forms. Exact, except where scatter_add adds.

An index a reference cannot decide leaves what it selects unknown; an index out of range is an error that names both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format
from precdiff.ops.arithmetic import add
from precdiff.ops.layout import getitem_row, update_row
from precdiff.ops.op import Planes, Structural


def _known(machine: Any, index: Any, name: str, length: int) -> tuple[np.ndarray, np.ndarray]:
    """(integer indices, whether each is decided); undecided ones are 0."""
    if index.format.kind != "int":
        raise KernelError(f"{name}: the indices are {index.format.name}; allowed are integers")
    lo, hi = machine.reals(index).bounds()
    decided = (lo == hi) & np.isfinite(lo)
    chosen = np.where(decided, lo, 0).astype(np.int64)
    outside = chosen[(chosen < -length) | (chosen >= length)]
    if outside.size:
        raise KernelError(f"{name}: index {int(outside[0])} is out of range for {length} elements")
    return np.where(chosen < 0, chosen + length, chosen), decided


def _unknown(machine: Any, planes: Planes, where: np.ndarray, format: Format) -> Planes:
    anything = machine.hull(np.full(where.shape, -np.inf), np.full(where.shape, np.inf), format)
    return tuple(np.where(where, u, p) for p, u in zip(planes, anything, strict=True))


def _take(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    x, index = inputs
    axis = params["axis"] % x.ndim
    chosen, decided = _known(machine, index, "take", x.shape[axis])
    # np.array: of an array of objects a scalar index gives the bare object
    planes = tuple(np.array(np.take(p, chosen, axis=axis), dtype=p.dtype) for p in x.planes)
    if decided.all():
        return planes
    doubt = ~decided.reshape((1,) * axis + decided.shape + (1,) * (x.ndim - axis - 1))
    return _unknown(machine, planes, np.broadcast_to(doubt, planes[0].shape), format)


def _scatter(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    """Slices of `values` written to (or added to) x at `index` along axis 0, in the order of the indices."""
    x, index, values = inputs
    chosen, decided = _known(machine, index, "scatter", x.shape[0])
    result = x
    for place, i in zip(np.ndindex(chosen.shape), chosen.ravel().tolist(), strict=True):
        piece = machine.apply(getitem_row, (values,), {"index": list(place)}, format)
        if params["add"]:
            before = machine.apply(getitem_row, (result,), {"index": [i]}, format)
            piece = machine.apply(add, (before, piece), {}, format)
        result = machine.apply(update_row, (result, piece), {"index": [i]}, format)
    planes: Planes = result.planes
    return planes if decided.all() else _unknown(machine, planes, np.ones(x.shape, bool), format)


def _take_along(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    """np.take_along_axis on every plane."""
    x, index = inputs
    axis = params["axis"]
    if index.ndim != x.ndim:
        raise KernelError(f"take_along: indices of shape {index.shape}; allowed are {x.ndim} axes, as {x.shape} has")
    chosen, decided = _known(machine, index, "take_along", x.shape[axis])
    planes = tuple(np.take_along_axis(p, chosen, axis) for p in x.planes)
    return planes if decided.all() else _unknown(machine, planes, np.broadcast_to(~decided, planes[0].shape), format)


def _scatter_along(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    """np.put_along_axis on every plane."""
    x, index, values = inputs
    chosen, decided = _known(machine, index, "scatter_along", x.shape[params["axis"]])
    planes = tuple(p.copy() for p in x.planes)
    for plane, written in zip(planes, values.planes, strict=True):
        np.put_along_axis(plane, chosen, written, params["axis"])
    return planes if decided.all() else _unknown(machine, planes, np.ones(x.shape, bool), format)


def _scatter_roundings(x: np.ndarray, index: np.ndarray, values: np.ndarray, add: bool) -> tuple[Any, np.ndarray]:
    """As many roundings as additions meet in a slice, relative to the sum of the magnitudes; none where it writes."""
    total, count = np.abs(x), np.zeros(x.shape)
    if not add:
        return count, count
    np.add.at(total, index.astype(np.int64), np.abs(values))
    np.add.at(count, index.astype(np.int64), 1.0)
    return count, total


def _take_vjp(g: Any, out: Any, x: Any, index: Any, axis: int) -> tuple[Any, None]:
    if axis % x.ndim:
        return _moved_take_vjp(g, x, index, axis % x.ndim), None
    return scatter_row(0.0 * x, index, g, add=True), None


def _moved_take_vjp(g: Any, x: Any, index: Any, axis: int) -> Any:
    """The same with the axis brought to the front and back again."""
    front = [axis, *(i for i in range(x.ndim) if i != axis)]
    wide = [*range(axis, axis + index.ndim), *range(axis), *range(axis + index.ndim, g.ndim)]
    moved = scatter_row(0.0 * x.transpose(*front), index, g.transpose(*wide), add=True)
    return moved.transpose(*(int(i) for i in np.argsort(front)))


def _take_along_vjp(g: Any, out: Any, x: Any, index: Any, axis: int) -> tuple[Any, None]:
    """Every index of a row writes into zeros of its own, so that equal ones add."""
    total = None
    for i in range(index.shape[axis]):
        place = [[None, None, None]] * (axis % x.ndim) + [[i, i + 1, None]]
        piece = scatter_along_row(0.0 * x, getitem_row(index, index=place), getitem_row(g, index=place), axis=axis)
        total = piece if total is None else total + piece
    return (0.0 * x if total is None else total), None


def _scatter_vjp(g: Any, out: Any, x: Any, index: Any, values: Any, add: bool) -> tuple[Any, None, Any]:
    read = take_row(g, index, axis=0)
    return (g if add else scatter_row(g, index, 0.0 * values, add=False)), None, read


take_row: Structural = Structural("take", run=_take, vjp=_take_vjp)
take_along_row: Structural = Structural("take_along", run=_take_along, vjp=_take_along_vjp)
scatter_row: Structural = Structural("scatter", run=_scatter, vjp=_scatter_vjp, accumulates=_scatter_roundings)
scatter_along_row: Structural = Structural("scatter_along", run=_scatter_along)


def take(x: Any, indices: Any, axis: int = 0) -> Any:
    """The slices of x at `indices` (an integer tensor) along `axis`: an embedding lookup."""
    return take_row(x, indices, axis=int(axis))


def take_along(x: Any, indices: Any, axis: int = -1) -> Any:
    """x at one index (or several) a row along `axis`, as np.take_along_axis: the picked class of every sample."""
    return take_along_row(x, indices, axis=int(axis))


def scatter(x: Any, indices: Any, values: Any) -> Any:
    """A copy of x with x[indices] = values along axis 0; of equal indices the last one stays."""
    return scatter_row(x, indices, values, add=False)


def scatter_add(x: Any, indices: Any, values: Any) -> Any:
    """x with values added at `indices` along axis 0, one after another, each addition rounded."""
    return scatter_row(x, indices, values, add=True)
