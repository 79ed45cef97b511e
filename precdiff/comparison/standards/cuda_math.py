"""Standard `cuda-math`: the largest errors NVIDIA found in the fp32 functions of CUDA's library.

    floats between a and RN(r) <= limit        RN(r) the exact value rounded to nearest, ties to even

Numbers: CUDA programming guide, "Mathematical functions", as tabulated in intel/llvm, sycl/doc/cuda (an older edition).
NVIDIA calls them tested, not guaranteed. That they are against RN(r) hides up to half an ULP.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.functions import function_of, no_limit, parsed
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, decide
from precdiff.formats import Array, Format, ulp_distance

#: function -> the largest difference in fp32, with precise division and square root
TABLE = parsed(
    """
    x+y 0; x*y 0; 1/x 0; x/y 0; acos 3; asin 4; atan 2; atan2 3; acosh 4; asinh 3; atanh 3; cbrt 1; cos 2; cosh 2;
    cospi 2; erf 2; erfc 4; erfinv 2; erfcx 4; exp 2; exp2 2; exp10 2; expm1 1; fma 0; hypot 3; log 1; log2 1; log10 2;
    log1p 1; pow 8; rcbrt 1; rhypot 2; rsqrt 2; sin 2; sincos 2; sinh 3; sinpi 2; sqrt 0; tan 4; tanh 2; tgamma 11;
    normcdf 5; normcdfinv 5
    """
)
#: op of PrecDiff -> function of the table
ALIASES = {"add": "x+y", "sub": "x+y", "mul": "x*y", "div": "x/y", "reciprocal": "1/x", "power": "pow"}


def limit(limits: Limits, format: Format) -> float | None:
    """The limit of the function that made the tensor."""
    name = function_of(limits, "cuda-math", TABLE)
    row = TABLE.get(ALIASES.get(name, name))
    return None if row is None or format.name != "fp32" else row[0]


def silent(limits: Limits, format: Format) -> str:
    """Why there is nothing to say."""
    return "" if limit(limits, format) is not None else no_limit("cuda-math", limits.op, format)


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"at most {limit(limits, format):g} ULP from {limits.op} rounded once to {format} (CUDA math library)"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    most = limit(limits, elements.format)
    return decide(_between(elements), np.inf if most is None else most, _open(elements))


def _between(elements: Elements) -> Array:
    """How many floats lie between the actual value and RN(r)."""
    nearest = np.where(np.isfinite(elements.rounded[0]), elements.rounded[0], 0.0)
    found = elements.found if elements.numbers is None else np.where(elements.numbers, elements.value, nearest)
    return np.asarray(ulp_distance(found, nearest, elements.format), np.float64)


def _open(elements: Elements) -> Array:
    """By how many floats the radius lets RN(r) move; below a power of two they lie twice as close."""
    if elements.radius is None:
        return np.zeros(len(elements))
    nearest, off = elements.rounded
    beyond = np.where(np.frexp(nearest)[0] == 0.5, 2.0, 1.0) * (off + elements.slack) - 0.5
    return np.where((elements.radius > 0.0) & (beyond >= 0.0), np.floor(beyond) + 1.0, 0.0)


ACCOUNT = Account(
    "every element within the function's ULP of the correctly rounded value; --op says which function it is",
    "43 functions in fp32: exp 2, log 1, pow 8, sin 2, tanh 2, erf 2, rsqrt 2; + - * / sqrt fma 0",
    "CUDA programming guide, mathematical functions, as tabulated in intel/llvm, sycl/doc/cuda",
    "tested maxima, not guaranteed; up to half an ULP is hidden by the rounding of the expected value; fp32 only",
)
STANDARDS.add("cuda-math", Standard("cuda-math", rule, judge, ACCOUNT, floats_only=True, takes=("op",), silent=silent))
