"""Proof: the same trace replayed with one change, and what became of the statistic.

verified    after <= max(limit / 2, 1.1 floor)  and  before - after >= 0.75 (before - floor)
candidate   before - after >= 0.5 (before - floor)
otherwise   insufficient                                                               (DESIGN 4, "Standing")
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from precdiff.diagnose.finding import Counterfactual, Standing
from precdiff.diagnose.problem import Problem
from precdiff.errors import PrecDiffError
from precdiff.trace import Change, Region, replay

Changes = Mapping[str | Region, Change]


class Prover:
    """Replays hypotheses of one problem, each once, within a budget of seconds."""

    def __init__(self, problem: Problem, budget: float = math.inf) -> None:
        self.problem = problem
        self.replays = 0
        #: (rule, hypothesis) in the order they were tried
        self.hypotheses: list[tuple[Any, Any]] = []
        self._deadline = time.monotonic() + budget
        self._known: dict[str, Counterfactual | None] = {}

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return time.monotonic() > self._deadline

    def prove(self, changes: Changes) -> Counterfactual | None:
        """The counterfactual of these changes; None where they cannot be replayed or no budget is left."""
        key = "; ".join(f"{where}: {change}" for where, change in changes.items())
        if key not in self._known:
            self._known[key] = None if self.exhausted else self._replayed(changes)
        return self._known[key]

    def _replayed(self, changes: Changes) -> Counterfactual | None:
        problem = self.problem
        self.replays += 1
        try:
            after = problem.statistic(replay(problem.trace, changes).values[problem.tensor])
        except PrecDiffError:
            return None
        factor = math.inf if after == 0 else problem.before / after
        return Counterfactual(describe(changes), problem.before, after, problem.floor, factor, False)

    def standing(self, found: Counterfactual | None) -> Standing:
        """What the counterfactual proves."""
        if found is None:
            return "insufficient"
        removed, excess = found.error_before - found.error_after, found.error_before - found.floor
        if self.problem.settles(found.error_after):
            return "verified"
        return "candidate" if excess > 0 and removed >= 0.5 * excess else "insufficient"


def describe(changes: Changes) -> dict[str, Any]:
    """The JSON form of changes: a list of {steps, kind, value, exit}."""
    rows = [
        {"steps": list(where.steps) if isinstance(where, Region) else [where], **change.to_json()}
        for where, change in changes.items()
    ]
    return rows[0] if len(rows) == 1 else {"changes": rows}
