"""The verdict over several tensors. This file knows rows, not how they came about."""

from __future__ import annotations

from collections.abc import Iterable

from precdiff.comparison.result import TensorComparison, Verdict
from precdiff.errors import NotComparableError


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict over several tensors: the worst of them, since what was not compared is no success.

    >>> overall(["pass", "not_compared"]), overall(["pass"]), overall([])
    ('not_compared', 'pass', 'not_compared')
    """
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("fail", "undecided", "not_compared", "pass")
    return next((verdict for verdict in order if verdict in found), "not_compared")


def over_tensors(rows: Iterable[TensorComparison]) -> Verdict:
    """The verdict over tensors: every output must have been compared; a step with nothing to compare says nothing."""
    return overall(row.verdict for row in rows if row.role == "output" or row.verdict != "not_compared")


def require_compared(rows: Iterable[TensorComparison]) -> None:
    """Raise where nothing at all was compared: that is trouble, never success."""
    rows = list(rows)
    if all(row.verdict == "not_compared" for row in rows):
        found = ", ".join(f"{row.name or row.id} {row.shape} {_nothing(row)}" for row in rows) or "no tensors"
        raise NotComparableError(f"nothing was compared: {found}. Check that both sides hold data.")


def _nothing(row: TensorComparison) -> str:
    if row.compared > row.extra.get("nan_pairs", 0):
        return f"has no limit ({row.rule})"
    return "holds nothing but NaN, as expected" if row.compared else "holds no elements"
