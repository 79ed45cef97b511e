"""The worst elements of a tensor, gathered chunk by chunk: mismatched ones first, then those beyond the limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.result import Worst
from precdiff.formats import Array, hex_bits

#: how many elements a report keeps; messages print the first five
KEPT = 10


class WorstElements:
    """Keeps the worst in order of rank (mismatched, beyond, undecided, within), then of ULP error, then of index."""

    def __init__(self, shape: tuple[int, ...], kept: int = KEPT) -> None:
        self._shape, self._kept = shape, kept
        self._rows: list[tuple[int, float, int, Worst]] = []

    def add(self, elements: Elements, ranks: tuple[Array | None, ...]) -> None:
        """Offer a chunk; `ranks` are disjoint masks, most serious first."""
        for rank, mask in enumerate(ranks):
            if mask is None or self._full_of_worse(rank, elements):
                continue
            found = [self._row(elements, place, rank) for place in self._candidates(elements.distance, mask)]
            self._rows = sorted([*self._rows, *found], key=lambda row: row[:3])[: self._kept]

    def _full_of_worse(self, rank: int, elements: Elements) -> bool:
        last = self._rows[-1] if len(self._rows) == self._kept else None
        return last is not None and (last[0], last[1]) <= (rank, -float(elements.distance.max(initial=0.0)))

    def _candidates(self, distance: Array, mask: Array) -> list[int]:
        places = np.flatnonzero(mask)
        if places.size > self._kept:
            sizes = distance[places]
            threshold = np.partition(sizes, -self._kept)[-self._kept]
            larger, equal = places[sizes > threshold], places[sizes == threshold]
            places = np.concatenate([larger, equal[: self._kept - larger.size]])
        return [int(place) for place in places]

    def _row(self, elements: Elements, place: int, rank: int) -> tuple[int, float, int, Worst]:
        flat = elements.chunk.start + place
        index = tuple(int(i) for i in np.unravel_index(flat, self._shape)) if self._shape else ()
        bits = hex_bits(elements.actual[place], elements.format)
        ulp = float(elements.distance[place])
        worst = Worst(index, _exact(elements.actual[place], elements), bits, _expected(elements, place), ulp)
        return rank, -ulp, flat, worst

    def rows(self) -> tuple[Worst, ...]:
        """The elements, worst first."""
        return tuple(row[3] for row in self._rows)


def _exact(value: Any, elements: Elements) -> float:
    """A value of the tensor; a whole number stays one, since fp64 does not hold all of 64 bits."""
    return int(value) if elements.format.kind == "int" else float(value)


def _expected(elements: Elements, place: int) -> float:
    """The expected value, as the actual one where it is whole."""
    hi, low = float(elements.hi[place]), elements.lo
    rest = 0.0 if low is None else float(low[place])
    return int(hi) + int(rest) if elements.format.kind == "int" and hi.is_integer() else hi
