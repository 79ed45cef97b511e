"""What the functions of exponentials, trigonometry, hyperbolic, nearest and remainders are, written anew for the tests.

mpmath's own functions at enough bits, Fractions where the result is rational, and the special values as tables read
from IEEE 754-2019 9.2.1 and C23 Annex F.10. Nothing of the rows is used.
"""

import math
from fractions import Fraction

import mpmath

M = mpmath.MPContext()
INF, NAN = math.inf, math.nan
HUGE = Fraction(2) ** 5000
#: a multiple of pi that is no number of any format
PI = "pi"

#: name -> (at +inf, at -inf), as multiples of pi where a tuple
AT_INFINITY = {
    "exp2": (INF, 0.0), "log2": (INF, NAN), "log10": (INF, NAN), "cbrt": (INF, -INF), "sin": (NAN, NAN),
    "cos": (NAN, NAN), "tan": (NAN, NAN), "asin": (NAN, NAN), "acos": (NAN, NAN), "sinh": (INF, -INF),
    "atan": ((PI, Fraction(1, 2)), (PI, Fraction(-1, 2))), "cosh": (INF, INF), "asinh": (INF, -INF),
    "acosh": (INF, NAN), "atanh": (NAN, NAN), "erfc": (0.0, 2.0),
}  # fmt: skip
#: name -> where it is defined; poles with their sign
DOMAIN = {
    "log2": lambda x: x > 0, "log10": lambda x: x > 0, "asin": lambda x: abs(x) <= 1, "acos": lambda x: abs(x) <= 1,
    "acosh": lambda x: x >= 1, "atanh": lambda x: abs(x) < 1,
}  # fmt: skip
POLES = {("log2", 0): -INF, ("log10", 0): -INF, ("atanh", 1): INF, ("atanh", -1): -INF}
#: f(-x) = -f(x), so that f(-0) = -0
ODD = "cbrt sin tan asin atan sinh asinh atanh".split()
UNARY = list(AT_INFINITY)
BINARY = "hypot atan2".split()
FUNCTIONS = [*UNARY, *BINARY]


