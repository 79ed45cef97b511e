"""Backward kernels: what a kernel's vjp rows give, in the device's arithmetic.

    x_bar_i = sum_j y_bar_j d y_j / d x_i        reverse accumulation (Griewank and Walther 2008, chapter 3)

The kernel is run on a tape (trace/tape.py) and the rows are swept back over the steps it made, on the same machine and
in the same formats: phase `backward`, a layer d_<op> each. Nothing is derived by hand, so every forward kernel has its
backward one, whose reference is the exact derivative of the forward formula.
"""

from __future__ import annotations

from typing import Any

from precdiff.errors import KernelError
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import Kernel, backward, kernel
from precdiff.kernels.layernorm import layernorm
from precdiff.kernels.matmul import matmul
from precdiff.kernels.softmax import softmax
from precdiff.machine import Tensor
from precdiff.ops.op import owner
from precdiff.trace import Tape


def gradients(forward: Kernel, dy: Tensor, *inputs: Tensor, inner: str = INNER, **options: Any) -> dict[str, Tensor]:
    """d<input> for every input of `forward`, where `dy` is the gradient of its output; on the inputs' machine."""
    tape = Tape(owner(f"backward of {forward.name}", [dy, *inputs]))
    leaves = [tape.adopt(inside(x, inner)) for x in inputs]
    output = forward(*leaves, **options)
    if not isinstance(output, Tensor):
        raise KernelError(f"backward of {forward.name}: it has several outputs; allowed is one")
    found = tape.sweep(output, inside(dy, inner), leaves)
    rows = zip(forward.inputs, inputs, found, strict=False)
    return {f"d{name}": outside(gradient, x) for name, x, gradient in rows}


@kernel(examples={**softmax.examples, "dy": "normal(0,1,shape=(8,64))"})
def softmax_backward(x: Tensor, dy: Tensor, *, inner: str = INNER) -> dict[str, Tensor]:
    """dx of softmax: y (dy - sum dy y), as the rows of sub, max, exp, sum and div give it.

    Finding: where `inner` is no wider than x (fp32 by default), dy - sum dy y cancels before it is multiplied by y, so
    dx has tens of ulp where it is small (accumulated_rounding).
    """
    return gradients(softmax, dy, x, inner=inner)


@kernel(limit=backward(128), examples={**layernorm.examples, "dy": "normal(0,1,shape=(8,64))"})
def layernorm_backward(
    x: Tensor, gamma: Tensor, beta: Tensor, dy: Tensor, *, eps: float = 1e-5, inner: str = INNER
) -> dict[str, Tensor]:
    """dx, dgamma, dbeta of layernorm (Ba, Kiros, Hinton 2016), two passes.

    The limit is relative to the terms each gradient was added up from; 128, since what reaches x through mean and
    variance was rounded at every step on the way, and cancels in part.
    """
    return gradients(layernorm, dy, x, gamma, beta, inner=inner, eps=eps)


@kernel(limit=backward(4), examples={**matmul.examples, "dy": "normal(0,1,shape=(16,16))"})
def matmul_backward(a: Tensor, b: Tensor, dy: Tensor, *, acc: str = "") -> dict[str, Tensor]:
    """da = dy b^T, db = a^T dy, on the matrix unit as the forward product, accumulated in `acc`."""
    return gradients(matmul, dy, a, b, inner="", acc=acc)
