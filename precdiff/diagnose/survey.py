"""Evidence of every step from one pass: what a table shows before any rule looks at it.

local, inherited, total   RMS errors in ulps of the step's format on what its own operands, and its cone, make of it
share                     signed first-order share of the failing output's squared error; over all steps they sum to 1
condition                 the largest relative condition number where the error passes
overflow, underflow       binades between the values and the format's largest, and smallest normal, number
grid                      the fewest significand bits that hold every value: below the format's own it was narrower
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from precdiff.diagnose.deviation import grid_of
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.judgement import Judgement
from precdiff.formats import ulp
from precdiff.machine.realarray import FINITE
from precdiff.trace import Step


@dataclass(frozen=True)
class StepEvidence:
    """One step; None where the step has no such number."""

    step: str
    op: str
    format: str
    source: str
    local: float | None
    inherited: float | None
    total: float | None
    share: float | None
    condition: float | None
    overflow_margin: float | None
    underflow_margin: float | None
    grid: int | None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return asdict(self)


def survey(judgement: Judgement) -> Iterator[StepEvidence]:
    """The evidence of the steps the first failing output depends on; of all steps, without shares, where none fails."""
    evidence = Evidence(judgement.problems[0], judgement.totals, judgement.locals_) if judgement.problems else None
    for step in evidence.steps if evidence is not None else judgement.trace.steps:
        yield _row(judgement, step, evidence)


def _row(judgement: Judgement, step: Step, evidence: Evidence | None) -> StepEvidence:
    from precdiff.formats import get_format

    format, values = get_format(step.format), np.asarray(judgement.trace.values[step.id], np.float64)
    total, local = (_rms(judgement, step, made[step.id].values) for made in (judgement.totals, judgement.locals_))
    inherited = None if total is None or local is None else float(np.sqrt(max(0.0, total**2 - local**2)))
    sizes = np.abs(values[np.isfinite(values) & (values != 0)]) if format.is_float else np.zeros(0)
    finite = evidence is not None and evidence.problem.group == "finite" and step.id in evidence.shares
    condition = float(np.max(evidence.condition(step), initial=0.0)) if evidence is not None and step.inputs else None
    return StepEvidence(
        step.id, step.op, step.format, str(step.source), local, inherited, total,
        evidence.shares[step.id] if evidence is not None and finite else None, condition,
        float(np.log2(format.max_finite / sizes.max())) if sizes.size else None,
        float(np.log2(sizes.min() / format.min_normal)) if sizes.size else None,
        grid_of(judgement.trace.values[step.id], format) if format.is_float else None,
    )  # fmt: skip


def _rms(judgement: Judgement, step: Step, exact: Any) -> float | None:
    from precdiff.formats import get_format

    format, values = get_format(step.format), np.asarray(judgement.trace.values[step.id], np.float64)
    usable = (exact.kind == FINITE) & np.isfinite(values)
    if not format.is_float or not usable.any():
        return None
    with np.errstate(all="ignore"):
        error = ((values - exact.hi) - exact.lo)[usable] / ulp(exact.hi[usable], format)
    return float(np.sqrt(np.mean(np.square(error))))
