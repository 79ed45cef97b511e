"""One chunk of a comparison: everything metrics and standards ask about its elements, computed when first asked.

With a the actual value, r = hi + lo the expected one and ulp(r) the spacing of the actual's format there,

    ulps = (a - r) / ulp(r)              signed, infinities on the continued number line (formats/ulp.py)
    error = a - r = ulps * ulp(r)        the scaling is exact
    floor = |RN(r) - r| / ulp(r)         what rounding the exact result once costs: unavoidable

where RN rounds to nearest, ties to even. An element is *number against number*, *agreed* (the same infinity, or what
overflow makes of r, NaN against NaN: the error is 0, up to the half ulp of rounding to infinity), *mismatched*
(non-finite where RN(r) is finite, the reverse, or the wrong special) or *skipped* (nothing is known of r). All in
fp64. This file must not know limits or verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from precdiff.comparison.expected import FINITE, UNDECIDED
from precdiff.comparison.figures import Figures, figures_of, measured
from precdiff.comparison.pieces import Rows
from precdiff.formats import Array, Format, quantum, signed_ulp_error, widen

#: elements a chunk: an fp64 temporary takes 256 KiB and stays in a core's second-level cache
CHUNK = 1 << 15

Overflow = Literal["ieee", "saturate"]

#: what the kinds of elements (expected.py) stand for, apart from finite ones
_SPECIALS = np.array([0.0, np.inf, -np.inf, np.nan, np.nan])


@dataclass(frozen=True)
class Conventions:
    """How non-finite values are read: what the declared arithmetic does on overflow, and whether NaN equals NaN."""

    overflow: Overflow = "ieee"
    equal_nan: bool = True


class Elements:
    """A chunk of elements (module docstring); all arrays are one-dimensional and of the chunk's length."""

    def __init__(
        self, rows: Rows, chunk: slice, format: Format, conventions: Conventions, representable: bool,
        fast: bool = False,
    ) -> None:  # fmt: skip
        self.chunk, self.format, self._conventions = chunk, format, conventions
        #: the same chunk of what a peer gave, against the same expected values; None where there is no peer
        self.peer: Elements | None = None
        #: whether every expected value is one of the format's own, so that rounding it costs nothing
        self.representable = representable
        #: whether numba's twins may do the work
        self.fast = fast
        place = slice(chunk.start - rows.first, chunk.stop - rows.first)
        self.actual, self._expected = np.atleast_1d(rows.actual[place]), np.atleast_1d(rows.hi[place])
        self._plain = rows.plain
        self.radius: Array | None = None
        self.unusable: Array | None = None
        if not self._plain:
            self._apply_reference(rows, place)

    def __len__(self) -> int:
        return int(self.actual.size)

    def _apply_reference(self, rows: Rows, place: slice) -> None:
        if rows.lo is not None:
            self.lo = np.atleast_1d(rows.lo[place])
        if rows.radius is not None:
            self.radius = np.nan_to_num(np.atleast_1d(rows.radius[place]), nan=np.inf, posinf=np.inf)
        if rows.kind is not None:
            self._apply_kinds(np.atleast_1d(rows.kind[place]))

    @cached_property
    def value(self) -> Array:
        """The actual value in fp64."""
        return widen(self.actual)[0]

    @cached_property
    def hi(self) -> Array:
        """The expected value in fp64."""
        return widen(self._expected)[0]

    @cached_property
    def lo(self) -> Array | None:
        """What of the expected value fp64 does not hold; None for nothing."""
        return widen(self._expected)[1]

    @cached_property
    def _measured(self) -> tuple[Array, Figures] | None:
        """ULP errors and figures by numba's twin, where it applies."""
        if not (self.fast and self._plain):
            return None
        return measured(self.actual, self._expected, self.format, self.representable, self._limit)

    @cached_property
    def figures(self) -> Figures:
        """What metrics put together."""
        if self._measured is not None:
            return self._measured[1]
        ulps = self.ulps if self.numbers is None else self.ulps[self.numbers]
        floor = None if self.representable else self.floor
        return figures_of(self.number_count, self.found, self.truth, self.error, ulps, floor, self.spacing)

    def _apply_kinds(self, kind: Array) -> None:
        """Write specials into hi; of undecided elements nothing is known."""
        special = kind != FINITE
        if not special.any():
            return
        self.hi = np.where(special, _SPECIALS[kind], self.hi)
        unusable = kind == UNDECIDED
        self.unusable = unusable if unusable.any() else None
        if self.lo is not None:
            self.lo = np.where(special, 0.0, self.lo)
        if self.radius is not None:
            self.radius = np.where(special, 0.0, self.radius)

    @cached_property
    def spacing(self) -> Array:
        """ulp(r) in fp64; 1 for integers and bool."""
        return quantum(self.hi, self.format)

    @cached_property
    def ulps(self) -> Array:
        """Signed ULP error of every element; +inf for NaN against a number, 0 where NaN or saturation agree."""
        if self._measured is not None:
            return self._measured[0]
        if not self.format.is_float:
            return self._integer_error()
        reference = self.hi if self.lo is None else (self.hi, self.lo)
        ulps = signed_ulp_error(self.actual, reference, self.format)
        if self._ordinary:
            return ulps
        saturated = self._agreed & np.isfinite(self.value)
        return np.where(self._both_nan, 0.0 if self._conventions.equal_nan else np.inf, np.where(saturated, 0.0, ulps))

    def _integer_error(self) -> Array:
        value_low = widen(self.actual)[1]
        error = (self.value - self.hi) + ((np.zeros(1) if value_low is None else value_low) - self._low)
        return np.where(np.isnan(error), np.inf, error)

    @property
    def _low(self) -> Array:
        return np.zeros(1) if self.lo is None else self.lo

    @cached_property
    def distance(self) -> Array:
        """|ulps|."""
        return np.abs(self.ulps)

    @cached_property
    def slack(self) -> Array | float:
        """The reference's radius in ULP."""
        if self.radius is None:
            return 0.0
        with np.errstate(over="ignore"):
            return self.radius / self.spacing

    @cached_property
    def error(self) -> Array:
        """Signed error a - r where both are numbers, else 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            error = self.ulps * self.spacing
        return error if self.numbers is None else np.where(self.numbers, error, 0.0)

    @cached_property
    def found(self) -> Array:
        """The actual value where both are numbers, else 0."""
        return self.value if self.numbers is None else np.where(self.numbers, self.value, 0.0)

    @cached_property
    def truth(self) -> Array:
        """The expected value (hi) where both are numbers, else 0."""
        return self.hi if self.numbers is None else np.where(self.numbers, self.hi, 0.0)

    @cached_property
    def rounded(self) -> tuple[Array, Array]:
        """RN(r), and its distance from r in ULP (0 where the expected values are representable)."""
        if self.representable:
            return self.hi, np.zeros(1)
        with np.errstate(invalid="ignore"):
            units = self.hi / self.spacing
            below = np.floor(units)
            rest = units - below
            tie_up = (self._low > 0) | ((self._low == 0) & (below % 2 != 0))
            up = (rest > 0.5) | ((rest == 0.5) & tie_up)
            distance = np.abs(rest - up + self._low / self.spacing)
            nearest = np.copysign((below + up) * self.spacing, self.hi)
        return np.where(np.isfinite(units), nearest, self.hi), np.where(np.isfinite(distance), distance, 0.0)

    @cached_property
    def floor(self) -> Array:
        """The unavoidable error in ULP where both are numbers, else 0."""
        floor = np.broadcast_to(self.rounded[1], self.value.shape)
        return floor if self.numbers is None else np.where(self.numbers, floor, 0.0)

    @cached_property
    def _limit(self) -> float:
        """The real from which on RN gives infinity: halfway between the largest number and 2^(emax + 1)."""
        if not self.format.is_float:
            return np.inf
        largest = self.format.max_finite
        with np.errstate(over="ignore"):
            return float(np.float64(largest) + quantum(np.array(largest), self.format) / 2)

    def _overflows(self, shift: Array | float = 0.0) -> Array:
        with np.errstate(invalid="ignore"):
            size = np.abs(self.hi) + shift
        outward = self._low * np.sign(self.hi)
        tie_overflows = self.format.max_significand % 2 == 1
        return (size > self._limit) | ((size == self._limit) & ((outward > 0) | ((outward == 0) & tie_overflows)))

    @cached_property
    def _ordinary(self) -> bool:
        """Whether no special value or overflow is near, which is the usual case and the fast one."""
        if self._measured is not None:
            return True
        widest = np.abs(self.hi).max(initial=0.0) + (0.0 if self.radius is None else self.radius.max(initial=0.0))
        return bool(self.unusable is None and widest < self._limit and np.isfinite(self.value).all())

    @cached_property
    def _target(self) -> Array:
        """What rounding the expected value once gives where that is special; r itself elsewhere."""
        largest = self.format.max_finite
        ieee = np.inf if self.format.has_inf else np.nan
        beyond = largest if self._conventions.overflow == "saturate" else ieee
        finite = np.isfinite(self.hi)
        return np.where(finite & self._overflows(), np.copysign(beyond, self.hi), self.hi)

    @cached_property
    def _agreed(self) -> Array:
        special = ~np.isfinite(self.value) | ~np.isfinite(self._target) | (self._target != self.hi)
        return special & ((self.value == self._target) | (self._both_nan & self._conventions.equal_nan))

    @cached_property
    def _both_nan(self) -> Array:
        return np.isnan(self.value) & np.isnan(self._target)

    @cached_property
    def skipped(self) -> Array | None:
        """Where nothing is known of the expected value, so that there is nothing to measure; None for nowhere."""
        return self.unusable

    @cached_property
    def mismatched(self) -> Array | None:
        """Where one side is not finite and the other is something else; None for nowhere."""
        if self._ordinary:
            return None
        special = ~np.isfinite(self.value) | ~np.isfinite(self._target)
        wrong = special & ~self._agreed
        for aside in (self.skipped, self.doubtful):
            wrong = wrong if aside is None else wrong & ~aside
        return wrong

    @cached_property
    def numbers(self) -> Array | None:
        """Where a number stands against a number; None for everywhere."""
        if self._ordinary:
            return None
        usable = np.isfinite(self.value) & np.isfinite(self._target) & ~self._agreed
        return usable if self.unusable is None else usable & ~self.unusable

    @cached_property
    def doubtful(self) -> Array | None:
        """Where the radius leaves open whether RN(r) is finite, or r is unknown; None for nowhere."""
        if self._ordinary:
            return None
        doubtful = np.zeros(len(self), bool) if self.unusable is None else self.unusable.copy()
        if self.radius is not None:
            doubtful |= (self._overflows(self.radius) != self._overflows(-self.radius)) & np.isfinite(self.hi)
        return doubtful

    @property
    def nan_pairs(self) -> int:
        """How many elements are NaN where NaN is expected, apart from those nothing is known of."""
        if self._ordinary:
            return 0
        pairs = np.isnan(self.value) & np.isnan(self.hi)
        return int(np.count_nonzero(pairs if self.unusable is None else pairs & ~self.unusable))

    @property
    def number_count(self) -> int:
        """How many elements are number against number."""
        return len(self) if self.numbers is None else int(np.count_nonzero(self.numbers))

    @property
    def special_target(self) -> Array:
        """RN(r) where it is not finite or overflowed, r elsewhere (for counting)."""
        return self.hi if self._ordinary else self._target
