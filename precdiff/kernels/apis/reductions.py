"""Sums, means, extrema and norms along axes.

Source of names and arguments: torch 2.13, torch.sum and its neighbours; `dim` is an axis, several, or None for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.kernels.api import MOVES, api
from precdiff.ops.reductions import axes_of


def same_format(dtype: Any, name: str) -> None:
    """Refuse a result in another format than the operands'."""
    if dtype is not None:
        raise KernelError(f"{name} with dtype {dtype} is not known")


@api("sum")
def sum_(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum."""
    same_format(dtype, "sum")
    return ops.sum_(input, axis=dim, keepdims=keepdim)


@api("mean")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The arithmetic mean."""
    same_format(dtype, "mean")
    return ops.mean(input, axis=dim, keepdims=keepdim)


@api("var")
def var(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The mean square of the deviations, of count - correction."""
    count = math.prod(input.shape[i] for i in axes_of(input.shape, dim))
    centred = input - ops.mean(input, axis=dim, keepdims=True)
    return ops.sum_(centred * centred, axis=dim, keepdims=keepdim) / (count - correction)


@api("std")
def std(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The square root of var."""
    return ops.sqrt(var(input, dim, correction=correction, keepdim=keepdim))


@api("norm", "vector_norm")
def norm(input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """The Euclidean norm; others are not known."""
    if p not in (2, 2.0, "fro"):
        raise KernelError(f"norm with p {p} is not known")
    return ops.sqrt(ops.sum_(input * input, axis=dim, keepdims=keepdim))


@api("amax", allowance=MOVES, ties=True)
def amax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element."""
    return ops.max_(input, axis=dim, keepdims=keepdim)


@api("amin", allowance=MOVES, ties=True)
def amin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element."""
    return ops.min_(input, axis=dim, keepdims=keepdim)


@api("cumsum")
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The running sum."""
    same_format(dtype, "cumsum")
    return ops.cumsum(input, axis=dim)


@api("prod")
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product."""
    same_format(dtype, "prod")
    return ops.prod(input, axis=dim, keepdims=keepdim)


@api("logsumexp")
def logsumexp(input: Any, dim: int | Sequence[int], keepdim: bool = False) -> Any:
    """log sum exp along one axis."""
    axis = dim if isinstance(dim, int) else dim[0]
    return ops.logsumexp(input, axis=axis, keepdims=keepdim)
