"""+ - * / sqrt and fma, each the exact real result rounded once, in every direction, for arrays.

The plan of every operation: the result in fp64 and what that lost (hi, lo), rounded to odd, then rounded to the format
by `round_array`; rounding to odd makes the first rounding harmless (error_free.py). The shortcut: for nearest
directions, operands and result of p bits with 2p + 2 <= 53, plain fp64 is already harmless (Figueroa 1995) - not for
fma, not for directed directions. fp64 results leave no room for rounding twice: nearest-even is the host's own, the
others come from (hi, lo) at once. Operands whose size would break the error-free steps, and stochastic rounding to
fp64, go element by element through exact_arithmetic.py.

Special values follow IEEE 754-2019, clause 6 and 7: fp64 gives them, silently.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from precdiff.formats import Array, carrier, in_blocks
from precdiff.rounding.array import round_array
from precdiff.rounding.error_free import fused_in_two, round_pair, round_to_odd, two_product, two_sum
from precdiff.rounding.exact_arithmetic import HOST, evaluate
from precdiff.rounding.rounding import Rounding

Pair = tuple[Array, Array]
Rng = np.random.Generator | None


def add(a: object, b: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return a + b rounded once.

    >>> add([1.0], [2.0**-24], Rounding("fp16", "up")).tolist()
    [1.0009765625]
    """
    return _rounded_once("add", (a, b), rounding, rng)


def subtract(a: object, b: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return a - b rounded once.

    >>> subtract([1.0], [1.0], Rounding("fp16", "down")).tolist()
    [-0.0]
    """
    return _rounded_once("subtract", (a, b), rounding, rng)


def multiply(a: object, b: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return a * b rounded once.

    >>> multiply([3.0], [1.5], Rounding("fp16")).tolist()
    [4.5]
    """
    return _rounded_once("multiply", (a, b), rounding, rng)


def divide(a: object, b: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return a / b rounded once.

    >>> divide([1.0], [3.0], Rounding("bf16")).tolist()
    [0.333984375]
    """
    return _rounded_once("divide", (a, b), rounding, rng)


def sqrt(a: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return the square root of a rounded once.

    >>> sqrt([2.0], Rounding("fp16", "toward-zero")).tolist()
    [1.4140625]
    """
    return _rounded_once("sqrt", (a,), rounding, rng)


def fma(a: object, b: object, c: object, rounding: Rounding, rng: Rng = None) -> Array:
    """Return a * b + c rounded once.

    >>> fma([64 * (1 + 2.0**-18)], [1 - 2.0**-18], [2.0**30 + 128], Rounding("fp32")).tolist()
    [1073741952.0]
    """
    return _rounded_once("fma", (a, b, c), rounding, rng)


def _rounded_once(name: str, operands: tuple[object, ...], rounding: Rounding, rng: Rng) -> Array:
    with np.errstate(all="ignore"):
        return in_blocks(lambda *block: _once(name, list(block), rounding, rng), *map(carrier, operands))


def _once(name: str, sources: list[Array], rounding: Rounding, rng: Rng) -> Array:
    wide = [source.astype(np.float64, copy=False) for source in sources]
    if _plain_is_harmless(name, sources, rounding):
        return round_array(HOST[name](*wide), rounding, rng)
    narrow = all(source.dtype.itemsize < 8 for source in sources)
    leaves_no_room = rounding.format.p > 51
    if leaves_no_room and rounding.direction == "stochastic":
        return _elementwise(name, wide, rounding, rng)
    hi, lo = fused_in_two(*wide) if name == "fma" and not narrow else _ERROR_FREE[name](*wide)
    hi = _with_sign_of_zero(name, hi, wide, rounding)
    once = round_pair(hi, lo, rounding.direction) if leaves_no_room else round_to_odd(hi, lo)
    result = round_array(once, rounding, rng)
    return result if narrow else _repair_extremes(name, wide, hi, result, rounding, rng)


def _plain_is_harmless(name: str, sources: list[Array], rounding: Rounding) -> bool:
    """Say whether one fp64 operation followed by `round_array` rounds as if once."""
    fmt = rounding.format
    if fmt.name == "fp64":
        return rounding.direction == "nearest-even" and name != "fma"
    narrow = all(source.dtype.itemsize < 8 for source in sources)
    if not (narrow and rounding.is_nearest) or name == "fma":
        return False
    return name not in ("add", "subtract") or fmt.p == 24 or all(_has_width(source, fmt.p) for source in sources)


def _has_width(source: Array, p: int) -> bool:
    """Say whether every float32 element has at most p significand bits."""
    below = np.uint32(2 ** (24 - p) - 1)
    return not np.bitwise_and(np.asarray(source, np.float32).view(np.uint32), below).any()


#: stands for what a quotient or a root lost, of which only the sign is known; never half an ulp, for neither can tie
_TINY = 2.0**-1074


def _divide_with_remainder(a: Array, b: Array) -> Pair:
    quotient = a / b
    product, error = two_product(quotient, b)
    return quotient, _TINY * np.sign((a - product) - error) * np.sign(b)


def _sqrt_with_remainder(a: Array) -> Pair:
    root = np.sqrt(a)
    square, error = two_product(root, root)
    return root, _TINY * np.sign((a - square) - error)


_ERROR_FREE: dict[str, Callable[..., Pair]] = {
    "add": two_sum,
    "subtract": lambda a, b: two_sum(a, -b),
    "multiply": two_product,
    "divide": _divide_with_remainder,
    "sqrt": _sqrt_with_remainder,
    "fma": lambda a, b, c: two_sum(a * b, c),  # fp64 holds the product of two fp32 numbers
}


def _with_sign_of_zero(name: str, result: Array, operands: list[Array], rounding: Rounding) -> Array:
    """Give an exact sum of opposite numbers the sign IEEE 754-2019, 6.3 asks for: -0 when rounding down, else +0."""
    if rounding.direction != "down" or name not in ("add", "subtract", "fma"):
        return result
    first, second = (operands[0] * operands[1], operands[2]) if name == "fma" else operands
    opposite = np.signbit(first) != (np.signbit(second) ^ (name == "subtract"))
    return np.where((result == 0) & opposite, -0.0, result)


def _repair_extremes(name: str, operands: list[Array], hi: Array, result: Array, rounding: Rounding, rng: Rng) -> Array:
    """Redo exactly the elements with fp64 operands for which the error-free steps are not sure to hold."""
    doubtful = np.zeros(hi.shape, bool)
    for size in map(np.abs, (*operands, hi)):
        doubtful |= (size > 0) & ~((size >= 2.0**-450) & (size <= 2.0**450))
    if not doubtful.any():
        return result
    result = result.copy()
    result[doubtful] = _elementwise(name, [operand[doubtful] for operand in operands], rounding, rng)
    return result


def _elementwise(name: str, operands: list[Array], rounding: Rounding, rng: Rng) -> Array:
    rows = zip(*(operand.ravel().tolist() for operand in operands), strict=True)
    values = [evaluate(name, row, rounding, rng) for row in rows]
    return np.array(values, rounding.format.carrier).reshape(operands[0].shape)
