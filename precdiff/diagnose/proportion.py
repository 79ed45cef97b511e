"""Proportions with their Wilson interval (Wilson 1927): what a benchmark may say of a rate it saw."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: the normal quantile of 95 %
_Z = 1.959963984540054


@dataclass(frozen=True)
class Proportion:
    """`hits` of `cases`."""

    hits: int
    cases: int

    def interval(self) -> tuple[float, float]:
        """The Wilson score interval at 95 %; (0, 1) of no case.

        >>> [round(end, 4) for end in Proportion(0, 10).interval()]
        [0.0, 0.2775]
        """
        if not self.cases:
            return 0.0, 1.0
        n, p, z = self.cases, self.hits / self.cases, _Z
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval()
        share = 100 * self.hits / self.cases if self.cases else 0.0
        return f"{self.hits:,}/{self.cases:,} = {share:.2f} % ({100 * low:.2f}..{100 * high:.2f})"
