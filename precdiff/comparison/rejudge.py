"""Judge a stored row again under another ULP limit, from its histogram, its worst element and its reference's radius.

The tensors are gone, so a count is exact only at the histogram's edges; between them it is a range. The verdict needs
less: the largest error that was not excused is stored, and only the reference's radius around it can leave it open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from precdiff.comparison.result import TensorComparison, Verdict, worst_ulp
from precdiff.errors import FileError
from precdiff.formats import get_format


@dataclass(frozen=True)
class Rejudged:
    """A verdict under another limit; at least `low` and at most `high` elements are beyond it, None: kept as it was."""

    row: TensorComparison
    verdict: Verdict
    low: int | None = None
    high: int | None = None


def rejudge(row: TensorComparison, max_ulp: float) -> Rejudged:
    """The row under `max_ulp`; steps judged by their op's bound, and integers, keep their verdict."""
    _check(row)
    if row.verdict == "not_compared" or not _by_ulp(row):
        return Rejudged(row, row.verdict)
    low, high = counts_beyond(row.ulp_histogram, max_ulp)
    low, high = _around_worst(row, max_ulp, max(0, low - row.excused), high)
    low, high = max(low, row.nonfinite.mismatched), max(high, row.nonfinite.mismatched)
    return Rejudged(row, "fail" if low else "undecided" if high else "pass", low, high)


def _check(row: TensorComparison) -> None:
    """Raise where the row contradicts itself: a verdict from such figures would mean nothing."""
    counts = [count for _, count in row.ulp_histogram]
    worst, edges = row.worst[0].ulp if row.worst else row.max_ulp, [edge for edge, _ in row.ulp_histogram]
    given = [row.compared, row.excused, row.over_limit, row.nonfinite.mismatched, *counts]
    size, known = math.prod(row.shape), row.compared > 0
    wrong = {
        "a count is negative or larger than the tensor": not all(0 <= n <= size for n in given),
        f"the histogram counts {sum(counts)} elements, compared are {row.compared}": sum(counts) != row.compared,
        "an edge of the histogram is none": any(_edge(edge) != edge for edge in edges),
        "an ULP error is none": known and not (row.max_ulp >= 0.0 and worst >= 0.0),
        "max_ulp is not in the last class of the histogram": known and _edge(row.max_ulp) != max(edges),
    }
    found = next((problem for problem, there in wrong.items() if there), None)
    if found is not None:
        raise FileError(f"{row.name or row.id}: the report contradicts itself: {found}. Make it again with compare -o")


def _edge(error: float) -> float:
    """The class an error is in: 0, 1/2, 1, 2 ... 64, then powers of two, inf."""
    if not 0.0 < error < math.inf:
        return error if error >= 0.0 else math.nan
    if error <= 0.5:
        return 0.5
    if error <= 64.0:
        return float(math.ceil(error))
    fraction, exponent = math.frexp(error)
    exponent -= fraction == 0.5
    return math.inf if exponent > 1023 else math.ldexp(1.0, exponent)


def counts_beyond(histogram: Sequence[tuple[float, int]], limit: float) -> tuple[int, int]:
    """At least and at most how many errors are beyond the limit; equal at an edge.

    >>> rows = [(0.5, 90), (4.0, 7), (8.0, 2), (512.0, 1)]
    >>> counts_beyond(rows, 4), counts_beyond(rows, 7.5), counts_beyond(rows, 0.25)
    ((3, 3), (1, 3), (10, 100))
    """
    surely = sum(count for upper, count in histogram if _lower(upper) >= limit)
    possibly = sum(count for upper, count in histogram if upper > limit)
    return surely, possibly


def _lower(upper: float) -> float:
    """The edge below: 0, 1/2, 1, 2 ... 64, then powers of two, inf."""
    if upper <= 1:
        return {0.0: -1.0, 0.5: 0.0, 1.0: 0.5}.get(upper, 0.0)
    return upper - 1 if upper <= 64 else upper / 2 if math.isfinite(upper) else 2.0**1023


def _by_ulp(row: TensorComparison) -> bool:
    return get_format(row.format).is_float and (row.role == "output" or row.rule.startswith("error <= "))


def _around_worst(row: TensorComparison, limit: float, low: int, high: int) -> tuple[int, int]:
    """The range narrowed by the largest error that was not excused, known to within the reference's radius."""
    worst = worst_ulp(row)
    radius = row.reference.max_radius_ulp if row.reference is not None else 0.0
    if worst + radius <= limit:
        return 0, 0
    return (max(low, 1), high) if worst - radius > limit else (0, max(high, 1))
