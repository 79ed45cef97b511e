"""What got worse: the figures of today against those a baseline keeps, though both may be within every tolerance.

    worse by ULP     max_ulp now - max_ulp then > max(ulp, max_ulp then (10^(db/20) - 1))
    worse by SNR     snr_db then - snr_db now > db

A loss up to that is said, and fails nothing. A decibel is a factor of 1.122 in both, so `db` is the one scale, and
`ulp` what no rounding fault stays below (docs/pytest.md). Where a figure was not finite, it says nothing of a loss.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from precdiff.comparison import TensorComparison, check_limits, over_tensors
from precdiff.errors import NotComparableError
from precdiff.report import numbers
from precdiff.report.report import Report

#: of a tensor's row, what a baseline keeps
KEPT = ("max_ulp", "p99_ulp", "mean_ulp", "rmse", "snr_db")
_UNITS = {"max_ulp": "ULP", "snr_db": "dB SNR"}


@dataclass(frozen=True)
class Allowance:
    """How much may be lost before it fails, in dB and at least in ULP."""

    db: float = 1.0
    ulp: float = 0.5

    def __post_init__(self) -> None:
        check_limits(max_loss_db=self.db, max_loss_ulp=self.ulp)

    def ulp_at(self, before: float) -> float:
        """The growth of a largest error that is allowed."""
        return max(self.ulp, before * (10.0 ** (self.db / 20.0) - 1.0))


@dataclass(frozen=True)
class Loss:
    """One figure that got worse; `fails` where by more than is allowed."""

    name: str
    figure: str
    before: float
    after: float
    allowed: float
    fails: bool

    def __str__(self) -> str:
        unit, stated = _UNITS[self.figure], "more than" if self.fails else "within"
        change = f"{numbers.error(self.before)} -> {numbers.error(self.after)} {unit}"
        return f"{self.name}: {change}, {stated} the {numbers.error(self.allowed)} {unit} that may be lost"


def figures(row: TensorComparison) -> dict[str, float]:
    """What a baseline keeps of a row."""
    return {name: float(getattr(row, name)) for name in KEPT}


def losses(name: str, before: Mapping[str, float], after: Mapping[str, float], allowed: Allowance) -> list[Loss]:
    """Every figure that got worse.

    >>> [str(loss) for loss in losses("out", {"max_ulp": 0.5}, {"max_ulp": 2.0}, Allowance())]
    ['out: 0.5 -> 2 ULP, more than the 0.5 ULP that may be lost']
    >>> losses("out", {"max_ulp": 2.0}, {"max_ulp": 0.5}, Allowance())
    []
    """
    then, now = before.get("max_ulp", math.nan), after.get("max_ulp", math.nan)
    quiet, loud = before.get("snr_db", math.nan), after.get("snr_db", math.nan)
    found = [
        _loss(name, "max_ulp", (then, now), now - then, allowed.ulp_at(then)) if math.isfinite(then) else None,
        _loss(name, "snr_db", (quiet, loud), quiet - loud, allowed.db) if math.isfinite(quiet) else None,
    ]
    return [loss for loss in found if loss is not None]


def _loss(name: str, figure: str, change: tuple[float, float], size: float, allowed: float) -> Loss | None:
    return Loss(name, figure, *change, allowed, bool(size > allowed)) if size > 0.0 else None


def outputs_of(report: Report) -> dict[str, TensorComparison]:
    """The rows a baseline is about, by name: steps are called otherwise in the next version of a kernel."""
    return {row.name or row.id: row for row in report.tensors if row.role == "output"}


def against_baseline(report: Report, kept: Mapping[str, Mapping[str, float]], allowed: Allowance, where: str) -> Report:
    """The report, failing also where a tensor lost more than is allowed; what was lost is in its provenance."""
    rows = outputs_of(report)
    shared = [name for name in rows if name in kept]
    if not shared:
        names = f"it has {', '.join(kept) or 'none'}, the report {', '.join(rows)}"
        raise NotComparableError(f"{where}: the baseline has no tensor of the report: {names}")
    found = {name: losses(name, kept[name], figures(rows[name]), allowed) for name in shared}
    judged = [_judged(row, found.get(row.name or row.id, ()) if row.role == "output" else ()) for row in report.tensors]
    said: dict[str, Any] = {
        "baseline": where,
        "lost": [str(loss) for own in found.values() for loss in own],
        "not_in_baseline": [name for name in rows if name not in kept],
        "only_in_baseline": [name for name in kept if name not in rows],
    }
    verdict = "fail" if over_tensors(judged) == "fail" else report.verdict
    return dataclasses.replace(report, tensors=tuple(judged), verdict=verdict, provenance={**report.provenance, **said})


def _judged(row: TensorComparison, found: Sequence[Loss]) -> TensorComparison:
    failing = "; ".join(str(loss) for loss in found if loss.fails)
    return dataclasses.replace(row, verdict="fail", rule=f"worse than its baseline: {failing}") if failing else row


def facts(report: Report) -> list[tuple[str, str]]:
    """What a report says of its baseline; empty where there is none."""
    said = report.provenance
    if "baseline" not in said:
        return []
    lost = [("lost", line) for line in said.get("lost", ())]
    new = [("not in it", ", ".join(said["not_in_baseline"]))] if said.get("not_in_baseline") else []
    gone = [("only in it", ", ".join(said["only_in_baseline"]))] if said.get("only_in_baseline") else []
    return [("baseline", str(said["baseline"])), *(lost or [("lost", "nothing")]), *new, *gone]
