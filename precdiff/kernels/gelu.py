"""gelu(x) = x Phi(x) = x/2 erfc(-x / sqrt 2) (Hendrycks and Gimpel 2016), and its tanh form.

1 + erf(x / sqrt 2) cancels for negative x; erfc does not. The tanh form is another function, up to 4.8e-4 away:

    x/2 (1 + tanh u) = x / (1 + e^-2u),   u = sqrt(2/pi) (x + 0.044715 x^3)

whose left side cancels where its right side does not.
"""

from __future__ import annotations

import math

from precdiff import ops
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import kernel
from precdiff.kernels.silu import logistic
from precdiff.machine import Tensor

_EXAMPLES = {"x": "normal(0,3,shape=(4096,))"}
_SLOPE, _CUBIC = math.sqrt(2 / math.pi), 0.044715


@kernel(examples=_EXAMPLES)
def gelu(x: Tensor, *, inner: str = INNER) -> Tensor:
    """x/2 erfc(-x / sqrt 2) in `inner`.

    Finding: where `inner` is no wider than x (fp32 by default), the rounding of x / sqrt 2 is amplified x^2 times in
    the left tail: accumulated_rounding at erfc, 90 ulp near x = -9.
    """
    wide = inside(x, inner)
    return outside(0.5 * wide * ops.erfc(wide * -math.sqrt(0.5)), x)


@kernel(name="gelu_naive", reference=gelu, examples=_EXAMPLES)
def gelu_naive(x: Tensor) -> Tensor:
    """The known bad form x/2 (1 + erf(x / sqrt 2)) in the inputs' format: it cancels, and is 0 in the left tail."""
    y: Tensor = ops.gelu(x)
    return y


def _twice_u(x: Tensor) -> Tensor:
    return 2.0 * _SLOPE * (x + _CUBIC * (x * x * x))


@kernel(name="gelu_tanh", examples=_EXAMPLES)
def gelu_tanh(x: Tensor, *, inner: str = INNER) -> Tensor:
    """The tanh form as x / (1 + e^-2u), in `inner`; judged against the tanh form, not against gelu.

    Finding: where `inner` is no wider than x (fp32 by default), the roundings of 2u are amplified 2u times in the left
    tail: accumulated_rounding at exp, 60 ulp near x = -9.
    """
    wide = inside(x, inner)
    return outside(wide * logistic(_twice_u(wide)), x)


@kernel(name="gelu_tanh_naive", reference=gelu_tanh, examples=_EXAMPLES)
def gelu_tanh_naive(x: Tensor) -> Tensor:
    """The known bad form x/2 (1 + tanh u) in the inputs' format: it cancels, and is 0 in the left tail."""
    return 0.5 * x * (1.0 + ops.tanh(0.5 * _twice_u(x)))
