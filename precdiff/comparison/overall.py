"""The verdict over several tensors. This file knows rows, not how they came about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from precdiff.comparison.result import TensorComparison, Verdict
from precdiff.errors import NotComparableError

#: tensors shown of those that were not compared
_SHOWN = 8


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


def require_compared(rows: Iterable[TensorComparison], why: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise where nothing at all was compared: that is trouble, never success. `why` says more of a row by its id."""
    rows = list(rows)
    if all(row.verdict == "not_compared" for row in rows):
        said = (f"{row.name or row.id} {row.shape} {why.get(row.id) or _nothing(row)}" for row in rows[:_SHOWN])
        more = f", and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        advice = "Give an expected side to compare with" if any(why.values()) else "Check that both sides hold data"
        raise NotComparableError(f"nothing was compared: {', '.join(said) or 'no tensors'}{more}. {advice}.")


def _nothing(row: TensorComparison) -> str:
    if row.compared > row.extra.get("nan_pairs", 0):
        return f"has no limit ({row.rule})"
    return "holds nothing but NaN, as expected" if row.compared else "holds no elements"
