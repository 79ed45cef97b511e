"""Cosine of the angle between actual and expected: sum a r / (|a| |r|).

Shown for compatibility, never a gate: neither a scale nor one wrong element in many moves it.
"""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS, ScaledSum
from precdiff.formats import Format


class Cosine:
    """Cosine similarity; NaN where either vector is zero."""

    def __init__(self, format: Format) -> None:
        self._product, self._actual, self._expected = ScaledSum(), ScaledSum(), ScaledSum()

    def add(self, elements: Elements) -> None:
        """Add a chunk."""
        self._product.add(elements.figures.found_truth)
        self._actual.add(elements.figures.found_found)
        self._expected.add(elements.figures.truth_truth)

    def results(self) -> dict[str, float]:
        """The cosine, within [-1, 1] whatever the rounding."""
        (product, power), (a, a_power), (r, r_power) = (
            total.parts() for total in (self._product, self._actual, self._expected)
        )
        if not a or not r:
            return {"cosine": math.nan}
        cosine = math.ldexp(product / (math.sqrt(a) * math.sqrt(r)), power - (a_power + r_power) // 2)
        return {"cosine": min(1.0, max(-1.0, cosine))}


METRICS.add("cosine", Cosine)
