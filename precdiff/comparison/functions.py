"""Limits by function: a published table as text, and the name a table has for what computed a tensor.

Tables are about single functions of exact inputs. What they do not list, and what a table calls unbounded, has no
limit: such a tensor is not compared. This file must not know any table's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from precdiff.comparison.standard import Limits
from precdiff.errors import NotComparableError


def parsed(text: str) -> dict[str, tuple[float | None, ...]]:
    """Rows `name limit ...;` as a mapping; `-` is no limit.

    >>> parsed("exp 3 2; lgamma - -")
    {'exp': (3.0, 2.0), 'lgamma': (None, None)}
    """
    rows = [row.split() for row in text.split(";") if row.strip()]
    return {name: tuple(None if word == "-" else float(word) for word in words) for name, *words in rows}


def function_of(limits: Limits, standard: str, known: Mapping[str, object]) -> str:
    """What computed the tensor; an error where that is not known at all."""
    if not limits.op:
        raise NotComparableError(
            f"standard {standard!r} has a limit for each function and does not know which this is. Name it: --op NAME "
            f"(op= in Python), one of {', '.join(sorted(known))}"
        )
    return limits.op


def no_limit(standard: str, function: str, format: object) -> str:
    """Why a tensor is not compared."""
    return f"{standard} states no limit for {function} in {format}"
