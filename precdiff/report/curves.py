"""Loss and gradient norm over the steps of a training run, against those of another run of the same.

    first   |a - e| / |e| of the first step          mean   of all steps, of absolute values

A curve is a scalar that is recorded in several steps under a name ending in `loss` or `grad_norm`, on both sides. It is
judged as a whole, and each of its scalars as it is: two machines that round differently train apart, bit by bit. The
limits are those by which a migrated training run is accepted (Ascend, training accuracy comparison: loss of the first
step below 0.5 %, on average below 1 %; gradient norm on average at most 10 %). This file must not know dumps' formats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from precdiff.diagnose.recorded.judging import Judged
from precdiff.report.members import Member


@dataclass(frozen=True)
class CurveRule:
    """A kind of curve by the end of its name, and its limits; None where the guide states none."""

    name: str
    pattern: str
    first: float | None
    mean: float


#: Ascend "Training accuracy comparison": acceptance of a migrated model
RULES = (
    CurveRule("loss", r"(^|[./_ ])loss(\.output\.0)?$", 0.005, 0.01),
    CurveRule("gradient norm", r"grad(ient)?_?norm(\.output\.0)?$", None, 0.1),
)


def curves(members: Sequence[Member]) -> list[dict[str, Any]]:
    """Every curve with its errors, limits and verdict; none where there is a single step."""
    steps: dict[tuple[str, int], dict[int, tuple[float, float]]] = {}
    for member in members:
        iteration, rank = member.actual.dump.attrs.iteration, member.actual.dump.attrs.rank
        if iteration is not None:
            for name, pair in _scalars(member).items():
                steps.setdefault((name, -1 if rank is None else rank), {})[iteration] = pair
    return [_judged(name, rank, values) for (name, rank), values in steps.items() if len(values) > 1]


def _rule(name: str) -> CurveRule | None:
    return next((rule for rule in RULES if re.search(rule.pattern, name.lower())), None)


def _scalars(member: Member) -> dict[str, tuple[float, float]]:
    """(actual, expected) of the scalars that are curves."""
    if member.alignment is None or member.expected is None:
        return {}
    mine, theirs = member.actual.contents, member.expected.contents
    found = {}
    for id, other in member.alignment.pairs.items():
        if _rule(id) and mine.row(id).size == 1 and mine.held(id) and theirs.held(other):
            found[id] = float(mine.operand(id).values.item()), float(theirs.operand(other).values.item())
    return found


def by_curve(judged: Judged, found: Sequence[Mapping[str, Any]]) -> Judged:
    """A scalar of a curve has the verdict of that curve; anything else stays as it was judged."""
    for curve in found:
        if (curve["name"], curve["rank"]) == (judged.row.id, judged.row.rank):
            said_of = said(curve)
            return replace(judged, row=replace(judged.row, verdict=curve["verdict"], rule=said_of), why=said_of)
    return judged


def _judged(name: str, rank: int, values: Mapping[int, tuple[float, float]]) -> dict[str, Any]:
    rule = _rule(name)
    assert rule is not None
    errors = [_relative(*values[step]) for step in sorted(values)]
    mean = math.fsum(errors) / len(errors)
    over = not mean <= rule.mean or (rule.first is not None and not errors[0] < rule.first)
    return {
        "name": name, "kind": rule.name, "rank": None if rank < 0 else rank, "steps": len(errors), "first": errors[0],
        "mean": mean, "first_limit": rule.first, "mean_limit": rule.mean, "verdict": "fail" if over else "pass",
    }  # fmt: skip


def _relative(actual: float, expected: float) -> float:
    """NaN and infinities on one side are infinitely far; the same on both are not."""
    if actual == expected or (math.isnan(actual) and math.isnan(expected)):
        return 0.0
    if not (math.isfinite(actual) and math.isfinite(expected)) or expected == 0:
        return math.inf
    return abs(actual - expected) / abs(expected)


def said(curve: Mapping[str, Any]) -> str:
    """A curve as a sentence."""
    first = "" if curve["first_limit"] is None else f"first step {curve['first']:.2%} (< {curve['first_limit']:.1%}), "
    mean = f"mean {curve['mean']:.2%} (<= {curve['mean_limit']:.0%})"
    place = "" if curve["rank"] is None else f", rank {curve['rank']}"
    return f"{curve['name']}{place} over {curve['steps']} steps: {first}{mean}: {curve['verdict']}"
