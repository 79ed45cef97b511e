"""The faulty computations of the field cases, each from a public report, as kernels.

`reference` names the intended function where the source is another one in exact arithmetic; `limit` is what the report
asked for. 050 asks 128 ulp of fp32: its published fix leaves 57, because the exponents are differences of numbers near
88.
"""

import math

from precdiff import ops
from precdiff.kernels import kernel, ulp
from precdiff.kernels.expression import Literal
from precdiff.kernels.symbolic import CONSTANTS


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


@kernel
def sentinel_attention(s, v, scale):
    """007: softmax-weighted mean with a running maximum that starts at -5e4, in powers of two."""
    largest = ops.maximum(ops.max_(s, axis=-1, keepdims=True), -5e4)
    p = ops.exp2((s - largest) * scale * math.log2(math.e))
    total = ops.sum_(p, axis=-1)
    return ops.where(total == 0.0, 0.0 * total, ops.sum_(p * v, axis=-1) / total)


@kernel(limit=ulp(4))
def running_mean(x):
    """017: a running sum in fp32 divided by its length."""
    return ops.sum_(x, axis=-1) / float(x.shape[-1])


@kernel
def narrow_dot(x, w):
    """019: products and a running sum in fp16."""
    return ops.sum_(x * w, axis=-1)


@kernel
def inverse(a):
    """023, 024: elimination with partial pivoting."""
    return ops.inv(a)


@kernel
def floor_of_a_sum(x):
    """030: exp(floor(sum of softmax(x)))."""
    e = ops.exp(x - ops.max_(x, axis=-1, keepdims=True))
    p = e / ops.sum_(e, axis=-1, keepdims=True)
    return ops.exp(ops.floor(ops.sum_(p, axis=-1)))


@kernel
def one_pass_std(x):
    """033: sqrt(E[x^2] - E[x]^2)."""
    mean = ops.sum_(x, axis=-1) / 4.0
    variance = ops.sum_(x * x, axis=-1) / 4.0 - mean * mean
    return ops.sqrt(variance)


def _masked_mean(s, v):
    e = ops.exp(s - ops.max_(s, axis=-1, keepdims=True))
    return ops.sum_(e * v, axis=-1, keepdims=True) / ops.sum_(e, axis=-1, keepdims=True)


@kernel(reference=_masked_mean)
def online_softmax(s, v):
    """034: online softmax over blocks of two keys, rescaled by exp(m - m')."""
    m, total, out = s[0:1] * 0.0, s[0:1] * 0.0, s[0:1] * 0.0
    for block in range(2):
        keys, values = s[2 * block : 2 * block + 2], v[2 * block : 2 * block + 2]
        largest = ops.max_(keys, axis=-1, keepdims=True)
        new = largest if block == 0 else ops.maximum(m, largest)
        p = ops.exp(keys - new)
        rescale = ops.exp(m - new) if block else p[0:1] * 0.0
        total = ops.sum_(p, axis=-1, keepdims=True) + (rescale * total if block else 0.0)
        out = ops.sum_(p * values, axis=-1, keepdims=True) + (rescale * out if block else 0.0)
        m = new
    return out / total


def _handing_on(a, b):
    return ops.maximum(a, b)


@kernel(reference=_handing_on)
def dropping_max(a, b):
    """036: fmax, where a NaN is to be handed on."""
    return ops.fmax(a, b)


def _first_wins(x):
    return ops.argmax(x, axis=-1)


@kernel(reference=_first_wins)
def last_wins(x):
    """037: the last of equal maxima, by way of the reversed elements."""
    return ops.argmax(x[::-1], axis=-1) * -1 + (x.shape[-1] - 1)


def _nearest(x):
    return ops.cast(x, "bf16")


@kernel(reference=_nearest, limit=ulp(0.5))
def dropped_bits(x):
    """040: bf16 by leaving out the low 16 bits."""
    return ops.cast(x, "bf16", mode="toward-zero")


@kernel(limit=ulp(0.5))
def lost_sticky_bit(x):
    """043: fp16 of a subnormal result, the last bit of the fp32 number lost on the way."""
    return ops.cast(ops.cast(x, "fp32@p23"), "fp16")


def _with_eps(x):
    return _normalised(x, 1e-8)


def _normalised(x, eps):
    mean = ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean((x - mean) * (x - mean), axis=-1, keepdims=True)
    return (x - mean) * ops.rsqrt(variance + eps)


@kernel(reference=_with_eps)
def printed_eps(x):
    """047: eps = 1e-8, printed as %f into the source."""
    return _normalised(x, float(f"{1e-8:f}"))


@kernel
def narrow_pi(x):
    """049: x pi in fp64, pi kept as fp32."""
    pi = ops.cast(ops.cast(x.machine.constant(Literal(CONSTANTS["PI"]), x.format), "fp32"), "fp64")
    return x * pi


@kernel(limit=ulp(1))
def rotary_table(j):
    """053: bf16(cos(4095 bf16(10000^(-2j/128)))), the product and cos in fp32."""
    frequency = ops.cast(ops.power(10000.0, j * (-2.0 / 128.0)), "bf16")
    phase = 4095.0 * ops.cast(frequency, "fp32")
    return ops.cast(ops.cos(phase), "bf16")


@kernel
def quantised_rows(x):
    """056: q = round(x / (max|x| / 127)), a row at a time."""
    wide = ops.cast(x, "fp32")
    scale = ops.max_(ops.abs_(wide), axis=-1, keepdims=True) / 127.0
    return ops.cast(ops.clip(ops.round_(wide / scale), -128.0, 127.0), "i32")


@kernel
def atomic_cell(partials):
    """057: partial results added to an fp16 cell."""
    return ops.sum_(partials, axis=-1)


@kernel
def product_in_fp32(a, b, c):
    """061: fp32(a) fp32(b) + c; the compiled form, without the eager form's cast of the product to fp16."""
    return ops.cast(a, "fp32") * ops.cast(b, "fp32") + c


@kernel
def float_of_id(n):
    """062: fp32(n)."""
    return ops.cast(n, "fp32")
