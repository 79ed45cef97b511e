"""solve and inv by Gaussian elimination with partial pivoting, step by step in the device's arithmetic.

The pivot of column k is the first largest |a[i, k]|, i >= k (LAPACK's choice); rows are exchanged by index tensors, so
every machine pivots by its own numbers. Unrolled: n steps of whole-matrix operations for an n x n matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.ops.arithmetic import abs_
from precdiff.ops.composites import layered
from precdiff.ops.gathering import scatter, take
from precdiff.ops.layout import broadcast_to, concatenate, getitem, reshape, update
from precdiff.ops.ordering import argmax


@layered("solve")
def solve(a: Any, b: Any) -> Any:
    """x with a x = b; a is (n, n), b is (n, m)."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.ndim != 2 or b.shape[0] != a.shape[0]:
        raise KernelError(f"solve: shapes {a.shape}, {b.shape}; allowed are (n, n) and (n, m)")
    n = a.shape[0]
    table = concatenate([a, b], axis=1)
    for k in range(n):
        table = _eliminated(_pivoted(table, k), k, n)
    return _substituted_back(table, n)


@layered("inv")
def inv(a: Any) -> Any:
    """The inverse of an (n, n) matrix: the solution of a x = 1."""
    rows = [a.machine.constant(float(v), a.format) for v in np.eye(a.shape[0]).ravel()]
    identity = reshape(concatenate([reshape(v, (1,)) for v in rows]), a.shape)
    return solve(a, identity)


def _pivoted(table: Any, k: int) -> Any:
    """Rows k and the pivot's exchanged."""
    rest = getitem(table, (slice(k, None),))
    pivot = argmax(abs_(getitem(rest, (slice(None), k))), axis=0)
    first, chosen = getitem(rest, (0,)), take(rest, pivot, axis=0)
    exchanged = update(scatter(rest, pivot, first), (0,), chosen)
    return exchanged if k == 0 else concatenate([getitem(table, (slice(0, k),)), exchanged])


def _eliminated(table: Any, k: int, n: int) -> Any:
    """Multiples of row k taken from the rows below it."""
    if k == n - 1:
        return table
    row, below = getitem(table, (k,)), getitem(table, (slice(k + 1, None),))
    factor = getitem(below, (slice(None), slice(k, k + 1))) / getitem(row, (k,))
    reduced = below - factor * broadcast_to(row, below.shape)
    # the eliminated column is 0 by construction, whatever its rounding would leave
    cleared = update(reduced, (slice(None), k), broadcast_to(table.machine.constant(0.0, table.format), (n - k - 1,)))
    return concatenate([getitem(table, (slice(0, k + 1),)), cleared])


def _substituted_back(table: Any, n: int) -> Any:
    solved: Any = None
    for k in reversed(range(n)):
        row = getitem(table, (slice(k, k + 1),))
        right = getitem(row, (slice(None), slice(n, None)))
        for j in range(k + 1, n):
            known = getitem(solved, (slice(j - k - 1, j - k),))
            right = right - getitem(row, (slice(None), slice(j, j + 1))) * known
        x = right / getitem(row, (slice(None), slice(k, k + 1)))
        solved = x if solved is None else concatenate([x, solved])
    return solved
