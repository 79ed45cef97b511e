"""conv2d as matrix products over unfolded windows (im2col), the way a Cube computes it: K runs over channel, row,
column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.ops.composites import layered
from precdiff.ops.layout import broadcast_to, getitem_row, reshape, transpose, update, update_row
from precdiff.ops.op import Layout
from precdiff.ops.reductions import matmul

Pair = Sequence[int]


def _unfold(x: np.ndarray, window: Pair, stride: Pair) -> np.ndarray:
    view = np.lib.stride_tricks.sliding_window_view(x, tuple(window), axis=(-2, -1))
    return np.array(view[..., :: stride[0], :: stride[1], :, :], copy=True)


def _fold_back(g: Any, out: Any, x: Any, window: Pair, stride: Pair) -> tuple[Any]:
    """The gradient of every window element added to the element it was."""
    total, (rows, columns) = 0.0 * x, g.shape[-4:-2]
    lead = [[None, None, None]] * (x.ndim - 2)
    for i, j in np.ndindex(*window):
        place = [
            *lead,
            [i, i + stride[0] * (rows - 1) + 1, stride[0]],
            [j, j + stride[1] * (columns - 1) + 1, stride[1]],
        ]
        piece = getitem_row(g, index=["...", i, j])
        total = update_row(total, getitem_row(total, index=place) + piece, index=place)
    return (total,)


unfold_row: Layout = Layout("unfold", move=_unfold, vjp=_fold_back)


@layered("conv2d")
def conv2d(
    x: Any, w: Any, stride: int | Pair = 1, padding: int | Pair = 0, acc: str | None = None, out: str | None = None
) -> Any:
    """x (n, c, h, w) with filters w (o, c, kh, kw): (n, o, oh, ow); accumulated in `acc`, given in `out`."""
    if x.ndim != 4 or w.ndim != 4 or x.shape[1] != w.shape[1]:
        raise KernelError(f"conv2d: shapes {x.shape}, {w.shape}; allowed are (n, c, h, w) and (o, c, kh, kw)")
    steps, edges = _pair(stride), _pair(padding)
    padded = _padded(x, edges)
    if padded.shape[2] < w.shape[2] or padded.shape[3] < w.shape[3]:
        raise KernelError(f"conv2d: the filter {w.shape[2:]} is larger than the padded image {padded.shape[2:]}")
    windows = unfold_row(padded, window=list(w.shape[2:]), stride=list(steps))
    n, c, rows, columns = windows.shape[:4]
    terms = reshape(transpose(windows, (0, 2, 3, 1, 4, 5)), (n, rows * columns, c * w.shape[2] * w.shape[3]))
    filters = transpose(reshape(w, (w.shape[0], -1)))
    product = matmul(terms, filters, acc=acc, out=out)
    return transpose(reshape(product, (n, rows, columns, w.shape[0])), (0, 3, 1, 2))


def _padded(x: Any, edges: Pair) -> Any:
    if not any(edges):
        return x
    n, c, h, w = x.shape
    zeros = broadcast_to(x.machine.constant(0.0, x.format), (n, c, h + 2 * edges[0], w + 2 * edges[1]))
    inner = (slice(None), slice(None), slice(edges[0], edges[0] + h), slice(edges[1], edges[1] + w))
    return update(zeros, inner, x)


def _pair(value: int | Pair) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)
