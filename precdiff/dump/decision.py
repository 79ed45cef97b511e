"""A decision on a result, what stands of many, and their JSON (precdiff.decisions/1).

What stands on a subject is its newest decision that no other has undone:

    standing(s) = last { d of s : d is no undo, and no undo of s names d },  in order of time

A decision is bound to the content hash it was made on: of other content it still tells, but does not hold (`holds`).
This file knows what a decision is; decisions.py keeps them, and what follows from them is said elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, get_args

from precdiff.errors import FileError, PrecDiffError

SCHEMA = "precdiff.decisions/1"

Kind = Literal["tensor", "finding", "baseline"]
Ruling = Literal["accept", "reject", "needs_work", "undo"]


@dataclass(frozen=True)
class Decision:
    """One decision. The subject is (kind, run, name): `run` is the dump's path below the root, `name` a tensor's id,
    a finding's id or a baseline's name. `content` is the hash decided upon, `max_ulp` the limit it is accepted to
    (None: none was set), `expires` the last day it holds (ISO date; "": no end). The store sets key, at, number.
    """

    kind: Kind
    run: str
    name: str
    verdict: Ruling
    author: str
    content: str = ""
    reason: str = ""
    layer: str = ""
    max_ulp: float | None = None
    expires: str = ""
    undoes: str = ""
    key: str = ""
    at: str = ""
    number: int = 0

    @property
    def subject(self) -> tuple[str, str, str]:
        """What is decided upon."""
        return self.kind, self.run, self.name

    def holds(self, content: str, today: date) -> bool:
        """Whether it speaks of this very content, and still does."""
        return content == self.content and not self.expired(today)

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return bool(self.expires) and today > date.fromisoformat(self.expires)


FIELDS = tuple(field.name for field in dataclasses.fields(Decision))
STORED = tuple(name for name in FIELDS if name != "number")


def standing(history: Sequence[Decision]) -> list[Decision]:
    """What stands of a history in order of time: of each subject the newest decision that was not undone.

    >>> first = Decision("tensor", "a.h5", "exp", "accept", "Li", key="1")
    >>> second = dataclasses.replace(first, verdict="reject", key="2")
    >>> back = dataclasses.replace(second, verdict="undo", key="3", undoes="2")
    >>> [row.verdict for row in standing([first, second])], [row.verdict for row in standing([first, second, back])]
    (['reject'], ['accept'])
    """
    undone = {row.undoes for row in history if row.verdict == "undo"}
    kept = [row for row in history if row.verdict != "undo" and row.key not in undone]
    newest = {row.subject: row for row in kept}
    return [row for row in kept if newest[row.subject] is row]


def check(decision: Decision) -> None:
    """Raise where a decision is none."""
    allowed = {"kind": get_args(Kind), "verdict": get_args(Ruling)}
    for name, words in allowed.items():
        if getattr(decision, name) not in words:
            raise PrecDiffError(f"{name}: found {getattr(decision, name)!r}; allowed is one of {', '.join(words)}")
    for name in ("run", "name", "author"):
        if not getattr(decision, name).strip():
            raise PrecDiffError(f"a decision names its {name}; found none")
    if decision.max_ulp is not None and not decision.max_ulp >= 0:
        raise PrecDiffError(f"max_ulp: found {decision.max_ulp}; allowed is a number of at least 0")
    if decision.expires:
        _day(decision.expires)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise PrecDiffError(f"expires: found {text!r}; allowed is a day as in 2027-03-31") from None


def write(history: Sequence[Decision]) -> dict[str, Any]:
    """Decisions as a JSON document."""
    return {"schema": SCHEMA, "decisions": [_to_json(row) for row in history]}


def _to_json(decision: Decision) -> dict[str, Any]:
    row = {name: getattr(decision, name) for name in STORED}
    return row | ({"max_ulp": "inf"} if decision.max_ulp == float("inf") else {})


def read(document: Mapping[str, Any]) -> list[Decision]:
    """The decisions of a JSON document; FileError where one is none."""
    if document.get("schema") != SCHEMA or not isinstance(document.get("decisions"), list):
        raise FileError(f"no decisions: schema is {document.get('schema')!r}, allowed is {SCHEMA!r}")
    return [_row(number, row) for number, row in enumerate(document["decisions"])]


def _row(number: int, row: Any) -> Decision:
    """One decision of a document; FileError with its place where it is none."""
    try:
        limit = row["max_ulp"]
        texts = {name: row[name] for name in STORED if name != "max_ulp"}
        if not all(isinstance(text, str) for text in texts.values()) or not texts["key"]:
            raise TypeError
        made = Decision(**texts, max_ulp=None if limit is None else float(limit))
        if datetime.fromisoformat(made.at).utcoffset() != timedelta(0):
            raise ValueError
        check(made)
    except (KeyError, TypeError, ValueError, PrecDiffError) as error:
        told = str(error) if isinstance(error, PrecDiffError) else "not as PrecDiff writes it"
        raise FileError(f"decisions[{number}]: {told}") from None
    return made
