"""Metrics: figures about a whole tensor, gathered chunk by chunk in fp64.

One file a metric in metrics/; each registers a class that is made once a tensor, sees every chunk and gives named
results. Names of TensorComparison fields fill those fields, other names go to `extra`. Metrics never decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from precdiff.comparison.elements import Elements
from precdiff.comparison.figures import Scaled
from precdiff.formats import Format
from precdiff.registry import Registry


class Metric(Protocol):
    """Gathers one or more figures about a tensor."""

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""

    def results(self) -> Mapping[str, Any]:
        """The figures, by name."""


METRICS: Registry[Callable[[Format], Metric]] = Registry("metric", "precdiff.comparison.metrics")


class ScaledSum:
    """A sum of the chunks' scaled sums, safe from overflow and underflow: mantissa * 2^exponent.

    That is the idea of LAPACK's dnrm2 (Blue 1978). The chunks' own sums are added exactly and rounded once.

    >>> from precdiff.comparison.figures import product
    >>> squares = ScaledSum()
    >>> import numpy as np
    >>> squares.add(product(np.array([3e200, 4e200]), np.array([3e200, 4e200])))
    >>> round(squares.root() / 1e200, 12)
    5.0
    """

    def __init__(self) -> None:
        self._chunks: list[Scaled] = []

    def add(self, part: Scaled) -> None:
        """Add a chunk's."""
        if part[0]:
            self._chunks.append(part)

    def parts(self) -> tuple[float, int]:
        """Return the sum as (mantissa, exponent) with an even exponent."""
        top = max((exponent for _, exponent in self._chunks), default=0)
        top += top % 2
        return math.fsum(math.ldexp(part, exponent - top) for part, exponent in self._chunks), top

    def root(self, count: float = 1.0) -> float:
        """Square root of sum / count; inf where fp64 cannot hold it."""
        mantissa, exponent = self.parts()
        try:
            return math.ldexp(math.sqrt(mantissa / count), exponent // 2)
        except OverflowError:
            return math.inf

    def log2(self) -> float:
        """Binary logarithm of the sum, -inf for 0."""
        mantissa, exponent = self.parts()
        return math.log2(mantissa) + exponent if mantissa > 0.0 else -math.inf
