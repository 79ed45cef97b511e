"""Standard `bitwise`: the same value, the same zero, NaN where NaN is expected.

Against a reference that is the exact result rounded once (nearest, ties to even). NaN payloads are not compared: IEEE
754 leaves them open. The error is in ULP, the limit 0 beyond rounding once.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard
from precdiff.formats import Array, Format


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"the expected value rounded once to {format}, bit for bit"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    over = _differs(elements)
    maybe = np.zeros(len(elements), bool)
    if elements.radius is not None:
        next_to_tie = elements.rounded[1] + elements.slack >= 0.5
        maybe = next_to_tie & (elements.radius > 0.0) & (elements.distance - elements.slack <= 0.5)
    return Judgement(over & ~maybe, maybe, elements.distance, np.broadcast_to(elements.rounded[1], maybe.shape))


def _differs(elements: Elements) -> Array:
    """Elements that are not RN(r): integers by difference, since 64 bits do not fit fp64."""
    if not elements.format.is_float:
        return elements.distance > elements.rounded[1]
    nearest = elements.rounded[0]
    different = elements.value != nearest
    zeros = (elements.value == 0.0) & (nearest == 0.0)
    return different | (zeros & (np.signbit(elements.value) != np.signbit(nearest)))


ACCOUNT = Account(
    "the expected value rounded once, bit for bit; NaN where NaN is expected",
    "0 beyond rounding once",
    "IEEE 754-2019, roundTiesToEven",
    "nothing in the values; it fails every other order of summation, which is no fault",
)
STANDARDS.add("bitwise", Standard("bitwise", rule, judge, ACCOUNT))
