"""gelu, silu, sigmoid, softplus and logsumexp as kernels of their own: the composites of precdiff.ops."""

from __future__ import annotations

from precdiff import ops
from precdiff.kernels.kernel import kernel
from precdiff.machine import Tensor

_EXAMPLES = {"x": "normal(0,3,shape=(4096,))"}


@kernel(examples=_EXAMPLES)
def gelu(x: Tensor) -> Tensor:
    """x/2 (1 + erf(x / sqrt 2))."""
    y: Tensor = ops.gelu(x)
    return y


@kernel(examples=_EXAMPLES)
def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x))."""
    y: Tensor = ops.silu(x)
    return y


@kernel(examples={"x": "normal(0,3,shape=(8,64))"})
def logsumexp(x: Tensor) -> Tensor:
    """log sum exp of the last axis, shifted by the maximum."""
    y: Tensor = ops.logsumexp(x)
    return y
