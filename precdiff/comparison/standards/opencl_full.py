"""Standard `opencl-full`: the full profile of OpenCL, a limit in ULP for each function.

    |a - r| / ulp(r) <= limit      0 where a is r rounded to nearest; a subnormal r may be flushed to zero

ulp(r) is the gap between the two floats around r, at a power of two the one below it (Muller): half of what it is
elsewhere in PrecDiff. Limits: KhronosGroup/OpenCL-CTS, test_conformance/math_brute_force/function_list.cpp, 2026-08.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.functions import function_of, no_limit, parsed
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, decide
from precdiff.formats import Array, Format

#: name, then the limits in fp32, fp64 and fp16; - is unbounded or not in the suite
TABLE = parsed(
    """
    acos 4 4 2; acosh 4 4 2; acospi 5 5 2; add 0 0 0; asin 4 4 2; asinh 4 4 2; asinpi 5 5 2; atan 5 5 2; atan2 6 6 2;
    atan2pi 6 6 2; atanh 5 5 2; atanpi 5 5 2; cbrt 2 2 2; ceil 0 0 0; copysign 0 0 0; cos 4 4 2; cosh 4 4 2;
    cospi 4 4 2; divide 2.5 0 1; divide_cr 0 - -; erf 16 16 4; erfc 16 16 4; exp 3 3 2; exp10 3 3 2; exp2 3 3 2;
    expm1 3 3 2; fabs 0 0 0; fdim 0 0 0; floor 0 0 0; fma 0 0 0; fmax 0 0 0; fmin 0 0 0; fmod 0 0 0; fract 0 0 0;
    frexp 0 0 0; hypot 4 4 2; ilogb 0 0 0; ldexp 0 0 0; lgamma - - -; lgamma_r - - -; log 3 3 2; log10 3 3 2;
    log1p 2 2 2; log2 3 3 2; logb 0 0 0; mad - - -; maxmag 0 0 0; minmag 0 0 0; modf 0 0 0; multiply 0 0 0;
    nan 0 0 0; nextafter 0 0 0; pow 16 16 4; pown 16 16 4; powr 16 16 4; reciprocal 2.5 0 0; remainder 0 0 0;
    remquo 0 0 0; rint 0 0 0; rootn 16 16 4; round 0 0 0; rsqrt 2 2 1; signbit 0 0 0; sin 4 4 2; sincos 4 4 2;
    sinh 4 4 2; sinpi 4 4 2; sqrt 3 0 1.5; sqrt_cr 0 - -; subtract 0 0 0; tan 5 5 2.5; tanh 5 5 2; tanpi 6 6 2;
    tgamma 16 16 4; trunc 0 0 0
    """
)
FORMATS = ("fp32", "fp64", "fp16")
#: op of PrecDiff -> function of the table
ALIASES = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "power": "pow", "abs": "fabs", "minimum": "fmin",
    "maximum": "fmax",
}  # fmt: skip


def limit(limits: Limits, format: Format) -> float | None:
    """The limit of the function that made the tensor."""
    name = function_of(limits, "opencl-full", TABLE)
    row = TABLE.get(ALIASES.get(name, name))
    return row[FORMATS.index(format.name)] if row is not None and format.name in FORMATS else None


def silent(limits: Limits, format: Format) -> str:
    """Why there is nothing to say."""
    return "" if limit(limits, format) is not None else no_limit("opencl-full", limits.op, format)


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"error <= {limit(limits, format):g} ULP of {format} for {limits.op} (OpenCL full profile)"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    most, gaps = limit(limits, elements.format), _gaps(elements)
    error = np.where(elements.value == elements.rounded[0], 0.0, elements.distance * gaps)
    judgement = decide(error, np.inf if most is None else most, elements.slack * gaps)
    subnormal = np.abs(elements.truth) < elements.format.min_normal
    return judgement.excuse(subnormal & (elements.value == 0.0))


def _gaps(elements: Elements) -> Array:
    """How many gaps around r an ulp is: 2 at a power of two of normal size."""
    size = np.abs(elements.truth)
    low = 0.0 if elements.lo is None else elements.lo * np.sign(elements.hi)
    with np.errstate(invalid="ignore"):
        power = (np.frexp(size)[0] == 0.5) & (size > elements.format.min_normal) & (low <= 0.0)
    return np.where(power, 2.0, 1.0)


ACCOUNT = Account(
    "every element within the function's ULP of the exact value; --op says which function it is",
    "75 functions in fp32, fp64, fp16: exp 3, 3, 2; log 3, 3, 2; pow 16, 16, 4; tanh 5, 5, 2; sqrt 3, 0, 1.5; "
    "divide 2.5, 0, 1; add, subtract, multiply, fma 0",
    "KhronosGroup/OpenCL-CTS, math_brute_force/function_list.cpp, 2026-08",
    "subnormal results may be zero; nothing is said of sums, matmul, whole kernels, or bf16",
)
STANDARDS.add(
    "opencl-full",
    Standard("opencl-full", rule, judge, ACCOUNT, floats_only=True, takes=("op",), silent=silent),
)
