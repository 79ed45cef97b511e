"""ULP error: |a - r| / ulp(r), real valued, in the actual's format (JAX's definition, formats/ulp.py).

max and the counts are over all compared elements, so NaN against a number makes max inf; the means are over elements
where a number stands against a number. The signed mean shows bias, which the others cannot. Quantiles: histogram.py.
"""

from __future__ import annotations

import math

from precdiff.comparison.elements import Elements
from precdiff.comparison.histogram import UlpHistogram
from precdiff.comparison.metric import METRICS
from precdiff.formats import Format


class Ulp:
    """max, mean, mean signed, median, 99th percentile and the histogram of ULP errors."""

    def __init__(self, format: Format) -> None:
        self._histogram = UlpHistogram()
        self._max, self._count = 0.0, 0
        self._sums: list[float] = []
        self._signed: list[float] = []

    def add(self, elements: Elements) -> None:
        """Count a chunk."""
        compared = elements.distance if elements.skipped is None else elements.distance[~elements.skipped]
        self._histogram.add(compared, elements.fast)
        self._max = max(self._max, float(compared.max(initial=0.0)))
        self._count += elements.figures.numbers
        self._sums.append(elements.figures.sum_distance)
        self._signed.append(elements.figures.sum_signed)

    def results(self) -> dict[str, object]:
        """The figures."""
        count, histogram = self._count, self._histogram
        return {
            "max_ulp": self._max if histogram.count else math.nan,
            "mean_ulp": _sum(self._sums) / count if count else math.nan,
            "mean_signed_ulp": _sum(self._signed) / count if count else math.nan,
            "p50_ulp": min(histogram.quantile(0.5), self._max),
            "p99_ulp": min(histogram.quantile(0.99), self._max),
            "ulp_histogram": tuple(histogram.rows()),
        }


def _sum(parts: list[float]) -> float:
    """The parts added exactly and rounded once; errors beyond fp64 of both signs have no sum."""
    return math.fsum(parts) if all(map(math.isfinite, parts)) else sum(parts)


METRICS.add("ulp", Ulp)
