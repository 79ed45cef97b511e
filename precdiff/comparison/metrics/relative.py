"""Largest relative error |a - r| / |r|: 0 for an exact zero, inf for any error at a zero, so it is never a gate."""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS
from precdiff.formats import Format


class Relative:
    """max |a - r| / |r|."""

    def __init__(self, format: Format) -> None:
        self._max = -math.inf

    def add(self, elements: Elements) -> None:
        """Look at a chunk."""
        self._max = max(self._max, elements.figures.largest_rel)

    def results(self) -> dict[str, float]:
        """NaN where there was no number to compare."""
        return {"max_rel": self._max if self._max >= 0.0 else math.nan}


METRICS.add("relative", Relative)
