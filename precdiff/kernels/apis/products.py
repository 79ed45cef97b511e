"""Products of matrices and convolutions.

Source of names and arguments: torch 2.13, torch.matmul and torch.nn.functional.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.kernels.api import api


def _swapped(x: Any) -> Any:
    return ops.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@api("matmul", "mm", "bmm")
def matmul(input: Any, other: Any) -> Any:
    """input @ other by numpy's rules: vectors become a row, or a column, and lose that axis again."""
    a = ops.reshape(input, (1, *input.shape)) if input.ndim == 1 else input
    b = ops.reshape(other, (*other.shape, 1)) if other.ndim == 1 else other
    product = ops.matmul(a, b)
    kept = list(product.shape)
    if other.ndim == 1:
        del kept[-1]
    if input.ndim == 1:
        del kept[-2 if other.ndim > 1 else -1]
    return product if tuple(kept) == product.shape else ops.reshape(product, kept)


@api("mv", "dot")
def dot(input: Any, other: Any) -> Any:
    """A matrix or a vector times a vector."""
    return matmul(input, other)


@api("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input weight^T + bias."""
    product = matmul(input, _swapped(weight))
    return product if bias is None else product + bias


@api("addmm", "baddbmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha mat1 mat2; with beta 0 the input is not read."""
    product = ops.matmul(mat1, mat2)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return scaled + (input if beta == 1 else input * beta)


@api("conv2d")
def conv2d(  # noqa: PLR0913 - torch's arguments
    input: Any, weight: Any, bias: Any = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The cross-correlation of images with filters; dilated or grouped it is another function."""
    if groups != 1 or dilation not in (1, [1, 1], (1, 1)) or isinstance(padding, str):
        raise KernelError(f"conv2d with dilation {dilation}, groups {groups}, padding {padding!r} is not known")
    made = ops.conv2d(input, weight, stride, padding)
    return made if bias is None else made + ops.reshape(bias, (1, -1, 1, 1))
