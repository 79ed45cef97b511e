"""Element by element: arithmetic, comparisons and functions, with numpy's broadcasting.

Source of names and arguments: torch 2.13, torch.Tensor and torch.special.
"""

from __future__ import annotations

import math
from typing import Any

from precdiff import ops
from precdiff.kernels.api import FILLS, MOVES, ROUNDS, api
from precdiff.kernels.gelu import gelu as erf_form
from precdiff.kernels.gelu import gelu_naive, gelu_tanh_naive
from precdiff.kernels.gelu import gelu_tanh as tanh_form
from precdiff.kernels.silu import logistic
from precdiff.kernels.silu import silu as logistic_form


def _number(like: Any, value: Any) -> Any:
    """The value as a tensor of `like`'s machine and format."""
    return value if hasattr(value, "machine") else like.machine.constant(float(value), like.format)


@api("add", allowance=ROUNDS)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha other."""
    return input + (other if alpha == 1 else other * alpha)


@api("radd", allowance=ROUNDS)
def radd(input: Any, other: Any) -> Any:
    """other + input."""
    return other + input


@api("sub", "subtract", allowance=ROUNDS)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha other."""
    return input - (other if alpha == 1 else other * alpha)


@api("rsub", allowance=ROUNDS)
def rsub(input: Any, other: Any, alpha: Any = 1) -> Any:
    """other - alpha input."""
    return other - (input if alpha == 1 else input * alpha)


@api("mul", "multiply", allowance=ROUNDS)
def mul(input: Any, other: Any) -> Any:
    """input other."""
    return input * other


@api("div", "divide", "true_divide", allowance=ROUNDS)
def div(input: Any, other: Any) -> Any:
    """input / other; with rounding_mode it is another function."""
    return input / other


@api("rtruediv", "rdiv", allowance=ROUNDS)
def rdiv(input: Any, other: Any) -> Any:
    """other / input."""
    return other / input


@api("neg", "negative", allowance=MOVES)
def neg(input: Any) -> Any:
    """-input."""
    return -input


@api("abs", "absolute", allowance=MOVES)
def absolute(input: Any) -> Any:
    """|input|."""
    return abs(input)


@api("square", allowance=ROUNDS)
def square(input: Any) -> Any:
    """input^2."""
    return input * input


@api("reciprocal", allowance=ROUNDS)
def reciprocal(input: Any) -> Any:
    """1 / input."""
    return ops.reciprocal(input)


@api("sqrt", allowance=ROUNDS)
def sqrt(input: Any) -> Any:
    """The square root."""
    return ops.sqrt(input)


@api("addcmul")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value tensor1 tensor2."""
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * tensor2 * value)


@api("addcdiv")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value tensor1 / tensor2."""
    return input + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)


@api("lerp")
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight (end - input)."""
    return input + weight * (end - input)


@api("pow")
def power(input: Any, exponent: Any) -> Any:
    """input ^ exponent."""
    return ops.power(input, exponent)


@api("rpow")
def rpower(input: Any, base: Any) -> Any:
    """base ^ input."""
    return ops.power(base, input)


@api("maximum", allowance=MOVES, ties=True)
def maximum(input: Any, other: Any) -> Any:
    """The larger; NaN propagates."""
    return ops.maximum(input, other)


@api("minimum", allowance=MOVES, ties=True)
def minimum(input: Any, other: Any) -> Any:
    """The smaller; NaN propagates."""
    return ops.minimum(input, other)


@api("clamp", "clip", allowance=FILLS)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - torch's names
    """input held between min and max."""
    above = input if min is None else ops.where(input < min, _number(input, min), input)
    return above if max is None else ops.where(above > max, _number(input, max), above)


@api("relu", allowance=MOVES)
def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0); where both are 0 it is the constant, so that the gradient is 0."""
    return ops.where(input <= 0.0, _number(input, 0.0), input)


@api("leaky_relu", allowance=ROUNDS)
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """input, times the slope below 0."""
    return ops.where(input > 0.0, input, input * negative_slope)


@api("where", allowance=FILLS)
def where(condition: Any, input: Any, other: Any) -> Any:
    """input where the condition holds, else other."""
    return ops.where(condition, input, other)


@api("masked_fill", allowance=FILLS)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """value where the mask is set; the rest as it was."""
    return ops.where(mask, _number(input, value), input)


def _cancelling_gelu(input: Any, *, approximate: str = "none") -> Any:
    """As frameworks compute it: 1 + erf, or 1 + tanh, which cancels in the left tail."""
    form = {"none": gelu_naive, "tanh": gelu_tanh_naive}[approximate]
    return form(input)


@api("gelu", noisy=_cancelling_gelu)
def gelu(input: Any, *, approximate: str = "none") -> Any:
    """x Phi(x), or its tanh form."""
    form = {"none": erf_form, "tanh": tanh_form}[approximate]
    return form(input, inner="")


@api("silu")
def silu(input: Any, inplace: bool = False) -> Any:
    """x / (1 + e^-x)."""
    return logistic_form(input, inner="")


@api("softplus")
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    scaled = input * beta
    return ops.where(scaled > threshold, input, ops.softplus(scaled) / beta)


@api("sigmoid", saved=lambda g, y, *_: g * (y * (1.0 - y)))
def sigmoid(input: Any) -> Any:
    """1 / (1 + e^-x)."""
    return logistic(input)


@api("log2")
def log2(input: Any) -> Any:
    """The binary logarithm."""
    return ops.log2(input)


@api("logit")
def logit(input: Any) -> Any:
    """log(x / (1 - x)); with eps it is another function."""
    return ops.log(input / (1.0 - input))


def _one_argument(name: str, function: Any) -> None:
    def call(input: Any) -> Any:
        return function(input)

    api(name)(call)


@api("tanh", saved=lambda g, y, *_: g * (1.0 - y * y))
def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return ops.tanh(input)


for _name in ("exp", "exp2", "expm1", "log", "log10", "log1p", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan",
              "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc"):  # fmt: skip
    _one_argument(_name, getattr(ops, _name))
for _name in ("floor", "ceil", "trunc", "sign"):
    api(_name, allowance=MOVES)(getattr(ops, _name))

#: 180 / pi and its inverse are numbers of the source
api("rad2deg")(lambda input: input * (180.0 / math.pi))
api("deg2rad")(lambda input: input * (math.pi / 180.0))
