"""Checks: values of a test against the baseline that lies beside it, and what is to be written of them.

Every check is made before the test fails, so that one look shows all that changed. What differs is written as pending;
with --precdiff-update it becomes the baseline at once.

    missing     nothing is kept under that name yet                        update: new, all
    changed     the values are beyond the standard, or of another kind     update: changed, all
    worse       the figures against the truth lost more than is allowed    update: changed, all
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from precdiff import api
from precdiff.dump import baselines
from precdiff.dump.baselines import Baseline, Kept
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import carrier, format_of
from precdiff.report import Report, assertion
from precdiff.report.regression import Allowance, figures, losses, outputs_of
from precdiff.testing import places
from precdiff.testing.values import named_outputs

_UPDATED_BY = {"missing": ("new", "all"), "changed": ("changed", "all"), "worse": ("changed", "all"), "same": ("all",)}


@dataclass
class Found:
    """One name: what was found, and how it stands to the baseline."""

    kept: Kept
    state: str
    said: str = ""


@dataclass
class Checks:
    """The checks of one test."""

    owner: str
    path: Path
    where: str
    update: str
    allowance: Allowance
    found: dict[str, Found] = field(default_factory=dict)
    #: losses within what is allowed, not told yet
    lost: list[str] = field(default_factory=list)
    _held: Baseline | None = None
    _closed: int = 0

    @classmethod
    def of(cls, item: pytest.Item, allowance: Allowance) -> Checks:
        """Those of a test, none made yet."""
        path = places.baseline_path(item)
        update = places.setting(item.config, "update") or ""
        return cls(places.owner_of(item), path, places.shown(item.config, path), update, allowance)

    def check(
        self, name: Any, value: Any, truth: Report | None, values: bool, asked: Mapping[str, Any]
    ) -> Report | None:
        """Compare with what is kept; what differs is remembered until `close`."""
        if not isinstance(name, str) or not name:
            raise PrecDiffError(f"check: found the name {name!r}; allowed is a text that says what the value is")
        if not values and truth is None:
            raise PrecDiffError(
                f"check {name!r}: values=False keeps figures only; pass a Run, or expected, to have some"
            )
        arrays = _named(name, value)
        known = {} if truth is None else dict(zip(arrays, map(figures, outputs_of(truth).values()), strict=False))
        reports = [
            self._one(key, array if values else None, known.get(key, {}), asked) for key, array in arrays.items()
        ]
        made = [report for report in reports if report is not None]
        return _joined(made) if made else None

    def _one(self, name: str, array: Any, known: Mapping[str, float], asked: Mapping[str, Any]) -> Report | None:
        if name in self.found:
            raise PrecDiffError(f"check {name!r}: this test checked that name before; give every value its own")
        kept = Kept(None if array is None else carrier(array), "" if array is None else format_of(array).name, known)
        if array is not None:
            api.compare({name: array}, {name: array})  # nothing in it to compare: that is said now, not next time
        before = self.held.kept.get(name)
        if before is None:
            self.found[name] = Found(kept, "missing", f"{name}: the baseline keeps nothing of it yet")
            return None
        report, state, said = _compared(name, before, kept, asked)
        lost = losses(name, before.figures, known, self.allowance)
        failing = [str(loss) for loss in lost if loss.fails]
        if state == "same" and failing:
            state, said = "worse", "\n".join(f"worse than the baseline: {line}" for line in failing)
        self.found[name] = Found(kept, state, said)
        self.lost += [f"worse than the baseline: {loss}" for loss in lost if not loss.fails]
        return report

    @property
    def held(self) -> Baseline:
        """What is kept, read when first asked for."""
        if self._held is None:
            self._held = baselines.read_baseline(self.path) if self.path.exists() else Baseline(self.owner, {})
            if self._held.owner != self.owner:
                advice = "delete the file, or rename one of the tests"
                raise PrecDiffError(
                    f"{self.where} is the baseline of {self._held.owner}, not of {self.owner}; {advice}"
                )
        return self._held

    def close(self) -> str:
        """Write what is to be written, and say what the test fails of; empty where nothing, or said before."""
        new = len(self.found) - self._closed
        self._closed = len(self.found)
        if not new:
            return ""
        taken = {name: row.kept for name, row in self.found.items() if self.update in _UPDATED_BY[row.state]}
        if taken:
            baselines.update(self.path, Baseline(self.owner, taken))
        left = {name: row for name, row in self.found.items() if row.state != "same" and name not in taken}
        pending = baselines.pending_of(self.path)
        if not left:
            pending.unlink(missing_ok=True)
            return ""
        baselines.write_baseline(pending, Baseline(self.owner, {name: row.kept for name, row in left.items()}))
        return self._message(left)

    def _message(self, left: Mapping[str, Found]) -> str:
        states = ", ".join(dict.fromkeys(row.state for row in left.values()))
        head = f"{len(left)} of {len(self.found)} checks do not agree with the baseline ({states}): {self.where}"
        accept = f"precdiff accept {shlex.quote(self.owner)}"
        lines = [head, *(row.said for row in left.values())]
        return "\n".join([*lines, f"next          precdiff review   # or at once: {accept}"])

    def told(self) -> dict[str, Any]:
        """What the end of the run says of the checks."""
        taken = [name for name, row in self.found.items() if self.update in _UPDATED_BY[row.state]]
        states = {name: "updated" if name in taken else row.state for name, row in self.found.items()}
        kept = list(self._held.kept) if self._held is not None else []
        return {"path": str(self.path), "where": self.where, "owner": self.owner, "states": states, "kept": kept}


def _named(name: str, value: Any) -> dict[str, Any]:
    """The arrays of a value, each under the name it is kept by."""
    arrays = named_outputs(value, name)
    if not arrays:
        raise NotComparableError(f"check {name!r}: found no arrays; there is nothing to keep")
    single = len(arrays) == 1 and not (isinstance(value, Mapping) and "out" not in value)
    return {name if single else f"{name}.{key}": array for key, array in arrays.items()}


def _compared(name: str, before: Kept, kept: Kept, asked: Mapping[str, Any]) -> tuple[Report | None, str, str]:
    """The report of the values, how they stand to the baseline, and what is said of it."""
    if kept.values is None:
        return None, "same", ""
    if before.values is None:
        return None, "changed", f"{name}: the baseline keeps figures only, now there are values"
    if (kept.format, kept.values.shape) != (before.format, before.values.shape):
        now, then = (f"{row.format} {row.values.shape}" for row in (kept, before) if row.values is not None)
        return None, "changed", f"{name}: was {then}, is {now}"
    report = api.compare({name: kept.native}, {name: before.native}, **asked)
    report = dataclasses.replace(report, actual="this run", expected="baseline")
    if report.verdict == "pass":
        return report, "same", ""
    report = dataclasses.replace(report, provenance={**report.provenance, "next": "precdiff review"})
    return report, "changed", assertion(report)


def _joined(reports: list[Report]) -> Report:
    """One report of all names of a check."""
    if len(reports) == 1:
        return reports[0]
    rows = [row for report in reports for row in report.tensors]
    return Report.of(rows, standard=reports[0].standard, actual="this run", expected="baseline")
