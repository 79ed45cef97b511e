"""RealArray: what a reference knows of each element. Specials are not reals (DESIGN 3).

kind 0  finite      the real lies in [hi + lo - radius, hi + lo + radius]; hi + lo is an unevaluated fp64 pair
kind 1  +inf        exactly that (a pole or an infinite input), or certified beyond fp64's range, where every format
kind 2  -inf        overflows alike
kind 3  NaN         certified invalid
kind 4  unknown     unbounded or undecided; hi, lo and radius mean nothing
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from precdiff.formats import Format, is_representable, to_bits, ulp, widen
from precdiff.rounding import Rounding, arithmetic, round_array

FINITE, POSITIVE_INFINITY, NEGATIVE_INFINITY, NAN, UNKNOWN = range(5)


@dataclass(frozen=True)
class RealArray:
    """Equal-shaped arrays: hi, lo, radius in fp64, kind in uint8."""

    hi: np.ndarray
    lo: np.ndarray
    radius: np.ndarray
    kind: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape."""
        return self.hi.shape

    def values(self) -> np.ndarray:
        """The nearest fp64 numbers, with infinities and NaN for the specials; unknown elements are NaN."""
        specials = np.array([0.0, np.inf, -np.inf, np.nan, np.nan])
        return np.where(self.kind == FINITE, np.where(self.lo == 0, self.hi, self.hi + self.lo), specials[self.kind])

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """fp64 ends around each element: equal where it is known exactly, NaN for NaN, (-inf, inf) for unknown."""
        point = (self.radius == 0) & (self.lo == 0)
        with np.errstate(invalid="ignore", over="ignore"):
            low = np.nextafter(self.hi + (self.lo - self.radius), -np.inf)
            high = np.nextafter(self.hi + (self.lo + self.radius), np.inf)
        finite, values, unknown = self.kind == FINITE, self.values(), self.kind == UNKNOWN
        ends = (np.where(finite, np.where(point, self.hi, end), values) for end in (low, high))
        low, high = ends
        return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)

    def exact_values(self, format: Format) -> tuple[np.ndarray, np.ndarray]:
        """(carriers, where the element is exactly that value of the format); 0 elsewhere, and for NaN."""
        exact = (self.radius == 0) & (self.kind < NAN)
        if format.is_float:
            values = self.values()
            known = exact & (self.lo == 0) & is_representable(values, format)
            return np.where(known, values, 0.0).astype(format.carrier), known
        pairs = zip(self.hi.ravel(), self.lo.ravel(), strict=True)
        whole = np.array([int(high) + int(low) for high, low in pairs], object).reshape(self.shape)
        low, high = format.integer_range
        known = exact & (self.kind == FINITE) & (whole >= low).astype(bool) & (whole <= high).astype(bool)
        return np.where(known, whole, 0).astype(format.carrier), known

    def radius_ulp(self, format: Format) -> np.ndarray:
        """The radius in ulps of `format`; 0 for certified specials, inf for unknown elements."""
        with np.errstate(all="ignore"):
            radius = self.radius / ulp(np.where(self.kind == FINITE, self.hi, 0.0), format)
        return np.where(self.kind == FINITE, radius, np.where(self.kind == UNKNOWN, np.inf, 0.0))

    def rounded(self, rounding: Rounding, rng: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(values rounded once to `rounding`, where that is decided): both ends of the radius must round alike.

        An undecided real counts as the middle of its ball: what no precision tells from a boundary lies on it. A
        stochastic rounding is a draw, never undecided.
        """
        middle = self._ends(rounding, np.where(np.abs(self.lo) <= self.radius, 0.0, self.lo), rng)
        if rounding.direction == "stochastic":
            return middle, self.kind != UNKNOWN
        with np.errstate(all="ignore"):
            low = self._ends(rounding, np.nextafter(self.lo - self.radius, -np.inf))
            high = self._ends(rounding, np.nextafter(self.lo + self.radius, np.inf))
        equal = to_bits(low, rounding.format) == to_bits(high, rounding.format)
        decided = np.asarray((equal | np.isnan(low)) & (self.kind != UNKNOWN))
        return np.where(decided, low, middle), decided

    def _ends(self, rounding: Rounding, rest: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """hi + rest rounded; specials, and reals known exactly, by themselves."""
        pair = arithmetic.add(self.hi, np.where(self.radius == 0, self.lo, rest), rounding, rng)
        alone = (self.kind != FINITE) | ((self.radius == 0) & (self.lo == 0))
        # adding 0 would lose the sign of -0
        return np.where(alone, round_array(self.values(), rounding, rng), pair)

    def where(self, mask: np.ndarray, other: RealArray) -> RealArray:
        """`other` where the mask holds, self elsewhere."""
        pairs = ((self.hi, other.hi), (self.lo, other.lo), (self.radius, other.radius), (self.kind, other.kind))
        return RealArray(*(np.where(mask, theirs, mine) for mine, theirs in pairs))


def exactly(values: np.ndarray) -> RealArray:
    """The RealArray of known numbers."""
    wide, low = widen(np.asarray(values))
    kind = np.where(np.isnan(wide), NAN, np.where(np.isposinf(wide), 1, np.where(np.isneginf(wide), 2, FINITE)))
    zeros = np.zeros(wide.shape)
    return RealArray(np.where(kind == FINITE, wide, 0.0), zeros if low is None else low, zeros, kind.astype(np.uint8))
