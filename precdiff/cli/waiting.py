"""What pending, review, accept and reject have in common: the files that wait, which are meant, and how they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from precdiff.errors import FileError, NotComparableError, PrecDiffError

if TYPE_CHECKING:
    from precdiff.dump.baselines import Baseline, Kept
    from precdiff.report import Report

in_option = click.option(
    "--in", "places", multiple=True, type=click.Path(), metavar="FOLDER", help="Where to look. [the working folder]"
)


@dataclass(frozen=True)
class Waiting:
    """A pending file, what it holds, and the baseline it is to become (None: there is none yet)."""

    path: Path
    newer: Baseline
    older: Baseline | None

    @property
    def states(self) -> dict[str, str]:
        """Whether each name is new or changed."""
        held = self.older.kept if self.older is not None else {}
        return {name: "changed" if name in held else "new" for name in self.newer.kept}

    def line(self) -> str:
        """The test, and its names."""
        return f"{self.newer.owner}: {', '.join(f'{name} ({state})' for name, state in self.states.items())}"

    def document(self) -> dict[str, object]:
        """The same as data."""
        return {"test": self.newer.owner, "path": str(self.path), "names": self.states}


def waiting(places: Sequence[str], words: Sequence[str] = ()) -> list[Waiting]:
    """What waits under some folders; with `words`, what those mean, each of which has to mean something."""
    from precdiff.dump import baselines

    found = [_read(path) for path in baselines.find([Path(p) for p in places or ["."]], pending=True)]
    if not words:
        return found
    meant = {word: [one for one in found if baselines.matches(one.newer.owner, one.path, word)] for word in words}
    unknown = next((word for word, those in meant.items() if not those), None)
    if unknown is not None:
        there = ", ".join(one.newer.owner for one in found) or "nothing"
        raise FileError(f"{unknown}: nothing of that name is pending; pending is {there}")
    return [one for one in found if any(one in those for those in meant.values())]


def meant(places: Sequence[str], words: Sequence[str], every: bool) -> list[Waiting]:
    """What accept and reject act on: what is named, or all of it where that is said."""
    found = waiting(places, words)
    if bool(words) == every:
        there = ", ".join(one.newer.owner for one in found) or "nothing"
        raise PrecDiffError(f"say which TESTs, or --all, and not both; pending is {there}")
    return found


def _read(path: Path) -> Waiting:
    from precdiff.dump import baselines

    accepted = baselines.accepted_of(path)
    older = baselines.read_baseline(accepted) if accepted.exists() else None
    return Waiting(path, baselines.read_baseline(path), older)


def describe(one: Waiting) -> list[str]:
    """How what was found differs from the baseline, as text: values, and figures against the truth."""
    lines = [one.line()]
    for name, kept in one.newer.kept.items():
        before = one.older.kept.get(name) if one.older is not None else None
        lines += ["", *(_difference(name, before, kept) if before is not None else _new(name, kept))]
    return lines


def _new(name: str, kept: Kept) -> list[str]:
    return [f"{name}: new, {_kind(kept)}", *_figures({}, kept.figures)]


def _difference(name: str, before: Kept, kept: Kept) -> list[str]:
    from precdiff.report import render

    figures = _figures(before.figures, kept.figures)
    if before.values is None or kept.values is None or _kind(before) != _kind(kept):
        return [f"{name}: was {_kind(before)}, is {_kind(kept)}", *figures]
    try:
        return [*render(_report(name, before, kept)).rstrip("\n").splitlines(), *figures]
    except NotComparableError as error:
        return [f"{name}: {error}", *figures]


def _report(name: str, before: Kept, kept: Kept) -> Report:
    from precdiff import api

    report = api.compare({name: kept.native}, {name: before.native})
    about = {**report.provenance, "next": "accept, reject or skip"}
    return dataclasses.replace(report, actual="pending", expected="baseline", provenance=about)


def in_words(kept: Kept) -> str:
    """What is kept under a name, in one line."""
    return "; ".join([_kind(kept), *(line.strip() for line in _figures({}, kept.figures))])


def _kind(kept: Kept) -> str:
    if kept.values is None:
        return "figures only"
    return f"{kept.format} {'x'.join(map(str, kept.values.shape)) or 'scalar'}"


def _figures(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    from precdiff.report.numbers import error

    said = {name: f"{error(before[name])} -> " if name in before else "" for name in after}
    shown = [f"{name} {said[name]}{error(value)}" for name, value in after.items()]
    return [f"  against the truth: {', '.join(shown)}"] if shown else []
