"""Root mean square error sqrt(sum (a - r)^2 / n) over elements where a number stands against a number."""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS, ScaledSum
from precdiff.formats import Format


class Rmse:
    """Root mean square error."""

    def __init__(self, format: Format) -> None:
        self._squares, self._count = ScaledSum(), 0

    def add(self, elements: Elements) -> None:
        """Add a chunk."""
        self._squares.add(elements.figures.error_error)
        self._count += elements.figures.numbers

    def results(self) -> dict[str, float]:
        """NaN where there was no number to compare."""
        return {"rmse": self._squares.root(self._count) if self._count else math.nan}


METRICS.add("rmse", Rmse)
