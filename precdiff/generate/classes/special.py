"""special: values with rules of their own. Zeros of both signs, infinities, NaN, subnormals, halves, powers of two.

An elementwise kernel gets every special value of one input with every one of the others. Any other kernel gets them one
at a time in one row of otherwise typical data, so that a value that spreads too far is seen in the rows beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.formats import Array
from precdiff.generate.cases import Draft, row
from precdiff.generate.distributions import special_values
from precdiff.generate.filling import combinations, filled
from precdiff.generate.subject import Subject

IEEE = "IEEE 754-2019, 6.1-6.3 and 9.2.1; CANN opbase standard: nan, inf, -inf and mixed inputs"
ROUNDING = "IEEE 754-2019, 4.3.1: a half is a tie of the conversion to an integer"

#: as many powers of two, spread over the exponents, as make the pairs of two inputs a thousand
_POWERS = 32


@row(IEEE)
def values(subject: Subject) -> Iterator[Draft]:
    """Zeros, infinities, NaN, ends of the subnormals, 1 and its neighbours, the largest numbers."""
    found = special_values(subject.common)
    if subject.is_elementwise:
        yield from filled(subject, combinations(list(subject.shapes), found))
        return
    for name in subject.main:
        for value in found[~np.isfinite(found) | (np.abs(found) == subject.common.max_finite)]:
            planted = np.array(subject.typical[name], np.float64)
            planted[(0,) * planted.ndim] = value
            yield Draft({name: planted}, f"{name}-{value:g}", f"One {value:g} in the first row of {name}.")


@row(IEEE)
def infinities(subject: Subject) -> Iterator[Draft]:
    """Infinities of both signs in one row, whose sum is NaN."""
    if subject.is_elementwise or not subject.common.has_inf:
        return
    for name in subject.main:
        planted = np.array(subject.typical[name], np.float64)
        if planted.ndim and planted.shape[-1] > 1:
            planted[(0,) * (planted.ndim - 1)][:2] = np.inf, -np.inf
            yield Draft({name: planted}, name)


@row(IEEE)
def zeros(subject: Subject) -> Iterator[Draft]:
    """All zeros; then zeros of both signs."""
    shapes = {name: subject.shapes[name] for name in subject.main}
    yield Draft({name: np.zeros(shape) for name, shape in shapes.items()}, "all")
    if subject.common.is_float:
        yield Draft({n: _picked(subject, "zeros", n, np.array([0.0, -0.0])) for n in shapes}, "signed")


@row(IEEE)
def subnormals(subject: Subject) -> Iterator[Draft]:
    """Subnormal numbers only, of either sign."""
    if not subject.common.is_float:
        return
    last = 2 ** (subject.common.p - 1)
    pool = subject.rng("subnormals").integers(1, last, 1000) * subject.common.min_subnormal
    ends = np.array([1.0, last - 1.0]) * subject.common.min_subnormal
    both = np.concatenate([ends, -ends, pool[::2], -pool[1::2]])
    yield Draft({name: _picked(subject, "subnormals", name, both) for name in subject.main})


@row(ROUNDING)
def halves(subject: Subject) -> Iterator[Draft]:
    """Exact halves k + 1/2, of either sign."""
    if not subject.common.is_float:
        return
    largest = min(2 ** (subject.common.p - 2), 64)
    pool = np.arange(largest) + 0.5
    yield Draft({n: _picked(subject, "halves", n, np.concatenate([pool, -pool])) for n in subject.main})


@row("IEEE 754-2019, 3.3: where the ulp changes its size")
def powers_of_two(subject: Subject) -> Iterator[Draft]:
    """Powers of two over all exponents, of either sign."""
    format = subject.common
    ends = (format.emin - format.p + 1, format.emax) if format.is_float else (0, format.p - 1)
    pool = 2.0 ** np.unique(np.linspace(*ends, _POWERS).round())
    pool = np.concatenate([pool, -pool]) if format.signed else pool
    yield Draft({n: _picked(subject, "powers", n, pool) for n in subject.main})


def _picked(subject: Subject, row: str, name: str, pool: Array) -> Array:
    """Values of the pool: all of them once where there is room, the rest at random."""
    shape = subject.shapes[name]
    rng, size = subject.rng(row, name), int(np.prod(shape))
    more = pool[rng.integers(0, pool.size, max(size - pool.size, 0))]
    return np.asarray(np.concatenate([rng.permutation(pool), more])[:size].reshape(shape))
