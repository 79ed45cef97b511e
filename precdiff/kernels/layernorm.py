"""layernorm(x, gamma, beta) along the last axis: (x - mean) / sqrt(var + eps) * gamma + beta.

Two-pass (the mean of squared deviations) or the known bad form E[x^2] - E[x]^2, which cancels.
"""

from __future__ import annotations

from precdiff.kernels.kernel import kernel
from precdiff.machine import Tensor
from precdiff.ops import mean, sqrt

_EXAMPLES = {"x": "normal(0,1,shape=(8,64))", "gamma": "normal(1,0.1,shape=(64,))", "beta": "normal(0,0.1,shape=(64,))"}


def _two_pass(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-5) -> Tensor:
    centred = x - mean(x, axis=-1, keepdims=True)
    variance = mean(centred * centred, axis=-1, keepdims=True)
    return centred / sqrt(variance + eps) * gamma + beta


@kernel(examples=_EXAMPLES)
def layernorm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-5) -> Tensor:
    """Layer normalisation in two passes, in the inputs' format.

    Finding: results near 0 come from x near the mean, or from a product near -beta: cancellation at sub or add.
    """
    return _two_pass(x, gamma, beta, eps=eps)


@kernel(
    name="layernorm_one_pass", reference=_two_pass, examples={**_EXAMPLES, "x": "normal(20,1,shape=(8,64))"}
)  # fmt: skip
def layernorm_one_pass(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-5) -> Tensor:
    """The known bad form: the variance as E[x^2] - E[x]^2."""
    average = mean(x, axis=-1, keepdims=True)
    square = mean(x * x, axis=-1, keepdims=True)
    variance = square - average * average
    return (x - average) / sqrt(variance + eps) * gamma + beta
