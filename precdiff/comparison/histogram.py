"""Counts of ULP errors: exact at the edges a limit may lie on, and finely enough for quantiles.

Two histograms over |ulps| in one row of counts; a count belongs to the smallest edge not below the error:

    coarse  0, 1/2, 1, 2, 3 ... 64, 128, 256 ... inf          re-judging with another limit is exact at every edge
    fine    0, 2^(k/16)                                       quantiles are its upper edges: at most 4.5 % too large

An error's place among both is found from its bits alone, without a logarithm: an octave is cut into 2^10 cells, none of
which holds two edges (numba's twin: _accel/counting.py).
"""

from __future__ import annotations

import math

import numpy as np

from precdiff._accel.backend import accelerator
from precdiff.formats import Array

_UNITS = 64
_FIRST, _LAST = -64, 1023  # octaves; what lies below is counted at 2^-64
_PER_OCTAVE = 16
_FRACTION = (1 << 52) - 1
_CELL_BITS = 10


def _fine(exponent: int) -> list[float]:
    """Fine edges from 2^exponent on, 2^(exponent + 1) left out."""
    return [math.ldexp(2.0 ** (k / _PER_OCTAVE), exponent) for k in range(_PER_OCTAVE)]


def _octave(exponent: int) -> list[float]:
    """All edges there."""
    whole = range(2**exponent, min(2 ** (exponent + 1), _UNITS)) if exponent >= 0 else ()
    return sorted({*_fine(exponent), *map(float, whole)})


_EXPONENTS = range(_FIRST, _LAST + 1)
EDGES = np.array([0.0, *(edge for exponent in _EXPONENTS for edge in _octave(exponent)), math.inf])
_COARSE = np.array([0.0, 0.5, *map(float, range(1, _UNITS)), *(math.ldexp(1.0, k) for k in range(6, 1024)), math.inf])
_COARSE_PLACES = np.searchsorted(EDGES, _COARSE)
_FINE_PLACES = np.searchsorted(EDGES, [0.0, *(edge for k in _EXPONENTS for edge in _fine(k)), math.inf])


def _cells(octave: list[float]) -> tuple[Array, Array]:
    """By cell: how many edges of the octave lie below it, and the fraction of the edge in it (all ones: none)."""
    fractions = np.array(octave).view(np.int64) & _FRACTION
    cells = fractions >> (52 - _CELL_BITS)
    below = np.searchsorted(cells, np.arange(1 << _CELL_BITS))
    inside = np.full(1 << _CELL_BITS, _FRACTION)
    inside[cells] = fractions
    return below, inside


_KINDS = [_cells(_octave(exponent)) for exponent in range(-1, 6)]  # -1 stands for all but 0 to 5
#: what the twin needs: edges below each octave, and by kind of octave the two tables of cells
FIRST_EDGE = np.searchsorted(EDGES, [math.ldexp(1.0, k) for k in _EXPONENTS])
BELOW, INSIDE = np.array([below for below, _ in _KINDS]), np.array([inside for _, inside in _KINDS])


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
        self._counts = np.zeros(EDGES.size, np.int64)

    @property
    def count(self) -> int:
        """How many errors were counted."""
        return int(self._counts.sum())

    def add(self, distance: Array, fast: bool = False) -> None:
        """Count the errors of a chunk: non-negative fp64 numbers or inf."""
        twin = accelerator("counting") if fast else None
        if twin is not None:
            twin.count(distance.view(np.int64), self._counts, FIRST_EDGE, BELOW, INSIDE)
            return
        self._counts += np.bincount(places(distance), minlength=EDGES.size)

    def merge(self, other: UlpHistogram) -> None:
        """Add the counts of another part of the tensor."""
        self._counts += other._counts

    def rows(self) -> list[tuple[float, int]]:
        """Return the coarse counts as (upper edge, count), empty ones left out."""
        counts = np.diff(np.cumsum(self._counts)[_COARSE_PLACES], prepend=0)
        filled = np.flatnonzero(counts)
        return list(zip(_COARSE[filled].tolist(), counts[filled].tolist(), strict=True))

    def quantile(self, share: float) -> float:
        """Return the smallest fine edge below or at which `share` of the errors lie; NaN for none."""
        up_to = np.cumsum(self._counts)[_FINE_PLACES]
        if not up_to[-1]:
            return math.nan
        rank = max(1, math.ceil(share * int(up_to[-1])))
        return float(EDGES[_FINE_PLACES[np.searchsorted(up_to, rank)]])


def places(distance: Array) -> Array:
    """The place of each error in EDGES: the smallest edge not below it.

    >>> EDGES[places(np.array([0.0, 0.3, 36.5, 37.0, 1e300, np.inf]))][2:4].tolist()
    [37.0, 37.0]
    """
    bits = distance.view(np.int64)
    exponent, fraction = (bits >> 52) - 1023, bits & _FRACTION
    octave = np.clip(exponent, _FIRST, _LAST)
    kind = np.where((exponent >= 0) & (exponent < 6), exponent + 1, 0)
    cell = fraction >> (52 - _CELL_BITS)
    found = FIRST_EDGE[octave - _FIRST] + BELOW[kind, cell] + (fraction > INSIDE[kind, cell])
    found = np.where(exponent < _FIRST, bits != 0, found)
    return np.where(exponent > _LAST, EDGES.size - 1, found)
