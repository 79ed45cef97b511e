"""rmsnorm(x, gamma) along the last axis: x / sqrt(mean x^2 + eps) gamma (Zhang and Sennrich 2019)."""

from __future__ import annotations

from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import kernel, ulp
from precdiff.machine import Tensor
from precdiff.ops import mean, sqrt

_GAMMA = "normal(1,0.1,shape=(64,))"


@kernel(limit=ulp(8), examples={"x": "normal(0,1,shape=(8,64))", "gamma": _GAMMA})
def rmsnorm(x: Tensor, gamma: Tensor, *, eps: float = 1e-5, inner: str = INNER) -> Tensor:
    """x / sqrt(mean x^2 + eps) gamma, in `inner`.

    8 ulp: nothing cancels, the root halves the error of the sum of squares (a few ulp in any order for rows of this
    length), and quotient and product add one each.
    """
    wide = inside(x, inner)
    return outside(_normalised(wide, eps) * inside(gamma, inner), x)


@kernel(name="rmsnorm_naive", reference=rmsnorm, examples={"x": "normal(0,100,shape=(8,64))", "gamma": _GAMMA})
def rmsnorm_naive(x: Tensor, gamma: Tensor, *, eps: float = 1e-5) -> Tensor:
    """The known bad form: squares in the inputs' format, infinite in fp16 from |x| = 256 on, and then all is 0."""
    return _normalised(x, eps) * gamma


def _normalised(x: Tensor, eps: float) -> Tensor:
    square = mean(x * x, axis=-1, keepdims=True)
    y: Tensor = x / sqrt(square + eps)
    return y
