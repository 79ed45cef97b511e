"""Metrics: figures about a whole tensor, gathered chunk by chunk in fp64.

One file a metric in metrics/; each registers a class that is made once a tensor, sees every chunk and gives named
results. Names of TensorComparison fields fill those fields, other names go to `extra`. Metrics never decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.formats import Array, Format
from precdiff.registry import Registry


class Metric(Protocol):
    """Gathers one or more figures about a tensor."""

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""

    def results(self) -> Mapping[str, Any]:
        """The figures, by name."""


METRICS: Registry[Callable[[Format], Metric]] = Registry("metric", "precdiff.comparison.metrics")


class ScaledSum:
    """A sum of products x y, safe from overflow and underflow: every chunk is scaled by powers of two first.

    The sum is mantissa * 2^exponent (the idea of LAPACK's dnrm2; Blue 1978).

    >>> squares = ScaledSum()
    >>> squares.add(np.array([3e200, 4e200]), np.array([3e200, 4e200]))
    >>> round(squares.root() / 1e200, 12)
    5.0
    """

    def __init__(self) -> None:
        self._chunks: list[tuple[float, int]] = []

    def add(self, x: Array, y: Array) -> None:
        """Add the products of two arrays of finite numbers."""
        if not x.size:
            return
        first, second = _exponent(x), _exponent(y)
        with np.errstate(over="ignore"):  # an error in ULP may itself be beyond fp64
            total = float(np.sum(_scaled(x, first) * _scaled(y, second)))
        if total:
            self._chunks.append((total, first + second))

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


def _exponent(x: Array) -> int:
    """Exponent to scale by; 0 in the wide range where products of two numbers are safe anyway."""
    largest = float(max(x.max(), -x.min()))
    exponent = math.frexp(largest)[1]
    return 0 if -200 < exponent < 400 or not largest else exponent


def _scaled(x: Array, exponent: int) -> Array:
    return np.ldexp(x, -exponent) if exponent else x
