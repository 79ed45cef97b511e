"""The generators that exist: one function a row. Importing this file registers them.

Each works in fp64, written over numpy operations that do not fuse, so that the values do not depend on the host's
compiler.
"""

from __future__ import annotations

import math

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats import Array, Format, next_down, next_up
from precdiff.generate.generator import Draw, generator


@generator()
def uniform(wanted: Draw, low: float, high: float) -> Array:
    """Evenly spread over [low, high)."""
    if not (low <= high and math.isfinite(high - low)):
        raise PrecDiffError(f"uniform: low is {low:g} and high is {high:g}; allowed is low <= high, a finite range")
    return low + (high - low) * wanted.rng.random(wanted.shape)


@generator()
def normal(wanted: Draw, mean: float, sd: float) -> Array:
    """Gaussian with that mean and standard deviation."""
    if not sd >= 0:
        raise PrecDiffError(f"normal: sd is {sd:g}; allowed is a standard deviation of 0 or more")
    return mean + sd * wanted.rng.standard_normal(wanted.shape)


@generator()
def linspace(wanted: Draw, first: float, last: float) -> Array:
    """Evenly spaced from first to last, both included; seedless."""
    assert wanted.shape is not None
    if not math.isfinite(last - first):
        raise PrecDiffError(f"linspace: first is {first:g} and last is {last:g}; allowed is a finite range")
    return np.linspace(first, last, math.prod(wanted.shape)).reshape(wanted.shape)


@generator(needs_shape=False, default_shape=())
def constant(wanted: Draw, value: float) -> Array:
    """The same number everywhere; without a shape, one number."""
    assert wanted.shape is not None
    return np.full(wanted.shape, value, np.float64)


@generator(needs_shape=False)
def special(wanted: Draw) -> Array:
    """Zeros, ends of the subnormals, neighbours of 1, largest number, inf, NaN; each once, then at random."""
    values = special_values(wanted.format)
    if wanted.shape is None:
        return values
    more = math.prod(wanted.shape) - values.size
    drawn = values[wanted.rng.integers(0, values.size, max(more, 0))]
    return np.concatenate([values, drawn])[: math.prod(wanted.shape)].reshape(wanted.shape)


def special_values(format: Format) -> Array:
    """Both zeros, the ends of the subnormals, 1 and its neighbours, the largest number, infinities, NaN; fp64."""
    if not format.is_float:
        low, high = format.integer_range
        return np.unique(np.array([low, -1 if format.signed else 0, 0, 1, high], np.float64))
    one = np.ones((), format.carrier)
    first_normal = np.full((), format.min_normal, format.carrier)
    positive = [
        0.0, format.min_subnormal, float(next_down(first_normal, format)), format.min_normal,
        float(next_down(one, format)), 1.0, float(next_up(one, format)), format.max_finite,
    ]  # fmt: skip
    positive += [math.inf] * format.has_inf
    return np.array([v for p in positive for v in (p, -p)] + [math.nan] * format.has_nan)
