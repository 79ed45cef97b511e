"""Signal to noise ratio in decibels, and what of it was lost against the best possible.

    snr_db = 10 log10(sum r^2 / sum (a - r)^2)          snr_loss_db = snr_db of the exact result rounded once - snr_db

The loss is inf where rounding once would have cost nothing but the actual values are wrong, 0 where both are exact.
"""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.metric import METRICS, ScaledSum
from precdiff.formats import Format

_DB_AN_OCTAVE = 10.0 * math.log10(2.0)


class Snr:
    """snr_db and snr_loss_db; NaN without a signal."""

    def __init__(self, format: Format) -> None:
        self._signal, self._noise, self._floor = ScaledSum(), ScaledSum(), ScaledSum()

    def add(self, elements: Elements) -> None:
        """Add a chunk."""
        self._signal.add(elements.figures.truth_truth)
        self._noise.add(elements.figures.error_error)
        self._floor.add(elements.figures.unavoidable)

    def results(self) -> dict[str, float]:
        """Both ratios."""
        signal, noise, floor = self._signal.log2(), self._noise.log2(), self._floor.log2()
        if signal == -math.inf:
            return {"snr_db": math.nan, "snr_loss_db": math.nan}
        loss = 0.0 if noise == floor else noise - floor
        return {"snr_db": _DB_AN_OCTAVE * (signal - noise), "snr_loss_db": _DB_AN_OCTAVE * loss}


METRICS.add("snr", Snr)
