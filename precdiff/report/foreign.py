"""What a report says of a dump of another program as a whole: how it was paired, and what nothing can be said of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from precdiff.report.curves import said as curve_said
from precdiff.report.report import Report

#: names that are written out
_NAMED = 8


def some(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def recorded(report: Report) -> list[tuple[str, str]]:
    """The facts; none of a run of PrecDiff."""
    found, facts = report.provenance, list[tuple[str, str]]()
    paired, silent = found.get("paired_by") or {}, found.get("not_compared") or {}
    facts += [("paired", ", ".join(f"{count} by {how}" for how, count in paired.items()))] if paired else []
    if silent:
        reason = next(iter(silent.values()))
        facts += [("not compared", f"{len(silent)}: {some(list(silent))}; the first because {reason}")]
    odd = found.get("statistics_overflowed") or {}
    said = "their mean or norm overflowed when it was computed, the tensors did not"
    facts += [("statistics", f"{len(odd)}: {some(list(odd))}; {said}")] if odd else []
    facts += [("curve", curve_said(curve)) for curve in found.get("curves") or ()]
    place = found.get("diverges_at") or {}
    if place:
        facts += [("diverges at", ", ".join(f"{key} {value}" for key, value in place.items() if value is not None))]
    for key, said in _SAID.items():
        facts += [(said, some(found[key]))] if found.get(key) else []
    return facts


#: keys of the provenance that list names
_SAID = {
    "only_in_actual": "dumps only in actual", "only_in_expected": "dumps only in expected",
    "idle_rules": "rules that fit nothing",
}  # fmt: skip


def pairing_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """What `--dry-run` prints."""
    for member in document["members"]:
        places = [f"{key} {member[key]}" for key in ("iteration", "rank") if member[key] is not None]
        yield f"{', '.join(places) or 'one dump'}: {len(member['pairs'])} pairs"
        for pair in member["pairs"]:
            same = pair["actual"] == pair["expected"]
            yield f"  {pair['actual']}{'' if same else ' = ' + pair['expected']}  ({pair['paired_by']})"
        for side, names in member["unmatched"].items():
            yield from (f"  only in {side}: {name}" for name in names)
    for key, said in _SAID.items():
        yield from (f"{said}: {name}" for name in document.get(key, ()))
