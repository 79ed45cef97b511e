"""Largest absolute error |a - r| over elements where a number stands against a number."""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS
from precdiff.formats import Format


class Absolute:
    """max |a - r|."""

    def __init__(self, format: Format) -> None:
        self._max = -math.inf

    def add(self, elements: Elements) -> None:
        """Look at a chunk."""
        self._max = max(self._max, elements.figures.largest_abs)

    def results(self) -> dict[str, float]:
        """NaN where there was no number to compare."""
        return {"max_abs": self._max if self._max >= 0.0 else math.nan}


METRICS.add("absolute", Absolute)
