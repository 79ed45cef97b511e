"""Layout ops: numpy's moves, which never round and are written once for every machine.

Parameters are JSON-able (a trace stores them), so an index is encoded: its items are an integer, [start, stop, step],
"..." or null (a new axis).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.ops.op import Layout


def encode_index(index: Any) -> list[Any]:
    """The JSON form of a basic numpy index; fancy indices are refused (use `where`, later `take`)."""
    items = index if isinstance(index, tuple) else (index,)
    return [_encode_item(item) for item in items]


def _encode_item(item: Any) -> Any:
    if isinstance(item, slice):
        return [item.start, item.stop, item.step]
    if item is Ellipsis:
        return "..."
    if item is None or isinstance(item, int | np.integer):
        return item if item is None else int(item)
    raise KernelError(f"index: found {type(item).__name__}; allowed are integers, slices, ... and None")


def _decode_index(index: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(slice(*i) if isinstance(i, list | tuple) else Ellipsis if i == "..." else i for i in index)


def _update(x: np.ndarray, value: np.ndarray, index: Sequence[Any]) -> np.ndarray:
    result = x.copy()
    result[_decode_index(index)] = value
    return result


def _inverse(axes: Sequence[int] | None) -> list[int] | None:
    return None if axes is None else [int(i) for i in np.argsort(axes)]


def _split_back(g: Any, axis: int, parts: Sequence[Any]) -> tuple[Any, ...]:
    starts = np.cumsum([0] + [p.shape[axis] for p in parts])
    lead = [[None, None, None]] * (axis % g.ndim)
    return tuple(getitem_row(g, index=[*lead, [int(a), int(b), None]]) for a, b in itertools.pairwise(starts))


getitem_row: Layout = Layout(
    "getitem", move=lambda x, index: np.array(x[_decode_index(index)], copy=True),
    vjp=lambda g, out, x, index: (update_row(0.0 * x, g, index=index),),
)  # fmt: skip
update_row: Layout = Layout(
    "update", move=_update,
    vjp=lambda g, out, x, value, index: (update_row(g, 0.0 * value, index=index), getitem_row(g, index=index)),
)  # fmt: skip
reshape_row: Layout = Layout(
    "reshape", move=lambda x, shape: x.reshape(tuple(shape)),
    vjp=lambda g, out, x, shape: (reshape_row(g, shape=list(x.shape)),),
)  # fmt: skip
transpose_row: Layout = Layout(
    "transpose", move=lambda x, axes=None: np.ascontiguousarray(np.transpose(x, axes)),
    vjp=lambda g, out, x, axes=None: (transpose_row(g, axes=_inverse(axes)),),
)  # fmt: skip
broadcast_row: Layout = Layout(
    "broadcast_to", move=lambda x, shape: np.broadcast_to(x, tuple(shape)).copy(),
    vjp=lambda g, out, x, shape: (g,),
)  # fmt: skip
detach_row: Layout = Layout("detach", move=lambda x: x.copy())
concatenate_row: Layout = Layout(
    "concatenate", move=lambda *xs, axis=0: np.concatenate(xs, axis=axis),
    vjp=lambda g, out, *xs, axis=0: _split_back(g, axis, xs),
)  # fmt: skip


def getitem(x: Any, index: Any) -> Any:
    """x[index] for basic indices."""
    return getitem_row(x, index=encode_index(index))


def update(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with x[index] = value; tensors are immutable."""
    return update_row(x, value, index=encode_index(index))


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """x with another shape, elements in C order; one length may be -1."""
    return reshape_row(x, shape=[int(n) for n in shape])


def transpose(x: Any, axes: Sequence[int] | None = None) -> Any:
    """x with its axes permuted, reversed by default."""
    return transpose_row(x, axes=None if axes is None else [int(a) for a in axes])


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """x repeated to `shape` by numpy's rules."""
    return broadcast_row(x, shape=[int(n) for n in shape])


def detach(x: Any) -> Any:
    """x as a constant: no derivative passes. For what a formula does not depend on, as softmax on its shift."""
    return detach_row(x)


def concatenate(tensors: Sequence[Any], axis: int = 0) -> Any:
    """The tensors joined along `axis`."""
    return concatenate_row(*tensors, axis=int(axis))
