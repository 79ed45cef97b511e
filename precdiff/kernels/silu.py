"""silu(x) = x / (1 + e^-x) (Hendrycks and Gimpel 2016; Elfwing and others 2017, "swish").

With t = e^-|x|, which cannot overflow, 1 / (1 + e^-x) is 1 / (1 + t) for x >= 0 and t / (1 + t) for x < 0.
"""

from __future__ import annotations

from precdiff import ops
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import kernel
from precdiff.machine import Tensor

_EXAMPLES = {"x": "normal(0,4,shape=(4096,))"}


def logistic(x: Tensor) -> Tensor:
    """1 / (1 + e^-x) without overflow and without cancellation."""
    t = ops.exp(-ops.abs_(x))
    chosen: Tensor = ops.where(x < 0.0, t, 1.0) / (1.0 + t)
    return chosen


@kernel(examples=_EXAMPLES)
def silu(x: Tensor, *, inner: str = INNER) -> Tensor:
    """x / (1 + e^-x), never overflowing, in `inner`.

    4 ulp: exp, sum, quotient and product round once each, and no argument of exp is rounded.
    """
    wide = inside(x, inner)
    return outside(wide * logistic(wide), x)


@kernel(name="silu_naive", reference=silu, examples=_EXAMPLES)
def silu_naive(x: Tensor) -> Tensor:
    """The known bad form: e^-x in the inputs' format is infinite in fp16 from x = -11.09 on, and silu 0."""
    y: Tensor = ops.silu(x)
    return y


@kernel(examples=_EXAMPLES)
def sigmoid(x: Tensor, *, inner: str = INNER) -> Tensor:
    """1 / (1 + e^-x), never overflowing, in `inner`; 4 ulp as silu's."""
    return outside(logistic(inside(x, inner)), x)


@kernel(name="sigmoid_naive", reference=sigmoid, examples=_EXAMPLES)
def sigmoid_naive(x: Tensor) -> Tensor:
    """The known bad form: e^-x in the inputs' format is infinite in fp16 from x = -11.09 on, and sigmoid 0."""
    y: Tensor = ops.sigmoid(x)
    return y
