"""conv2d(x, w): cross-correlation of images (n, c, h, w) with filters (o, c, kh, kw), as the matrix unit computes it.

    y[n, o, i, j] = sum over c, a, b of x[n, c, i stride + a - padding, j stride + b - padding] w[o, c, a, b]

The same function as torch.nn.functional.conv2d; windows unfolded (im2col), one matrix product of depth c kh kw.
"""

from __future__ import annotations

from precdiff import ops
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor


@kernel(
    limit=backward(4), examples={"x": "normal(0,1,shape=(2,3,8,8))", "w": "normal(0,0.3,shape=(4,3,3,3))"}
)  # fmt: skip
def conv2d(x: Tensor, w: Tensor, *, stride: int = 1, padding: int = 0, acc: str = "", out: str = "") -> Tensor:
    """The convolution, accumulated in `acc` and delivered in `out` (the profile's choices by default).

    The limit is matmul's: relative to sum |x w|, since products of either sign cancel in any order.
    """
    y: Tensor = ops.conv2d(x, w, stride=stride, padding=padding, acc=acc or None, out=out or None)
    return y
