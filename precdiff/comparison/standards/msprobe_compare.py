"""Standard `msprobe-compare`: the column "Accuracy Reached or Not" of msprobe compare.

    not reached where  cosine < 0.99 and largest |error| > 0.001,  or cosine < 0.9,  or largest |error| > 1

Numbers: msprobe 8.x, core/compare/check.py (26.x judges rows by how a figure falls from an operator's inputs to its
outputs instead). Both all zero is a cosine of 1, one alone is not reached; a single element has no cosine.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard
from precdiff.comparison.whole import (
    Angle,
    Counts,
    Decision,
    Outcome,
    Sizes,
    Span,
    Whole,
    Worst,
    all_of,
    any_of,
    of_tensor,
)
from precdiff.formats import Format

COSINE, LEAST_COSINE = 0.99, 0.9
ERROR, LARGEST_ERROR = 0.001, 1.0
#: elements from this relative error on are shown: without any the cosine is 1
RELATIVE = 0.001


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return (
        f"cosine >= {COSINE:g} or largest error <= {ERROR:g}; "
        f"cosine >= {LEAST_COSINE:g} and largest error <= {LARGEST_ERROR:g}"
    )


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements that turn the vector, or are beyond the largest error."""
    error = np.abs(elements.error)
    allowed = np.minimum(RELATIVE * np.abs(elements.truth), LARGEST_ERROR)
    return Judgement.of(error > allowed, error, allowed)


class Reached:
    """Cosine and largest error of one tensor."""

    def __init__(self, format: Format) -> None:
        self._format, self._angle, self._worst = format, Angle(format), Worst()

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        sizes = Sizes.of(elements)
        self._angle.add(elements)
        self._worst.add(sizes.error, sizes.error_high)

    def decide(self, counts: Counts) -> Decision:
        """Both clauses have to hold."""
        cosine, worst = cosine_of(self._angle, counts), self._worst.span()
        clauses = [
            any_of([_at_least(cosine, COSINE), worst.within(ERROR)]),
            _at_least(cosine, LEAST_COSINE),
            worst.within(LARGEST_ERROR),
        ]
        said = "none of one element" if cosine is None else f"{cosine}"
        found = f"{rule(Limits(), self._format)}: cosine {said}, largest error {worst}"
        return of_tensor(all_of(clauses), found, counts, worst.high / LARGEST_ERROR)


def cosine_of(angle: Angle, counts: Counts) -> Span | None:
    """The cosine as msprobe has it: none of one element, 1 where both are zero, -1 for one that is."""
    if counts.compared == 1:
        return None
    if not angle.actual_moves and not angle.expected_moves:
        return Span(1.0, 1.0)
    return angle.span() if angle.actual_moves and angle.expected_moves else Span(-1.0, -1.0)


def _at_least(cosine: Span | None, least: float) -> Outcome:
    if cosine is None or cosine.low >= least:
        return "pass"
    return "undecided" if cosine.high >= least else "fail"


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """Cosine and largest error decide."""
    return Reached(format)


ACCOUNT = Account(
    "cosine and largest absolute error of the tensor",
    "not reached: cosine < 0.99 and error > 0.001, or cosine < 0.9, or error > 1",
    "msprobe 8.x, 'Accuracy Reached or Not' (core/compare)",
    "the cosine: a factor 1.01, an offset on values around 100 and a wrong element in 65,536 leave it at 1.000; "
    "tensors of small values pass whatever they hold",
)
STANDARDS.add(
    "msprobe-compare",
    Standard("msprobe-compare", rule, judge, ACCOUNT, whole, floats_only=True, takes=()),
)
