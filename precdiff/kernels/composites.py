"""gelu as a kernel of its own: the composite of precdiff.ops."""

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
