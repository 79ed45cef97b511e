"""pow(x, y) = x^y as Ascend kernels compute it, exp(y ln |x|), in five variants: the case study.

    v1  every step in the inputs' format (the defect)          v3  inside as v1, exp delivered in fp32
    v2  inputs widened, fp32 inside, cast back at the end      v4  fp32 inside and out
    v5  fp32 with ln x = hi + lo, y ln x = hi + lo, and exp(hi) (1 + lo)

Special values are IEEE 754-2019 9.2.1's and the same in all variants. Source of the cast points: seeds 8 (the CANN
experimental Pow widens 16-bit inputs to fp32 and casts back).
"""

from __future__ import annotations

from precdiff.errors import UnknownNameError
from precdiff.kernels.kernel import kernel
from precdiff.kernels.log_pair import log_pair
from precdiff.machine import Tensor
from precdiff.ops import abs_, cast, exp, floor, fma, log, power, reciprocal, where

_INF, _NAN = float("inf"), float("nan")


def _intended(x: Tensor, y: Tensor, *, variant: str = "v1") -> Tensor:
    return power(x, y)


@kernel(
    name="pow", reference=_intended,
    examples={"x": "uniform(0.1,10,shape=(4096,))", "y": "uniform(-4,4,shape=(4096,))"},
)  # fmt: skip
def pow_(x: Tensor, y: Tensor, *, variant: str = "v1") -> Tensor:
    """x^y elementwise; `variant` v1 ... v5."""
    if variant not in _VARIANTS:
        raise UnknownNameError("variant of pow", variant, _VARIANTS)
    magnitude = _VARIANTS[variant](abs_(x), y)
    return _special_values(x, y, magnitude)


def _narrow(x: Tensor, y: Tensor) -> Tensor:
    ln = log(x)
    product = y * ln
    return exp(product)


def _widened(x: Tensor, y: Tensor) -> Tensor:
    return cast(_wide(x, y), x.format)


def _narrow_then_wide(x: Tensor, y: Tensor) -> Tensor:
    ln = log(x)
    product = y * ln
    return exp(cast(product, "fp32"))


def _wide(x: Tensor, y: Tensor) -> Tensor:
    return _narrow(cast(x, "fp32"), cast(y, "fp32"))


def _compensated(x: Tensor, y: Tensor) -> Tensor:
    x, y = cast(x, "fp32"), cast(y, "fp32")
    hi, lo = log_pair(x)
    product = y * hi
    rest = fma(y, hi, -product) + y * lo
    e = exp(product)
    # beyond exp's range rest is inf - inf; e is already the answer
    return where(abs_(product) < 128.0, e * (1.0 + rest), e)


_VARIANTS = {"v1": _narrow, "v2": _widened, "v3": _narrow_then_wide, "v4": _wide, "v5": _compensated}


def _special_values(x: Tensor, y: Tensor, magnitude: Tensor) -> Tensor:
    """What |x|^y by exp and log leaves to be done: the sign, NaN for a root of a negative number, and the ones."""
    integer = floor(y) == y
    odd = where(integer, floor(y * 0.5) * 2.0 != y, integer)
    # the sign bit, also of -0, whose reciprocal is -inf
    negative = where(x < 0.0, x < 0.0, reciprocal(x) < 0.0)
    signed = where(where(negative, odd, negative), -magnitude, magnitude)
    finite_negative = where(x < 0.0, x != -_INF, x < 0.0)
    real = where(where(finite_negative, floor(y) != y, finite_negative), _NAN, signed)
    always_one = where(y == 0.0, y == 0.0, where(x == 1.0, x == 1.0, where(x == -1.0, abs_(y) == _INF, x == -1.0)))
    return where(always_one, 1.0, real)
