"""Figures of a whole tensor, gathered chunk by chunk, and the decision that rests on them.

A figure is known to within the reference's radius: every one is kept as a span [low, high], from errors |a - r| -+
radius. A verdict holds where both ends agree, else it is undecided. Only elements where a number stands against a
number count; what holds for others is in compare.py. This file must not know any standard's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.figures import product
from precdiff.comparison.metric import ScaledSum
from precdiff.comparison.metrics.cosine import Cosine
from precdiff.formats import Array, Format

Outcome = Literal["pass", "fail", "undecided"]
#: worst first
_ORDER: tuple[Outcome, ...] = ("fail", "undecided", "pass")


class Counts(NamedTuple):
    """How many elements were compared, are beyond the limit, and may be beyond it within the radius."""

    compared: int
    over: int
    maybe: int


@dataclass(frozen=True)
class Decision:
    """The outcome, the rule that decided in words, and by what factor its limits would have to grow to let it pass."""

    outcome: Outcome | Literal["not_compared"]
    rule: str
    factor: float = math.inf
    #: whether the source's own verdict is a warning, which is no failure
    warning: bool = False
    #: whether the rule is about figures of the tensor: where it passes, no element is beyond it
    of_tensor: bool = False


class Whole(Protocol):
    """Sees every chunk of one tensor, and decides at the end."""

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""

    def decide(self, counts: Counts) -> Decision:
        """Say what follows from all of them; elements were compared."""


class Span(NamedTuple):
    """A figure known to lie from low to high."""

    low: float
    high: float

    def within(self, limit: float, strict: bool = False) -> Outcome:
        """Whether the figure is at most the limit (strict: below it)."""
        low, high = (self.low < limit, self.high < limit) if strict else (self.low <= limit, self.high <= limit)
        return "pass" if high else "undecided" if low else "fail"

    def above(self, limit: float) -> Outcome:
        """Whether the figure is above the limit."""
        return "pass" if self.low > limit else "undecided" if self.high > limit else "fail"

    def __str__(self) -> str:
        low, high = f"{self.low:.4g}", f"{self.high:.4g}"
        return low if low == high else f"{low} to {high}"


def all_of(outcomes: Sequence[Outcome]) -> Outcome:
    """What holds where every one has to pass."""
    return next((outcome for outcome in _ORDER if outcome in outcomes), "pass")


def any_of(outcomes: Sequence[Outcome]) -> Outcome:
    """What holds where one that passes is enough."""
    return next((outcome for outcome in reversed(_ORDER) if outcome in outcomes), "fail")


class Sizes(NamedTuple):
    """|error| and |expected| of the elements where number stands against number, each from low to high."""

    error: Array
    error_high: Array
    truth: Array
    truth_high: Array

    @classmethod
    def of(cls, elements: Elements) -> Sizes:
        """Of a chunk."""
        numbers = elements.numbers
        error, truth = np.abs(elements.error), np.abs(elements.truth)
        if numbers is not None:
            error, truth = error[numbers], truth[numbers]
        if elements.radius is None or not elements.radius.any():
            return cls(error, error, truth, truth)
        radius = elements.radius if numbers is None else elements.radius[numbers]
        low, smallest = np.maximum(error - radius, 0.0), np.maximum(truth - radius, 0.0)
        return cls(low, error + radius, smallest, truth + radius)

    def where(self, mask: Array) -> Sizes:
        """Of some of the elements."""
        return Sizes(*(part[mask] for part in self))

    def relative(self, eps: float = 0.0) -> tuple[Array, Array]:
        """|error| / (|expected| + eps), from low to high; 0 / 0 is 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high = self.error / (self.truth_high + eps), self.error_high / (self.truth + eps)
        return np.where(self.error == 0.0, 0.0, low), np.where(self.error_high == 0.0, 0.0, high)


class Share:
    """The share of compared elements beyond the limit: at most `allowed` (strict: less)."""

    def __init__(self, allowed: float, rule: str, strict: bool = False) -> None:
        self._allowed, self._rule, self._strict = allowed, rule, strict

    def add(self, elements: Elements) -> None:
        """Nothing to keep: the counts say it."""

    def decide(self, counts: Counts) -> Decision:
        """By the counts."""
        compared, over, maybe = counts
        span = Span(over / compared, (over + maybe) / compared)
        return Decision(span.within(self._allowed, self._strict), self._rule)


