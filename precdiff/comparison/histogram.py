"""Counts of ULP errors: exact at the edges a limit may lie on, and finely enough for quantiles.

Two histograms over |ulps|; a count belongs to the smallest edge not below the error:

    coarse  0, 1/2, 1, 2, 3 ... 64, 128, 256 ... inf          re-judging with another limit is exact at every edge
    fine    0, 2^(k/16)                                       quantiles are its upper edges: at most 4.5 % too large
"""

from __future__ import annotations

import math

import numpy as np

from precdiff.formats import Array

_UNITS = 64
_OCTAVES = range(-64, 1024)
_PER_OCTAVE = 16


class UlpHistogram:
    """Counts of absolute ULP errors, chunk by chunk.

    >>> histogram = UlpHistogram()
    >>> histogram.add(np.array([0.0, 0.25, 1.0, 1.5, 300.0]))
    >>> histogram.rows()
    [(0.0, 1), (0.5, 1), (1.0, 1), (2.0, 1), (512.0, 1)]
    >>> histogram.quantile(0.5)
    1.0
    """

    def __init__(self) -> None:
        self.count = 0
        self._halves = self._zeros = 0
        self._units = np.zeros(_UNITS + 1, np.int64)
        self._octaves = np.zeros(_OCTAVES.stop + 1, np.int64)
        self._fine = np.zeros(len(_OCTAVES) * _PER_OCTAVE + 2, np.int64)

    def add(self, distance: Array) -> None:
        """Count the errors of a chunk: non-negative fp64 numbers or inf."""
        self.count += distance.size
        self._zeros += int(np.count_nonzero(distance == 0.0))
        self._halves += int(np.count_nonzero(distance <= 0.5))
        large = distance > _UNITS
        small = np.ceil(np.where(large, 0.0, distance)).astype(np.intp)
        self._units += np.bincount(small, minlength=_UNITS + 1)
        self._units[0] -= int(np.count_nonzero(large))
        self._octaves += np.bincount(_octave(distance[large]), minlength=self._octaves.size)
        self._fine += np.bincount(_fine_bin(distance), minlength=self._fine.size)

    def rows(self) -> list[tuple[float, int]]:
        """Return the coarse counts as (upper edge, count), empty ones left out."""
        up_to_half = self._halves - self._zeros
        rows = [(0.0, self._zeros), (0.5, up_to_half), (1.0, int(self._units[1]) - up_to_half)]
        rows += [(float(edge), int(self._units[edge])) for edge in range(2, _UNITS + 1)]
        rows += [(_power(k), int(self._octaves[k])) for k in np.flatnonzero(self._octaves).tolist()]
        return [row for row in rows if row[1]]

    def quantile(self, share: float) -> float:
        """Return the smallest fine edge below or at which `share` of the errors lie; NaN for none."""
        if not self.count:
            return math.nan
        rank = max(1, math.ceil(share * self.count))
        place = int(np.searchsorted(np.cumsum(self._fine), rank))
        if place == 0:
            return 0.0
        if place == self._fine.size - 1:
            return math.inf
        return float(2.0 ** (_OCTAVES.start + (place - 1) / _PER_OCTAVE))


def _power(k: int) -> float:
    return math.inf if k >= _OCTAVES.stop else math.ldexp(1.0, k)


def _octave(distance: Array) -> Array:
    """Return k with 2^(k-1) < distance <= 2^k; the last one stands for inf."""
    fraction, exponent = np.frexp(distance)
    exponent = exponent - (fraction == 0.5)
    return np.where(np.isinf(distance), _OCTAVES.stop, exponent).astype(np.intp)


def _fine_bin(distance: Array) -> Array:
    """Bin 0 holds zeros, bin 1 + 16 (k - first) errors up to 2^k, the last one inf."""
    with np.errstate(divide="ignore"):
        place = np.ceil(_PER_OCTAVE * np.log2(distance)) - _PER_OCTAVE * _OCTAVES.start + 1
    last = len(_OCTAVES) * _PER_OCTAVE + 1
    place = np.clip(place, np.where(distance > 0.0, 1.0, 0.0), last)
    return np.asarray(place).astype(np.intp)
