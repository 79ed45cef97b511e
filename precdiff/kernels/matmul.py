"""matmul(a, b, c=None): a @ b + c on the profile's matrix unit."""

from __future__ import annotations

from precdiff import ops
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor


@kernel(
    limit=backward(4), formats={"c": "accumulator"},
    examples={"a": "normal(0,1,shape=(16,64))", "b": "normal(0,1,shape=(64,16))"},
)  # fmt: skip
def matmul(a: Tensor, b: Tensor, c: Tensor | None = None, *, acc: str = "", out: str = "") -> Tensor:
    """a @ b + c, accumulated in `acc` (c is in that format), delivered in `out`; the profile's choices by default."""
    product: Tensor = ops.matmul(a, b, c, acc=acc or None, out=out or None)
    return product