def fraction(value):
    """An mpf as a Fraction."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def of_pi(multiple):
    with M.workprec(2500):
        return fraction(M.pi) * multiple


def exact(name, *args):
    """The function at fp64 numbers: a Fraction (rational, or of 200 bits or more), or a float at specials and zeros."""
    return _unary(name, *args) if name in AT_INFINITY else _OF_TWO[name](*args)


def _unary(name, x):
    if math.isnan(x):
        return NAN
    if math.isinf(x):
        value = AT_INFINITY[name][x < 0]
        return of_pi(value[1]) if isinstance(value, tuple) else value
    if (name, x) in POLES:
        return POLES[name, x]
    if not DOMAIN.get(name, lambda x: True)(x):
        return NAN
    if x == 0 and name in ODD:
        return x
    return _rational(name, x) or _real(name, x)


def _rational(name, x):
    """Where the function is rational, or beyond every format."""
    ratio = Fraction(x)
    if name == "exp2" and (abs(x) > 4000 or ratio.denominator == 1):
        return Fraction(2) ** int(max(min(x, 5000), -5000))
    if name in ("sinh", "cosh") and abs(x) > 3000:
        return HUGE if x > 0 or name == "cosh" else -HUGE
    if name == "erfc" and (x > 60 or x < -20):
        return 1 / HUGE if x > 0 else 2 - 1 / HUGE
    if name == "log2" and math.frexp(x)[0] == 0.5:
        return Fraction(math.frexp(x)[1] - 1)
    if name == "log10" and round(math.log10(x)) >= 0 and Fraction(10) ** round(math.log10(x)) == ratio:
        return Fraction(round(math.log10(x)))
    if name == "cbrt":
        root = Fraction(round(abs(ratio) ** Fraction(1, 3) * 2**20), 2**20) * (1 if x > 0 else -1)
        return root if root**3 == ratio else None
    return None


def _real(name, x):
    # near 0 the odd functions and cos, cosh differ from x and 1 by x^2; far out erfc from 2 by exp(-x^2)
    M.prec = 300 + 4 * max(0, -math.frexp(x)[1]) + (int(1.5 * x * x) if name == "erfc" and x < 0 else 0)
    argument = M.mpf(x)
    if name == "cbrt":
        return fraction(M.cbrt(argument)) if x > 0 else -fraction(M.cbrt(-argument))
    if name == "exp2":
        return fraction(M.exp(argument * M.ln(2)))
    if name in ("log2", "log10"):
        return fraction(M.ln(argument) / M.ln(int(name[3:])))
    value = fraction(getattr(M, name)(argument))
    return value or 0.0


def _hypot(x, y):
    if math.isinf(x) or math.isinf(y):
        return INF
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0 or y == 0:
        return abs(Fraction(x)) + abs(Fraction(y)) or 0.0
    M.prec = 9000
    return fraction(M.sqrt(M.mpf(x) ** 2 + M.mpf(y) ** 2))


def _atan2(y, x):
    """IEEE 754-2019 9.2.1, case by case."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    side, forward = math.copysign(1, y), math.copysign(1, x) > 0
    if y == 0:
        return math.copysign(0.0, y) if forward else of_pi(Fraction(int(side)))
    if math.isinf(y):
        quarters = 2 if not math.isinf(x) else 1 if forward else 3
        return of_pi(Fraction(int(side) * quarters, 4))
    if math.isinf(x):
        return math.copysign(0.0, y) if forward else of_pi(Fraction(int(side)))
    if x == 0:
        return of_pi(Fraction(int(side), 2))
    M.prec = 300 + 4 * max(0, math.frexp(x)[1] - math.frexp(y)[1])
    return fraction(M.atan2(M.mpf(y), M.mpf(x)))


_OF_TWO = {"hypot": _hypot, "atan2": _atan2}


def _signed(value, x):
    """A rational with the zero of the sign of x."""
    return float(value) if value else math.copysign(0.0, x)


def _whole(rounds):
    return lambda x: x if not math.isfinite(x) else _signed(Fraction(rounds(Fraction(x))), x)


def _remainder(quotient):
    def value(x, y):
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
            return NAN
        if math.isinf(y):
            return x
        return _signed(Fraction(x) - Fraction(y) * quotient(Fraction(x) / Fraction(y)), x)

    return value


def _key(v):
    return v, math.copysign(1, v)


def _of_numbers(choose):
    """A NaN is missing data; -0 lies below +0."""

    def value(x, y):
        numbers = [v for v in (x, y) if not math.isnan(v)]
        return choose(numbers, key=_key) if numbers else NAN

    return value


def _clip(x, low, high):
    if any(math.isnan(v) for v in (x, low, high)):
        return NAN
    return min([max([x, low], key=_key), high], key=_key)


#: exact functions: floats to a float
EXACT = {
    "floor": _whole(math.floor), "neg": lambda x: -x, "abs": abs,
    "ceil": _whole(math.ceil), "trunc": _whole(math.trunc), "round": _whole(round),
    "sign": lambda x: x if math.isnan(x) else float((x > 0) - (x < 0)),
    "clip": _clip, "fmod": _remainder(math.trunc), "remainder": _remainder(round),
    "copysign": lambda x, y: math.copysign(x, 1.0 if math.isnan(y) else y),
    "fmin": _of_numbers(min), "fmax": _of_numbers(max),
}  # fmt: skip

#: how many operands a function has
ARITY = {
    **dict.fromkeys([*UNARY, "floor", "neg", "abs", "ceil", "trunc", "round", "sign"], 1), "clip": 3,
    **dict.fromkeys([*BINARY, "fmod", "remainder", "copysign", "fmin", "fmax"], 2),
}  # fmt: skip
