"""Points as rows of ordinals, and how children are made of them. It knows no kernel and no score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from precdiff.formats import Array, Format, from_ordinal, ordinal
from precdiff.formats.encoding import NAN_ORDINAL

Shape = tuple[int, ...]

#: share of children that are made by each way, the rest is random points
_RANDOM = 0.05


@dataclass(frozen=True)
class Space:
    """The inputs that vary: shape of one point's part, and format, by name."""

    shapes: Mapping[str, Shape]
    formats: Mapping[str, Format]

    @cached_property
    def width(self) -> int:
        """Values of a point."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @cached_property
    def last(self) -> Array:
        """Ordinal of the largest finite number, a column."""
        return self._columns(lambda format: int(ordinal(format.max_finite, format)))

    @cached_property
    def binade(self) -> Array:
        """Ordinals from one power of two to the next, a column."""
        return self._columns(lambda format: 2 ** (format.p - 1))

    def _columns(self, of: Callable[[Format], int]) -> Array:
        parts = [np.full(math.prod(self.shapes[n]), of(self.formats[n]), np.int64) for n in self.shapes]
        return np.concatenate(parts)

    def values(self, points: Array) -> dict[str, Array]:
        """Points as carriers, (count, *shape) by input."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            part = points[:, start : start + math.prod(shape)]
            found[name] = from_ordinal(part, self.formats[name]).reshape(len(points), *shape)
            start += math.prod(shape)
        return found

    def rows(self, values: Mapping[str, Array]) -> Array | None:
        """Carriers of any leading shape as points, finite ones only; None where they are no whole points."""
        parts = []
        for name, shape in self.shapes.items():
            array = values[name]
            if array.shape[array.ndim - len(shape) :] != shape:
                return None
            parts.append(ordinal(array, self.formats[name]).reshape(-1, math.prod(shape)))
        count = max(len(part) for part in parts)
        rows = np.concatenate([np.resize(part, (count, part.shape[1])) for part in parts], axis=1)
        finite = (rows != NAN_ORDINAL) & (np.abs(np.where(rows == NAN_ORDINAL, 0, rows)) <= self.last)
        return np.asarray(rows[finite.all(axis=1)])

    def every(self, most: int) -> Array | None:
        """All points, where there are no more than that."""
        sizes = 2 * self.last.astype(object) + 1
        if math.prod(sizes.tolist()) > most:
            return None
        axes = [np.arange(-last, last + 1) for last in self.last.tolist()]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.width)

    def random(self, count: int, rng: np.random.Generator) -> Array:
        """Points of random bits."""
        return rng.integers(-self.last, self.last + 1, (count, self.width))

    def niches(self, points: Array) -> Array:
        """A number for each point's region: sign and half a binade of a few values; of many, of the largest ones.

        Regions that get the same number are taken for one, which is rare among 2^64 and costs a point.
        """
        coarse = (2 * points) // self.binade
        told = coarse if self.width <= 4 else np.sort(coarse, axis=1)[:, :: max(self.width // 4, 1)]
        number = np.zeros(len(points), np.uint64)
        for column in told.T.astype(np.uint64):
            number = (number ^ column) * np.uint64(0x9E3779B97F4A7C15)  # Knuth, TAOCP 3, 6.4: 2^64 / golden ratio
            number ^= number >> np.uint64(29)
        return number


def children(space: Space, parents: Array, count: int, rng: np.random.Generator) -> Array:
    """`count` points from those of an archive, the worst first, which are chosen more often."""
    if not len(parents):
        return space.random(count, rng)
    places = (len(parents) * rng.random(count) ** 3).astype(int)
    made = parents[places]
    way = rng.integers(0, len(_WAYS), count)
    for number, change in enumerate(_WAYS):
        chosen = way == number
        made[chosen] = change(space, made[chosen], parents, rng)
    fresh = rng.random(count) < _RANDOM
    made[fresh] = space.random(int(fresh.sum()), rng)
    return np.clip(made, -space.last, space.last)


def _some(points: Array, rng: np.random.Generator) -> Array:
    """Which values of each point change: one at least, few of many."""
    share = rng.random((len(points), 1)) ** 2
    chosen = rng.random(points.shape) < share
    chosen[np.arange(len(points)), rng.integers(0, max(points.shape[1], 1), len(points))] = True
    return chosen


def _steps(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """Steps of a random size between neighbours and the whole range, of either sign."""
    size = 2.0 ** (rng.random(points.shape) * np.log2(space.last + 1.0))
    step = np.where(rng.random(points.shape) < 0.5, -1, 1) * size.astype(np.int64)
    return np.where(_some(points, rng), points + step, points)


def _neighbours(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """A few numbers up or down."""
    return np.where(_some(points, rng), points + rng.integers(-8, 9, points.shape), points)


def _scaled(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """The magnitude of all values by one power of two."""
    powers = np.rint(rng.normal(0, 2, (len(points), 1))).astype(np.int64)
    return np.where(points == 0, 0, np.sign(points) * np.maximum(np.abs(points) + powers * space.binade, 1))


def _crossed(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """Some values of another parent."""
    others = parents[rng.integers(0, len(parents), len(points))]
    return np.where(_some(points, rng), others, points)


def _equated(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """Some values equal to, or the negative of, another one of the point: terms that cancel, rows without variance."""
    other = np.take_along_axis(points, rng.integers(0, points.shape[1], (len(points), 1)), axis=1)
    sign = np.where(rng.random((len(points), 1)) < 0.5, -1, 1)
    near = rng.integers(-2, 3, points.shape)
    return np.where(_some(points, rng), sign * other + near, points)


def _rounded(space: Space, points: Array, parents: Array, rng: np.random.Generator) -> Array:
    """Some values with only a few significand bits: sums and products that are exact, and ties."""
    low = (2.0 ** (rng.random(points.shape) * np.log2(space.binade))).astype(np.int64)
    return np.where(_some(points, rng), points // low * low, points)


_WAYS = (_steps, _neighbours, _scaled, _crossed, _equated, _rounded)
