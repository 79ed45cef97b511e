"""Standards: rules that give a verdict, and the data they judge by.

A standard looks at a chunk of elements and at its limits - bounds, radii, kernel limits and a peer's output reach it as
data - and says which elements are beyond the limit, which would change sides within the reference's radius, and which
were let off. One whose rule is about the whole tensor also gathers figures and decides when all chunks went by
(whole.py). What holds under every standard (mismatched non-finite values fail, NaN against NaN agrees) is in
compare.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Literal, TypeVar

import numpy as np

from precdiff.comparison.elements import Conventions, Elements
from precdiff.comparison.expected import Flat
from precdiff.comparison.whole import Whole
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import Array, Format
from precdiff.registry import Registry

T = TypeVar("T")

#: what a standard reads of the caller's where its numbers are not published ones
TOLERANCES = ("max_ulp", "zero_atol", "atol", "rtol", "allow_fraction")


@dataclass(frozen=True)
class Limits:
    """What a tensor is judged by, as data; a standard reads the fields it needs."""

    #: role of the tensor (DESIGN 7), by which `auto` chooses
    role: str = ""
    #: standard `ulp`: largest ULP error, and what is excused near an expected zero or within atol + rtol |expected|
    max_ulp: float | None = None
    zero_atol: float = 0.0
    atol: float | None = None
    rtol: float | None = None
    #: share of the compared elements that may be beyond the limit (mismatched non-finite values never may); None: the
    #: standard's own
    allow_fraction: float | None = None
    #: standard `bound`: largest error of each element, a number or an array of the tensor's shape
    bound: Array | float | None = None
    bound_unit: Literal["ulp", "absolute"] = "ulp"
    #: standard `backward`: largest error as a share of the sum of |terms|, and those sums, one an element
    backward: float | None = None
    terms: Array | None = None
    #: the function computed, by which per-function limits are chosen: a name of ops/, or the table's own
    op: str = ""
    #: what a peer gave in place of the actual values, in the same format and shape
    peer: Array | None = None
    #: whether the first axis counts runs of one case on inputs of different seeds
    runs: bool = False
    #: how non-finite values are read
    conventions: Conventions = field(default_factory=Conventions)

    def at(self, chunk: slice, shape: tuple[int, ...]) -> Limits:
        """Cut the per-element data to a chunk of a tensor of that shape."""
        bound = None if self.bound is None else Flat(self.bound, shape)[chunk]
        terms = None if self.terms is None else Flat(self.terms, shape)[chunk]
        return replace(self, bound=bound, terms=terms)


@dataclass(frozen=True)
class Judgement:
    """What a standard says about a chunk: who is beyond the limit, who might be within the radius, who is let off."""

    over: Array
    maybe: Array
    #: error and limit in the standard's own unit: their largest ratio tells which limit would pass
    error: Array
    limit: Array | float
    excused: Array | None = None

    @classmethod
    def of(cls, over: Array, error: Array, limit: Array | float) -> Judgement:
        """Where nothing is left open."""
        return cls(over, np.zeros(over.shape, bool), error, limit)

    def excuse(self, excused: Array) -> Judgement:
        """Let off those elements beyond the limit (or undecided) that `excused` names."""
        off = excused & (self.over | self.maybe)
        return replace(self, over=self.over & ~off, maybe=self.maybe & ~off, excused=off)


@dataclass(frozen=True)
class Account:
    """What a standard is for people: its rule in a line, its numbers, where they are published, what it cannot see."""

    asks: str = ""
    numbers: str = ""
    source: str = ""
    blind: str = ""


@dataclass(frozen=True)
class Standard:
    """A rule as a value: its wording, its judgement over a chunk, and what it decides by when all chunks went by."""

    name: str
    rule: Callable[[Limits, Format], str]
    judge: Callable[[Elements, Limits], Judgement]
    account: Account = field(default_factory=Account)
    #: makes what gathers the figures of one tensor; None: the share of elements beyond the limit decides
    whole: Callable[[Limits, Format, tuple[int, ...]], Whole] | None = None
    #: whether integers and bool are judged by `bitwise` in its place, as the numbers are about floats
    floats_only: bool = False
    #: what of the caller's it reads (fields of Limits); a standard with published numbers reads no tolerances
    takes: tuple[str, ...] = TOLERANCES
    #: whether NaN where NaN is expected is a difference
    nan_differs: bool = False
    #: why it has nothing to say about a tensor, which then is not compared; empty where it has
    silent: Callable[[Limits, Format], str] | None = None


STANDARDS: Registry[Standard] = Registry("standard", "precdiff.comparison.standards")


def get_standard(name: str | Standard) -> Standard:
    """Return the standard called `name`; a Standard is returned as it is.

    >>> get_standard("ulp").name
    'ulp'
    """
    return name if isinstance(name, Standard) else STANDARDS[name]


def check_limits(**given: object) -> None:
    """Raise where a limit is no number of at least 0: nothing is within such a limit, and nothing beyond NaN.

    >>> check_limits(max_ulp=4.0, rtol=None)
    """
    for name, limit in given.items():
        if limit is not None and not (isinstance(limit, Real) and float(limit) >= 0.0):
            raise PrecDiffError(f"{name}: found {limit!r}; allowed is a number of at least 0")


def check_taken(standard: Standard, **given: bool) -> None:
    """Raise where something was given that the standard does not read: nobody should think it counted.

    >>> check_taken(get_standard("ulp"), max_ulp=True, peer=False)
    """
    surplus = next((name for name, there in given.items() if there and name not in standard.takes), None)
    if surplus is not None:
        readers = ", ".join(sorted(name for name, other in STANDARDS.items() if surplus in other.takes))
        raise PrecDiffError(
            f"{surplus}: standard {standard.name!r} does not read it"
            f"{', its numbers are published' if surplus in TOLERANCES else ''}. It goes with {readers}"
        )


def decide(error: Array, limit: Array | float, slack: Array | float) -> Judgement:
    """Compare an error known to within slack with a limit: beyond for certain, within for certain, or neither."""
    with np.errstate(invalid="ignore"):
        over = error - slack > limit
        within = error + slack <= limit
    return Judgement(over, ~(over | within), error + slack, limit)


def near(elements: Elements, atol: float, rtol: float) -> Judgement:
    """Judge |a - r| <= atol + rtol |r|."""
    radius = 0.0 if elements.radius is None else elements.radius
    return decide(np.abs(elements.error), atol + rtol * np.abs(elements.truth), radius * (1.0 + rtol))


def stated(number: float) -> str:
    """A limit as its source writes it: powers of two as such.

    >>> stated(2.0**-9), stated(0.001)
    ('2^-9', '0.001')
    """
    mantissa, exponent = math.frexp(number)
    return f"2^{exponent - 1}" if mantissa == 0.5 and number < 0.25 else f"{number:.6g}"


def numbers_for(table: Mapping[str, T], format: Format, standard: str) -> T:
    """Return a standard's row for a format; there is none for formats its source does not name."""
    if format.name not in table:
        raise NotComparableError(
            f"standard {standard!r} has no numbers for {format}; its source names {', '.join(table)}. Choose another "
            "standard, such as ulp"
        )
    return table[format.name]


def required(value: Array | float | None, name: str, standard: str) -> Array | float:
    """Return data a standard cannot do without."""
    if value is None:
        message = f"standard {standard!r} needs Limits.{name}, found none. Pass it, or choose another standard."
        raise PrecDiffError(message)
    return value
