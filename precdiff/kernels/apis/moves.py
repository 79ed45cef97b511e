"""What moves elements and computes nothing.

Source of names and arguments: torch 2.13, torch.Tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from precdiff import ops
from precdiff.kernels.api import MOVES, api


def _sizes(given: Sequence[Any]) -> list[int]:
    """Sizes as one sequence or as arguments."""
    return list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else list(given)


@api("clone", "contiguous", "detach", "alias", allowance=MOVES)
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """The same."""
    return input


@api("reshape", "view", "_unsafe_view", allowance=MOVES)
def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in another shape."""
    return ops.reshape(input, _sizes(shape))


@api("flatten", allowance=MOVES)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes from start to end as one."""
    first, last = start_dim % max(input.ndim, 1), end_dim % max(input.ndim, 1)
    joined = math.prod(input.shape[first : last + 1])
    return ops.reshape(input, (*input.shape[:first], joined, *input.shape[last + 1 :]))


@api("unsqueeze", allowance=MOVES)
def unsqueeze(input: Any, dim: int) -> Any:
    """A new axis of length 1."""
    at = dim % (input.ndim + 1)
    return ops.reshape(input, (*input.shape[:at], 1, *input.shape[at:]))


@api("squeeze", allowance=MOVES)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of length 1: all, or those of `dim`."""
    asked = range(input.ndim) if dim is None else dim if isinstance(dim, list | tuple) else [dim]
    gone = {d % input.ndim for d in asked if input.shape[d] == 1}
    return ops.reshape(input, [n for i, n in enumerate(input.shape) if i not in gone])


@api("transpose", "swapaxes", allowance=MOVES)
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    axes = list(range(input.ndim))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return ops.transpose(input, axes)


@api("t", allowance=MOVES)
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    return ops.transpose(input)


@api("permute", allowance=MOVES)
def permute(input: Any, *dims: Any) -> Any:
    """The axes in another order."""
    return ops.transpose(input, [d % input.ndim for d in _sizes(dims)])


@api("expand", "broadcast_to", allowance=MOVES)
def expand(input: Any, *size: Any, implicit: bool = False) -> Any:
    """Repeated to a shape; -1 keeps a length."""
    sizes = _sizes(size)
    lead = len(sizes) - input.ndim
    return ops.broadcast_to(input, [input.shape[i - lead] if n == -1 else n for i, n in enumerate(sizes)])


@api("cat", "concat", "concatenate", allowance=MOVES)
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined along an axis."""
    return ops.concatenate(tensors, axis=dim)


@api("stack", allowance=MOVES)
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined along a new axis."""
    return ops.concatenate([unsqueeze(x, dim) for x in tensors], axis=dim)


@api("chunk", allowance=MOVES)
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """Parts along an axis, of equal length but for the last."""
    return split(input, -(-input.shape[dim] // chunks), dim)


@api("split", allowance=MOVES)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Parts of a length, or of several lengths, along an axis."""
    length, given = tensor.shape[dim], split_size_or_sections
    sizes = given if isinstance(given, list | tuple) else [min(given, length - i) for i in range(0, length, given)]
    axis, start, parts = dim % tensor.ndim, 0, []
    for size in sizes:
        parts.append(tensor[(*[slice(None)] * axis, slice(start, start + size))])
        start += size
    return tuple(parts)


@api("select", allowance=MOVES)
def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis."""
    return input[(*[slice(None)] * (dim % input.ndim), index)]


@api("index_select", allowance=MOVES)
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices at the indices along an axis."""
    return ops.take(input, index, axis=dim)


@api("gather", allowance=MOVES)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """One element a row, at the index along an axis."""
    return ops.take_along(input, index, axis=dim)


#: a cast is the identity of ideal mathematics; its rounding is its error
@api("to", "type", "float", "half", "bfloat16", "double", "_to_copy", "type_as", allowance=1.0)
def to(input: Any, *args: Any, **kwargs: Any) -> Any:
    """The same numbers in another format."""
    return input
