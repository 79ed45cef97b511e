"""The Report of dumps that other programs wrote: calls judged by their own inputs, tensors by their partners.

Under `auto` no golden run is needed (diagnose/recorded); with an expected side every tensor also has its error against
that, and what only one side has is listed. Under any other standard tensors are compared with their partners. Dumps of
several steps and ranks are aligned by those numbers: the first divergence is that of the first step, then rank, then
call.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Sequence
from typing import Any

from precdiff.comparison import overall, require_compared
from precdiff.diagnose.recorded.explaining import explained
from precdiff.diagnose.recorded.judging import Judged
from precdiff.diagnose.recorded.summaries import overflowed_by_itself
from precdiff.diagnose.settings import Settings
from precdiff.errors import NotComparableError
from precdiff.report.curves import by_curve, curves
from precdiff.report.judged import held_back, versions
from precdiff.report.members import Member, Members, Opened, members
from precdiff.report.report import Report, Unmatched

Kept = Sequence[tuple[Member, Judged]]

#: tensors whose failure is explained, first in order
EXPLAINED = 3
_RULE = "calls: what their own recorded inputs allow; other tensors: the values of what made them"


def recorded_report(
    sides: Opened, settings: Settings, layer: str | None = None, *,
    budget: float = 60.0, explain: bool = False,
) -> Report:  # fmt: skip
    """Judge dumps of other programs, against an expected side or by themselves."""
    made = members(sides)
    trained = curves(made.members) if settings.standard == "auto" else []
    found = [(member, by_curve(judged, trained)) for member in made.members for judged in member.judged(settings)]
    kept = [(m, j) for m, j in found if layer is None or fnmatch.fnmatch(j.row.layer, layer)]
    if not kept:
        raise NotComparableError(_nothing(sides, layer, found))
    require_compared([j.row for _, j in kept], {j.row.id: f"({j.why})" for _, j in kept if j.why})
    failing = [(m, j) for m, j in kept if j.row.verdict == "fail"]
    findings = [f for m, j in failing[:EXPLAINED] for f in explained(m.actual, j, budget)] if explain else []
    report = Report.of(
        [j.row for _, j in kept],
        verdict=overall(j.row.verdict for _, j in kept if j.row.verdict != "not_compared"),
        standard=settings.standard,
        rule=_RULE if settings.standard == "auto" else kept[0][1].row.rule,
        actual=sides.names[0],
        expected=sides.names[1] if sides.expected else "each call's own inputs",
        first_divergence=failing[0][1].row.id if failing else None,
        unmatched=_unmatched(made.members),
        findings=tuple(findings),
        provenance={**versions(), **_curves(trained), **_notes(made, kept, failing),
                    **_next(sides, failing, explain=explain)},
    )  # fmt: skip
    return held_back(
        report, "" if all(dump.complete for dump in sides.actual) else "the recording did not come to its end"
    )


def _unmatched(members: Sequence[Member]) -> Unmatched:
    found = [m.alignment for m in members if m.alignment is not None]
    return Unmatched(
        tuple(id for a in found for id in a.unmatched_actual), tuple(id for a in found for id in a.unmatched_expected)
    )


def _curves(trained: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"curves": list(trained)} if trained else {}


def _notes(made: Members, kept: Kept, failing: Kept) -> dict[str, Any]:
    """What was not compared and why; how tensors were paired; statistics that overflowed by themselves; and where in
    a larger run it first diverges.
    """
    members, notes = made.members, dict[str, Any](made.alone)
    if made.idle:
        notes["idle_rules"] = list(made.idle)
    if failing and len(members) > 1:
        row = failing[0][1].row
        notes["diverges_at"] = {"iteration": row.iteration, "rank": row.rank}
    silent = {j.row.id: j.why for _, j in kept if j.row.verdict == "not_compared"}
    if silent:
        notes["not_compared"] = silent
    counts = [m.alignment.counts() for m in members if m.alignment is not None]
    if counts:
        notes["paired_by"] = {how: sum(c.get(how, 0) for c in counts) for c in counts for how in c}
    odd = {id: names for m in members for id, row in m.actual.dump.tensors.items()
           if (names := overflowed_by_itself(row))}  # fmt: skip
    if odd:
        notes["statistics_overflowed"] = odd
    return notes


def _next(sides: Opened, failing: Kept, *, explain: bool) -> dict[str, str]:
    """What to do where it fails: explain it, and then run the call again by itself."""
    step = failing[0][1].step if failing else ""
    words = ["precdiff", "explain", sides.names[0], *([sides.names[1]] if sides.expected else [])]
    if not failing or (explain and not step):
        return {}
    return {"next": shlex.join([*words, *(["--repro", step] if explain else [])])}


def _nothing(sides: Opened, layer: str | None, found: Sequence[tuple[Member, Judged]]) -> str:
    layers = sorted({judged.row.layer for _, judged in found} - {""})
    if layer is not None and layers:
        return f"no layer matches {layer!r}; there are {', '.join(layers[:20])}"
    mine, theirs = sides.names
    if sides.expected is None:
        return f"{mine}: no call was recorded, and there is no expected side to compare tensors with"
    advice = "--dry-run lists both sides, and --map says what belongs together"
    return f"no tensor of {mine} has a partner in {theirs}; {advice}"