class Silent:
    """Nothing: why the tensor is not compared."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def add(self, elements: Elements) -> None:
        """Nothing to keep."""

    def decide(self, counts: Counts) -> Decision:
        """Not compared."""
        return Decision("not_compared", self._reason)


class Worst:
    """The largest of a figure."""

    def __init__(self) -> None:
        self._low = self._high = 0.0

    def add(self, low: Array, high: Array) -> None:
        """Take an array of it into account."""
        self._low = max(self._low, float(low.max(initial=0.0)))
        self._high = max(self._high, float(high.max(initial=0.0)))

    def span(self) -> Span:
        """The figure; 0 of nothing."""
        return Span(self._low, self._high)


class Mean:
    """The mean of a figure."""

    def __init__(self) -> None:
        self._low: list[float] = []
        self._high: list[float] = []
        self.count = 0

    def add(self, low: Array, high: Array) -> None:
        """Take an array of it into account."""
        with np.errstate(over="ignore"):
            self._low.append(float(np.sum(low)))
            self._high.append(float(np.sum(high)))
        self.count += low.size

    def span(self) -> Span:
        """The figure; 0 of nothing."""
        count = max(self.count, 1)
        return Span(math.fsum(self._low) / count, math.fsum(self._high) / count)


class Below:
    """The share of a figure's values below a threshold."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._sure = self._possible = self._count = 0

    def add(self, low: Array, high: Array) -> None:
        """Take an array of it into account."""
        self._sure += int(np.count_nonzero(high < self.threshold))
        self._possible += int(np.count_nonzero(low < self.threshold))
        self._count += low.size

    def span(self) -> Span:
        """The share; all of nothing."""
        return Span(self._sure / self._count, self._possible / self._count) if self._count else Span(1.0, 1.0)


class Beyond:
    """The share of elements whose figure is beyond their own limit, and how many that are."""

    def __init__(self) -> None:
        self.sure = self.possible = self._count = 0

    def add(self, low: Array, high: Array, least: Array | float, most: Array | float) -> None:
        """Take an array of it into account; the limits too are known from `least` to `most`."""
        self.sure += int(np.count_nonzero(low > most))
        self.possible += int(np.count_nonzero(high > least))
        self._count += low.size

    def share(self) -> Span:
        """The share; 0 of nothing."""
        count = max(self._count, 1)
        return Span(self.sure / count, self.possible / count)

    def count(self) -> Span:
        """How many."""
        return Span(self.sure, self.possible)


class Energy:
    """The sum of squares of a figure, as a binary logarithm (fp64's range is too narrow for squares)."""

    def __init__(self) -> None:
        self._low, self._high = ScaledSum(), ScaledSum()
        self._unknown = False

    def add(self, low: Array, high: Array) -> None:
        """Take an array of it into account."""
        finite = np.isfinite(high)
        self._unknown |= not finite.all()
        self._low.add(product(low, low))
        known = np.where(finite, high, 0.0)
        self._high.add(product(known, known))

    def log2(self) -> Span:
        """The logarithm; -inf of nothing."""
        return Span(self._low.log2(), math.inf if self._unknown else self._high.log2())


class Angle:
    """Cosine of the angle between actual and expected (metrics/cosine.py), as a span; NaN where either is zero.

    A reference that moves by R in the 2-norm moves the unit vector, and so the cosine, by at most 2 R / |r|.
    """

    def __init__(self, format: Format) -> None:
        self._cosine, self._expected, self._radius = Cosine(format), ScaledSum(), ScaledSum()
        self._unknown = False
        #: whether any actual, any expected value is not zero
        self.actual_moves = self.expected_moves = False

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        self._cosine.add(elements)
        self.actual_moves |= bool(elements.found.any())
        self.expected_moves |= bool(elements.truth.any())
        if elements.radius is not None:
            finite = np.isfinite(elements.radius)
            self._unknown |= not finite.all()
            radius = np.where(finite, elements.radius, 0.0)
            self._radius.add(product(radius, radius))
            self._expected.add(product(elements.truth, elements.truth))

    def span(self) -> Span:
        """The cosine."""
        cosine = self._cosine.results()["cosine"]
        if math.isnan(cosine):
            return Span(cosine, cosine)
        if self._unknown:
            return Span(-1.0, 1.0)
        radius = self._radius.log2()
        slack = 2.0 * 2.0 ** ((radius - self._expected.log2()) / 2) if radius > -math.inf else 0.0
        return Span(max(-1.0, cosine - slack), min(1.0, cosine + slack))


def of_tensor(outcome: Outcome, rule: str, counts: Counts, factor: float = math.inf, warning: bool = False) -> Decision:
    """A decision by figures: elements nothing is known of leave a pass open, and where it passes none is beyond."""
    open_ = outcome == "pass" and counts.maybe > 0
    return Decision("undecided" if open_ else outcome, rule, factor, warning, of_tensor=True)
