"""ULP error: |a - r| / ulp(r), real valued, in the actual's format (JAX's definition, formats/ulp.py).

max and the counts are over all compared elements, so NaN against a number makes max inf; the means are over elements
where a number stands against a number. The signed mean shows bias, which the others cannot. Quantiles: histogram.py.
"""

from __future__ import annotations

import math

import numpy as np

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
        distance, signed = elements.distance, elements.ulps
        compared = distance if elements.skipped is None else distance[~elements.skipped]
        self._histogram.add(compared)
        self._max = max(self._max, float(compared.max(initial=0.0)))
        if elements.numbers is not None:
            distance, signed = distance[elements.numbers], signed[elements.numbers]
        self._count += distance.size
        self._sums.append(float(np.sum(distance)))
        self._signed.append(float(np.sum(signed)))

    def results(self) -> dict[str, object]:
        """The figures."""
        count, histogram = self._count, self._histogram
        return {
            "max_ulp": self._max if histogram.count else math.nan,
            "mean_ulp": math.fsum(self._sums) / count if count else math.nan,
            "mean_signed_ulp": math.fsum(self._signed) / count if count else math.nan,
            "p50_ulp": min(histogram.quantile(0.5), self._max),
            "p99_ulp": min(histogram.quantile(0.99), self._max),
            "ulp_histogram": tuple(histogram.rows()),
        }


METRICS.add("ulp", Ulp)
