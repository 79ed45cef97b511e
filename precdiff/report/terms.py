"""What became of limits, waivers and decisions, in words (rows.py): who accepted what, and which rows do nothing."""

from __future__ import annotations

from collections.abc import Sequence

from precdiff.comparison import TensorComparison
from precdiff.report import numbers
from precdiff.report.report import Agreed, Report

_OUTCOMES = {
    "judged": "judges {names}",
    "set aside": "set aside, since standard or limits were given for all: {names}",
    "accepted": "accepts {names}",
    "exceeded": "does not accept {names}: beyond its limit, or not compared",
    "expired": "expired, and accepts nothing: {names}",
    "unneeded": "not needed, {names} within the standard; delete it",
    "reopened": "{names} changed since; decide again",
    "overruled": "set aside, the configuration speaks of {names}",
    "reject": "rejects {names}",
    "needs_work": "asks for work on {names}",
}
_NOTHING = "names no tensor that was compared; correct or delete it"
#: names shown of many
_MOST = 5


def terms(report: Report) -> list[tuple[str, str]]:
    """A fact for every row of the configuration and the store that did something, or should and does not."""
    return [(row.kind, sentence(row)) for row in report.agreed if row.kind != "limit" or "judged" not in row.outcome]


def sentence(row: Agreed) -> str:
    """What became of one row."""
    said = [_OUTCOMES.get(word, word + " {names}").format(names=_names(names)) for word, names in row.outcome.items()]
    return f"{row.source} ({_what(row)}): {'; '.join(said) or _NOTHING}"


def envelope(report: Report) -> str:
    """The verdicts over the candidates of an assumed profile; empty without an envelope."""
    rows = [(row, " (waived)" if row.waived else "") for row in report.envelope or ()]
    return ", ".join(f"{row.profile} {row.verdict}{waived}" for row, waived in rows)


def is_overdue(row: Agreed) -> bool:
    """Whether somebody should look at a row: it expired, is exceeded, was changed under, or does nothing."""
    return not row.outcome or bool({"expired", "exceeded", "unneeded", "reopened"} & set(row.outcome))


def _what(row: Agreed) -> str:
    """Scope, limit, reason, author and last day."""
    scope = [row.tensor or "any tensor", f"layer {row.layer}" if row.layer else ""]
    limit = "" if row.max_ulp is None else f"up to {numbers.error(row.max_ulp)} ULP"
    until = f"until {row.expires}" if row.expires else ""
    return ", ".join(part for part in (*scope, limit, row.standard, row.reason, row.author, until) if part)


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def waived_by(tensor: TensorComparison) -> str:
    """Under what a tensor was accepted, as a sentence; empty where it was not."""
    how = tensor.waived
    if how is None:
        return ""
    until = f", until {how.expires}" if how.expires else ""
    limit = "" if how.max_ulp is None else f" up to {numbers.error(how.max_ulp)} ULP"
    return f"waived{limit} by {how.author}{until} ({how.source}): {how.reason}"
