"""Numbers as lengths, for the pages' pictures: the proof's before and after, and the errors along a run.

A length runs from 0 to 1 on a logarithmic scale shared by all bars of a picture, since errors span many octaves; the
scale starts one octave below the smallest number, so that it still shows. Every bar carries its number as text
(numbers.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from precdiff.comparison import TensorComparison
from precdiff.diagnose.finding import Finding
from precdiff.report import numbers, rows
from precdiff.report.report import Report


@dataclass(frozen=True)
class Bar:
    """What a bar stands for, its number as text, and its length."""

    label: str
    text: str
    length: float


@dataclass(frozen=True)
class Mark:
    """One tensor of a timeline: its own largest error (of a step: on its own inputs), and what it inherited."""

    name: str
    verdict: str
    own: Bar
    inherited: Bar
    first: bool


class Scale:
    """A logarithmic scale over the positive finite numbers among `values`.

    >>> scale = Scale([1.0, 8.0])
    >>> scale.length(8.0), scale.length(1.0), scale.length(0.0), scale.length(float("inf"))
    (1.0, 0.25, 0.0, 1.0)
    """

    def __init__(self, values: Iterable[float]) -> None:
        sizes = [math.log2(value) for value in values if 0.0 < value < math.inf]
        self._low, self._high = (min(sizes) - 1.0, max(sizes)) if sizes else (0.0, 1.0)

    def length(self, value: float) -> float:
        """Where a number lies; beyond the scale's ends it is at the end."""
        if not value > 0.0:
            return 0.0
        if value == math.inf:
            return 1.0
        return min(1.0, max(0.0, (math.log2(value) - self._low) / (self._high - self._low)))

    def bar(self, label: str, value: float) -> Bar:
        """A bar of that length."""
        return Bar(label, numbers.error(value), self.length(value))


def proof_bars(finding: Finding) -> list[Bar]:
    """Before, after, limit and floor; empty without a replay."""
    proof = finding.counterfactual
    if proof is None:
        return []
    before_after = {"before": proof.error_before, "after": proof.error_after}
    values = {**before_after, "limit": finding.limit, "floor": proof.floor}
    scale = Scale(values.values())
    return [scale.bar(label, value) for label, value in values.items()]


def timeline(report: Report, tensors: Sequence[TensorComparison]) -> list[Mark]:
    """One mark a tensor in the order given; `first` is the first divergence."""
    inherited = [row.errors.inherited or 0.0 for row in tensors]
    scale = Scale([*(row.max_ulp for row in tensors), *inherited])
    first = report.tensor(report.first_divergence or "")
    return [
        Mark(
            rows.name_of(row),
            row.verdict,
            scale.bar("own", row.max_ulp),
            scale.bar("inherited", past),
            row is first,
        )
        for row, past in zip(tensors, inherited, strict=True)
    ]
