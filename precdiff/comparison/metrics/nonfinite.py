"""Counts of NaN and infinities, of places where they disagree, and of signs that do.

`expected` counts what rounding the exact result once gives, so that an overflow nobody can avoid is not a mismatch.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS
from precdiff.comparison.result import Nonfinite
from precdiff.formats import Array, Format


class NonfiniteCounts:
    """Non-finite values and mismatches."""

    def __init__(self, format: Format) -> None:
        self._actual = self._expected = self._nan = self._inf = self._sign = 0

    def add(self, elements: Elements) -> None:
        """Count a chunk."""
        self._sign += elements.figures.opposite_signs
        if elements.mismatched is None:
            return
        target = elements.special_target
        self._actual += _count(~np.isfinite(elements.value))
        self._expected += _count(~np.isfinite(target))
        nan = np.isnan(elements.value) | np.isnan(target)
        self._nan += _count(elements.mismatched, nan)
        self._inf += _count(elements.mismatched, ~nan)

    def results(self) -> dict[str, object]:
        """Counts."""
        counts = Nonfinite(self._actual, self._expected, self._nan + self._inf)
        return {
            "nonfinite": counts,
            "nan_mismatched": self._nan,
            "inf_mismatched": self._inf,
            "sign_mismatched": self._sign,
        }


def _count(first: Array, *others: Array) -> int:
    """Count where all are true (or not zero)."""
    for other in others:
        first = first & (other != 0)
    return int(np.count_nonzero(first))


METRICS.add("nonfinite", NonfiniteCounts)
