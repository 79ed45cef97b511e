"""Error over unavoidable error: RMS of the ULP error / max(RMS of rounding the exact result once, 0.29 ULP).

0.29 = 1 / sqrt(12) is the RMS of a rounding error spread evenly over +-1/2 ULP; without it a few exact results would
make the ratio infinite. 1 is as good as the format allows.
"""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS, ScaledSum
from precdiff.formats import Format

#: RMS of an even spread over +-1/2 ULP, in the two digits DESIGN 3 gives it
EVEN_SPREAD = 0.29


class Unavoidable:
    """The ratio of the two root mean squares."""

    def __init__(self, format: Format) -> None:
        self._total, self._floor, self._count = ScaledSum(), ScaledSum(), 0

    def add(self, elements: Elements) -> None:
        """Add a chunk."""
        self._total.add(elements.figures.ulps_ulps)
        self._floor.add(elements.figures.floor_floor)
        self._count += elements.figures.numbers

    def results(self) -> dict[str, float]:
        """NaN where there was no number to compare."""
        if not self._count:
            return {"unavoidable_ratio": math.nan}
        floor = max(self._floor.root(self._count), EVEN_SPREAD)
        return {"unavoidable_ratio": self._total.root(self._count) / floor}


METRICS.add("unavoidable", Unavoidable)
