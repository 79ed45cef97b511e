"""softmax(x) along the last axis: e^x / sum e^x, shifted by the maximum or naive."""

from __future__ import annotations

from precdiff.kernels.kernel import kernel
from precdiff.machine import Tensor
from precdiff.ops import exp, max_, sum_


def _shifted(x: Tensor) -> Tensor:
    shifted = x - max_(x, axis=-1, keepdims=True)
    e = exp(shifted)
    return e / sum_(e, axis=-1, keepdims=True)


@kernel(examples={"x": "normal(0,2,shape=(8,64))"})
def softmax(x: Tensor) -> Tensor:
    """Softmax of the last axis, shifted by its maximum so that exp cannot overflow, in the inputs' format.

    Finding: the rounding of x - max is amplified |x - max| times by exp (error_amplification), and the sum of a row
    adds its own (accumulated_rounding): about 10 ulp for the example.
    """
    return _shifted(x)


@kernel(name="softmax_naive", reference=_shifted, examples={"x": "normal(0,4,shape=(8,64))"})
def softmax_naive(x: Tensor) -> Tensor:
    """The known bad form: no shift, so exp(x) overflows fp16 from x = 11.09 on."""
    e = exp(x)
    total = sum_(e, axis=-1, keepdims=True)
    return e / total
