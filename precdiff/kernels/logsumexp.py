"""logsumexp(x) along the last axis: log sum e^x = m + log sum e^(x - m), m the maximum.

log_softmax(x) is x minus that. Source: Blanchard, Higham and Higham 2021, algorithms 3.1 and 3.2.
"""

from __future__ import annotations

from precdiff import ops
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor
from precdiff.ops import exp, log, max_, sum_

_EXAMPLES = {"x": "normal(0,3,shape=(8,64))"}


@kernel(examples=_EXAMPLES)
def logsumexp(x: Tensor) -> Tensor:
    """log sum exp of the last axis, shifted by the maximum; 4 ulp where the result is not near 0."""
    y: Tensor = ops.logsumexp(x)
    return y


@kernel(name="logsumexp_naive", reference=logsumexp, examples={"x": "normal(0,5,shape=(8,64))"})
def logsumexp_naive(x: Tensor) -> Tensor:
    """The known bad form: no shift, so exp(x) overflows fp16 from x = 11.09 on."""
    y: Tensor = log(sum_(exp(x), axis=-1))
    return y


def log_probabilities(x: Tensor) -> Tensor:
    """(x - m) - log sum e^(x - m) in x's own format."""
    shifted = x - max_(x, axis=-1, keepdims=True)
    y: Tensor = shifted - log(sum_(exp(shifted), axis=-1, keepdims=True))
    return y


@kernel(limit=backward(16), examples=_EXAMPLES)
def log_softmax(x: Tensor, *, inner: str = INNER) -> Tensor:
    """(x - m) - log sum e^(x - m) of the last axis, in `inner`.

    The limit is relative to |x - m| + log sum, the two terms of the last subtraction. It does not hold in fp32 where
    one class has a probability near 1: the sum is 1 and a little, whose rounding is all of the logarithm's error.
    """
    return outside(log_probabilities(inside(x, inner)), x)


@kernel(name="log_softmax_naive", reference=log_softmax, examples={"x": "normal(0,5,shape=(8,64))"})
def log_softmax_naive(x: Tensor) -> Tensor:
    """The known bad form: the logarithm of softmax in the inputs' format, -inf where a probability underflows."""
    e = exp(x - max_(x, axis=-1, keepdims=True))
    probability = e / sum_(e, axis=-1, keepdims=True)
    y: Tensor = log(probability)
    return y
