"""Tune: the fewest steps to keep in a wider format so that a standard holds.

A trial is one replay: the chosen steps have format `wide`, their consumers read the unrounded value. Delta debugging
(Zeller and Hildebrandt 2002, ddmin) gives a set of which no step may be left out (1-minimal); success is not monotone
in the set, so up to 16 steps every smaller set is tried as well and the answer is a minimum, proven. Beyond, it is
1-minimal and may not be the smallest.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from precdiff.errors import PrecDiffError
from precdiff.formats import get_format
from precdiff.trace import Change, Region, Trace, replay

#: steps up to which every smaller set is tried
EXACT = 16

Steps = tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """A set of steps kept wide, the error it leaves (the judge's number), and whether the standard holds."""

    steps: Steps
    error: float
    holds: bool


@dataclass(frozen=True)
class Tuned:
    """`best` is None where not even all steps kept wide make the standard hold."""

    best: Trial | None
    minimum: bool
    candidates: Steps
    wide: str
    pareto: tuple[Trial, ...]
    replays: int


#: a trace -> (error, whether the standard holds)
Judge = Callable[[Trace], tuple[float, bool]]


def tune(trace: Trace, judge: Judge, wide: str = "fp32", budget: float = math.inf) -> Tuned:
    """The smallest set that makes `judge` hold, and the best error seen for every number of wide steps."""
    search = _Search(trace, judge, wide, budget)
    everything = search.candidates
    if search.trial(()).holds:
        return search.result(search.trial(()), minimum=True)
    if not search.trial(everything).holds:
        return search.result(None, minimum=True)
    small = search.one_minimal(everything)
    exact = len(everything) <= EXACT
    found = search.smaller(len(small)) if exact else None
    return search.result(search.trial(found if found is not None else small), minimum=exact and not search.spent)


def candidates(trace: Trace, wide: str) -> Steps:
    """The steps whose results have fewer digits than `wide`."""
    formats = {s.id: get_format(s.format) for s in trace.steps}
    return tuple(id for id, row in formats.items() if row.is_float and row.p < get_format(wide).p)


def operations(trace: Trace, steps: Iterable[str], wide: str) -> dict[str, int]:
    """How many element operations run in each format, with those steps kept wide."""
    kept, found = set(steps), Counter[str]()
    for step in trace.steps:
        if step.inputs:
            found[wide if step.id in kept else step.format] += int(trace.values[step.id].size)
    return dict(sorted(found.items()))


class _Search:
    """Trials, each replayed once."""

    def __init__(self, trace: Trace, judge: Judge, wide: str, budget: float) -> None:
        if not get_format(wide).is_float:
            raise PrecDiffError(f"tune: found {wide}; allowed is a float format to widen to, as fp32")
        self.trace, self.judge, self.wide = trace, judge, get_format(wide).name
        self.candidates = candidates(trace, wide)
        self.end = time.monotonic() + budget
        self.known: dict[Steps, Trial] = {}

    @property
    def spent(self) -> bool:
        """Whether the budget is."""
        return time.monotonic() > self.end

    def trial(self, steps: Iterable[str]) -> Trial:
        chosen = set(steps)
        key = tuple(id for id in self.candidates if id in chosen)
        if key not in self.known:
            changes: dict[str | Region, Change] = {id: Change("format", self.wide, "wide") for id in key}
            made = replay(self.trace, changes) if key else self.trace
            self.known[key] = Trial(key, *self.judge(made))
        return self.known[key]

    def one_minimal(self, steps: Steps) -> Steps:
        """ddmin: halves, quarters and so on of what is left, and their complements, until single steps are tried."""
        parts = 2
        while len(steps) > 1 and not self.spent:
            chunks = [steps[i * len(steps) // parts : (i + 1) * len(steps) // parts] for i in range(parts)]
            rests = [tuple(s for s in steps if s not in set(chunk)) for chunk in chunks]
            kept = next((s for s in [*chunks, *rests] if len(s) < len(steps) and self.trial(s).holds), None)
            if kept is not None:
                steps, parts = kept, (2 if kept in chunks else max(parts - 1, 2))
            elif parts >= len(steps):
                break
            else:
                parts = min(len(steps), 2 * parts)
        return steps

    def smaller(self, size: int) -> Steps | None:
        """The first set of fewer than `size` steps that holds, by size."""
        for count in range(1, size):
            for steps in itertools.combinations(self.candidates, count):
                if self.spent:
                    return None
                if self.trial(steps).holds:
                    return steps
        return None

    def result(self, best: Trial | None, minimum: bool) -> Tuned:
        """With the best error seen for each number of wide steps, while it falls."""
        front: list[Trial] = []
        for trial in sorted(self.known.values(), key=lambda t: (len(t.steps), t.error)):
            if not front or trial.error < front[-1].error:
                front.append(trial)
        return Tuned(best, minimum, self.candidates, self.wide, tuple(front), len(self.known))
