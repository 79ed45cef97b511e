"""The dumps of both sides, member by member: which dump goes with which, and how their tensors belong together.

A member is one dump, or the ranks of one step that a rule joins, and its partner. Dumps of several steps and ranks are
paired by those numbers, in order of steps, then ranks. This file knows dumps and pairs; it must not judge.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from precdiff.comparison.alignment import Alignment, align
from precdiff.comparison.mapping import Rule, mapped, read_rules
from precdiff.diagnose.recorded.judging import Judged, Recording, judged_dump
from precdiff.diagnose.recorded.partners import Sides
from precdiff.diagnose.settings import Settings
from precdiff.dump import Dump, open_dumps
from precdiff.errors import NotComparableError
from precdiff.report.sources import shown

PAIRING = "precdiff.pairing/1"


@dataclass(frozen=True)
class Opened:
    """The dumps of both sides, `expected` None where there is no such side, and how each side was called."""

    actual: Sequence[Dump]
    expected: Sequence[Dump] | None
    names: tuple[str, str]
    rules: Sequence[Rule] = ()


@dataclass(frozen=True)
class Member:
    """One dump, and its partner where there is an expected side."""

    actual: Recording
    expected: Recording | None = None
    alignment: Alignment | None = None

    def judged(self, settings: Settings) -> list[Judged]:
        """What is said of every tensor, in the order of the steps."""
        if self.expected is None or self.alignment is None:
            return list(judged_dump(self.actual))
        sides = Sides(self.actual, self.expected, self.alignment.pairs, self.alignment.how)
        if settings.standard != "auto":
            return list(sides.every(settings.standard, settings.limits()))
        return [judged for step in self.actual.dump.steps for judged in sides.judged(step)] + sides.loose()


@dataclass(frozen=True)
class Members:
    """All members in order, dumps without a partner by side, and rules that fitted nothing."""

    members: Sequence[Member]
    alone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    idle: Sequence[str] = ()


@contextlib.contextmanager
def recorded_sides(actual: Any, expected: Any, mapping: str | Path | None = None) -> Iterator[Opened | None]:
    """The dumps of both sides where one is of another program, else None; what was opened is closed again."""
    with contextlib.ExitStack() as stack:
        sides = [None if side is None else _opened(side, stack) for side in (actual, expected)]
        dumps = [dump for side in sides for dump in side or ()]
        if not any(is_recorded(dump) for dump in dumps):
            if mapping is not None:
                raise NotComparableError(f"--map {mapping}: it goes with two dumps of other programs")
            yield None
            return
        for side, given in zip(sides, (actual, expected), strict=True):
            if side == []:
                raise NotComparableError(
                    f"found {type(given).__name__} on one side and a dump of another program on the other; "
                    "both must be dumps"
                )
        rules = () if mapping is None else read_rules(mapping)
        yield Opened(sides[0] or [], sides[1], (shown(actual), shown(expected)), rules)


def _opened(side: Any, stack: contextlib.ExitStack) -> list[Dump]:
    if isinstance(side, Dump):
        return [side]
    if not isinstance(side, str | Path):
        return []
    dumps = open_dumps(side)
    for dump in dumps:
        stack.enter_context(dump)
    return dumps


def is_recorded(dump: Any) -> bool:
    """Whether a dump is of a program that PrecDiff cannot replay: it has no profile."""
    return isinstance(dump, Dump) and not dump.attrs.profile


def members(sides: Opened) -> Members:
    """The members of both sides, in order of steps, then ranks."""
    if sides.expected is None:
        if sides.rules:
            raise NotComparableError("--map: it goes with two sides; give EXPECTED")
        return Members([Member(Recording(dump)) for dump in sorted(sides.actual, key=_place)])
    actual = _placed(sides.actual, sides.rules, "actual")
    expected = _placed(sides.expected, sides.rules, "expected")
    if len(actual) == len(expected) == 1:
        expected = dict(zip(actual, expected.values(), strict=True))
    both = [place for place in actual if place in expected]
    if not both:
        found = f"actual has {_said(actual)}, expected has {_said(expected)}"
        raise NotComparableError(f"no step and rank is on both sides: {found}")
    made = [_member(actual[place], expected[place], sides.rules) for place in both]
    alone = {
        "only_in_actual": [str(d.path) for p, ranks in actual.items() if p not in expected for d in ranks],
        "only_in_expected": [str(d.path) for p, ranks in expected.items() if p not in actual for d in ranks],
    }
    idle = [rule for rule in (made[0][1] if made else ()) if all(rule in others for _, others in made)]
    return Members([member for member, _ in made], {k: v for k, v in alone.items() if v}, idle)


Place = tuple[int, int, int]


def _placed(dumps: Sequence[Dump], rules: Sequence[Rule], side: str) -> dict[Place, list[Dump]]:
    """Dumps by (step, rank, microbatch) in that order; the ranks of a step together where a rule joins shards."""
    joined = any(rule.kind == "shards" and rule.given["side"] == side for rule in rules)
    found: dict[Place, list[Dump]] = {}
    for dump in sorted(dumps, key=_place):
        step, rank, microbatch = _place(dump)
        found.setdefault((step, 0 if joined else rank, microbatch), []).append(dump)
    if not joined:
        _require_alone(found, side)
    return found


def _require_alone(found: Mapping[Place, Sequence[Dump]], side: str) -> None:
    for dumps in found.values():
        if len(dumps) > 1:
            names = ", ".join(str(dump.path) for dump in dumps[:4])
            raise NotComparableError(
                f"{side} holds {len(dumps)} dumps of one step and rank: {names}; name one of them, or record them with "
                "iteration= and rank="
            )


def _place(dump: Dump) -> Place:
    attrs = dump.attrs
    step, rank, microbatch = (-1 if x is None else x for x in (attrs.iteration, attrs.rank, attrs.microbatch))
    return step, rank, microbatch


def _said(places: Mapping[Place, Any]) -> str:
    return ", ".join(f"step {step} rank {rank}" for step, rank, _ in places)


def _member(actual: Sequence[Dump], expected: Sequence[Dump], rules: Sequence[Rule]) -> tuple[Member, Sequence[str]]:
    """A member, and the rules that fitted nothing of it."""
    if not rules:
        return Member(Recording(actual[0]), Recording(expected[0]), align(actual[0], expected[0])), ()
    made = mapped(actual, expected, rules)
    alignment = align(made.actual, made.expected, made.pairs)
    return Member(Recording(made.actual), Recording(made.expected), alignment), made.idle


def pairing_document(found: Members, names: tuple[str, str]) -> dict[str, Any]:
    """What `--dry-run` says: every pair and how it was made, and what has no partner."""
    rows = [
        {"iteration": m.actual.dump.attrs.iteration, "rank": m.actual.dump.attrs.rank, **_paired(m.alignment)}
        for m in found.members
        if m.alignment is not None
    ]
    return {
        "schema": PAIRING, "actual": names[0], "expected": names[1], "members": rows, **found.alone,
        "idle_rules": list(found.idle),
    }  # fmt: skip


def _paired(alignment: Alignment) -> dict[str, Any]:
    pairs = [{"actual": a, "expected": e, "paired_by": alignment.how[a]} for a, e in alignment.pairs.items()]
    alone = {"actual": list(alignment.unmatched_actual), "expected": list(alignment.unmatched_expected)}
    return {"pairs": pairs, "unmatched": alone}
