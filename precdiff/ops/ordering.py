"""Ordering: sort, argsort, argmax and what follows from them. Stable, NaN last, -0 equal to +0, as numpy's stable sort.

Descending order keeps equal elements in the order of their indices too (numerics A11: Sort32 keeps the lower index
first). Of reals known to intervals only, an order statistic lies between the order statistics of the ends; an index is
decided where no other interval overlaps, or where equal points fall back on their indices. Elsewhere values are the
hull and indices 0 ... n - 1: never a silent choice. argmax gives the first NaN where there is one, as numpy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.formats import Format
from precdiff.ops.gathering import scatter_along_row
from precdiff.ops.layout import getitem
from precdiff.ops.op import Planes, Structural

Bounds = tuple[np.ndarray, np.ndarray]


def ranks(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices in ascending order along the last axis, whether each place is decided) of intervals [lo, hi]."""
    order = np.argsort(lo, axis=-1, kind="stable")
    low, high = (np.take_along_axis(end, order, -1) for end in (lo, hi))
    reach = np.maximum.accumulate(np.where(np.isnan(high), -np.inf, high), axis=-1)[..., :-1]
    after, before = low[..., 1:], low[..., :-1]
    tie = (before == high[..., :-1]) & (after == high[..., 1:]) & (before == after) & (reach == before)
    apart = (reach < after) | tie | np.isnan(after)
    edge = np.ones((*apart.shape[:-1], 1), bool)
    return order, np.concatenate([edge, apart], -1) & np.concatenate([apart, edge], -1)


def _ordered(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, Bounds]:
    """(indices, decided, bounds) of the operand, its axis last; descending is the ascending order of the negatives."""
    x = inputs[0]
    axis = params["axis"]
    if not machine.ideal:
        return *_by_value(np.moveaxis(x.planes[0], axis, -1), params["descending"]), (np.empty(0), np.empty(0))
    lo, hi = (np.moveaxis(end, axis, -1) for end in machine.reals(x).bounds())
    if params["descending"]:
        lo, hi = -hi, -lo
    return *ranks(lo, hi), (lo, hi)


def _by_value(values: np.ndarray, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    # ~x orders integers of either sign backwards, as -x does floats; equal elements stay in the order of their indices
    keys = (-values if values.dtype.kind == "f" else ~values) if descending else values
    order = np.argsort(keys, axis=-1, kind="stable")
    return order, np.ones(order.shape, bool)


def _sort(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    axis = params["axis"]
    order, decided, (lo, hi) = _ordered(machine, inputs, params)
    planes = [np.take_along_axis(np.moveaxis(p, axis, -1), order, -1) for p in inputs[0].planes]
    if not decided.all():
        low, high = np.sort(lo, -1), np.sort(hi, -1)
        ends = (-high, -low) if params["descending"] else (low, high)
        planes = [np.where(decided, p, h) for p, h in zip(planes, machine.hull(*ends, format), strict=True)]
    return tuple(np.ascontiguousarray(np.moveaxis(p, -1, axis)) for p in planes)


def _argsort(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    order, decided, _ = _ordered(machine, inputs, params)
    last = order.shape[-1] - 1
    planes = machine.hull(np.where(decided, order, 0), np.where(decided, order, last), format)
    return tuple(np.ascontiguousarray(np.moveaxis(p, -1, params["axis"])) for p in planes)


def _argmax(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    x, axis = inputs[0], params["axis"]
    if not machine.ideal:
        index = np.argmax(x.planes[0], axis=axis)
        return tuple(machine.hull(index, index, format))
    lo, hi = (np.moveaxis(end, axis, -1) for end in machine.reals(x).bounds())
    first, last = _extreme(lo, hi)
    return tuple(machine.hull(first, last, format))


def _extreme(lo: np.ndarray, hi: np.ndarray) -> Bounds:
    """The first and the last index the largest element can have."""
    nan = np.isnan(lo)
    may_be_nan = np.isneginf(lo) & np.isposinf(hi)
    best = np.max(np.where(nan, -np.inf, lo), axis=-1, keepdims=True)
    candidate = np.where(nan.any(-1, keepdims=True), nan, (hi >= best)) | may_be_nan
    first = np.argmax(candidate, axis=-1)
    points = np.where(candidate, (lo == best) & (hi == best) | nan, True).all(-1)
    last = candidate.shape[-1] - 1 - np.argmax(candidate[..., ::-1], axis=-1)
    return first, np.where(points, first, last)


def _sort_vjp(g: Any, out: Any, x: Any, axis: int, descending: bool) -> tuple[Any]:
    return (scatter_along_row(0.0 * x, argsort(x, axis, descending), g, axis=axis),)


sort_row: Structural = Structural("sort", run=_sort, vjp=_sort_vjp)
argsort_row: Structural = Structural("argsort", run=_argsort, result="i64")
argmax_row: Structural = Structural("argmax", run=_argmax, result="i64")


def sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """The elements in order along `axis`."""
    return sort_row(x, axis=int(axis), descending=bool(descending))


def argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """The indices (i64) that put the elements in order along `axis`."""
    return argsort_row(x, axis=int(axis), descending=bool(descending))


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """(values, indices) of the k largest (or smallest) elements along `axis`, in order."""
    chosen = (*[slice(None)] * (axis % x.ndim), slice(0, k))
    return getitem(sort(x, axis, largest), chosen), getitem(argsort(x, axis, largest), chosen)


def argmax(x: Any, axis: int = -1) -> Any:
    """The index (i64) of the first largest element along `axis`."""
    return argmax_row(x, axis=int(axis))


def argmin(x: Any, axis: int = -1) -> Any:
    """The index (i64) of the first smallest element along `axis`."""
    return argmax(-x, axis)
