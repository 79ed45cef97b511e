"""The faulty computations of the field cases, each from a public report, as kernels.

`reference` names the intended function where the source is another one in exact arithmetic; `limit` is what the report
asked for. 050 asks 128 ulp of fp32: its published fix leaves 57, because the exponents are differences of numbers near
88.
"""

from precdiff import ops
from precdiff.kernels import kernel, ulp
from precdiff.kernels.expression import Literal


@kernel
def masked_softmax(s, plane):
    """002: softmax(s + M1 + M2), both masks the most negative finite number."""
    mask = plane + plane
    masked = s + mask
    shifted = masked - ops.max_(masked, axis=-1, keepdims=True)
    e = ops.exp(shifted)
    return e / ops.sum_(e, axis=-1, keepdims=True)


@kernel(limit=ulp(1))
def narrow_variance_layernorm(x):
    """003: fp16 layer normalisation, mean and squares in fp32, the variance stored in fp16."""
    wide = ops.cast(x, "fp32")
    centred = wide - ops.mean(wide, axis=-1, keepdims=True)
    variance = ops.cast(ops.mean(centred * centred, axis=-1, keepdims=True), "fp16")
    deviation = ops.sqrt(ops.cast(variance, "fp32") + Literal("1e-5"))
    return ops.cast(centred / deviation, "fp16")


@kernel
def complex_abs(re, im):
    """009: sqrt(re^2 + im^2)."""
    return ops.sqrt(re * re + im * im)


def _distance(a, b):
    return ops.abs_(a - b)


@kernel(reference=_distance)
def distance_by_product(a, b):
    """011: |a - b| by way of the product: sqrt(max(0, a a + b b - 2 a b))."""
    squares = a * a + b * b
    product = 2.0 * a * b
    return ops.sqrt(ops.maximum(squares - product, 0.0))


@kernel(limit=ulp(1))
def mean_loss(loss):
    """018: a running sum in the losses' own format, divided by their count."""
    return ops.mean(loss)


@kernel(limit=ulp(1))
def stepwise_pow(x, p):
    """027: exp(p log(x)), every op rounded."""
    return ops.exp(p * ops.log(x))


@kernel(limit=ulp(128))
def sloped_softmax(s, dist, exponent):
    """050: softmax(s - m dist) in fp32, the slope m = 2^exponent stored in fp16."""
    stored = ops.cast(ops.power(2.0, exponent), "fp16")
    slope = ops.cast(stored, "fp32")
    x = s - slope * dist
    e = ops.exp(x - ops.max_(x, axis=-1, keepdims=True))
    return e / ops.sum_(e, axis=-1, keepdims=True)
