"""Findings for outputs no precision decides: the step that jumps there, and how far its operand is from the boundary.

floor(x) of an x that is exactly an integer, or nearer to one than any precision tells, has no certified value: either
side is right. The finding names the step, the margin (0 where it lies on the boundary) and the error the device's
operand has; it blames nobody.
"""

from __future__ import annotations

import hashlib

import numpy as np

from precdiff.diagnose.diagnose import excuses
from precdiff.diagnose.finding import Finding
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.problem import split
from precdiff.machine.realarray import FINITE
from precdiff.trace import Step, needed_for

_JUMPS = ("floor", "ceil", "round", "trunc", "sign", "decide", "argmax", "argsort")


def undecided_findings(judgement: Judgement) -> list[Finding]:
    """One finding for every step that jumps undecided on the way to an undecided output."""
    names = [name for name, compared in judgement.outputs.items() if compared.row.verdict == "undecided"]
    tensors = [judgement.trace.outputs[name] for name in names]
    needed = needed_for(judgement.trace, tensors)
    steps = [s for s in judgement.trace.steps if s.id in needed and s.op in _JUMPS]
    excused = [made for tensor in tensors for made in _excuses(judgement, tensor)]
    return excused or [made for step in steps if (made := _finding(judgement, step)) is not None]


def _excuses(judgement: Judgement, tensor: str) -> list[Finding]:
    """What blames nobody may hold where nothing is certified: a singular matrix has no inverse to be far from."""
    trace, expected = judgement.trace, judgement.intended[tensor].values
    everything = np.ones(trace.values[tensor].shape, bool)
    return [
        made
        for problem in split(trace, tensor, expected, everything, 4.0, "ULP")
        for made in excuses(problem, judgement.totals, judgement.locals_)
    ]


def _finding(judgement: Judgement, step: Step) -> Finding | None:
    exact = judgement.totals[step.id].values
    open_ = (exact.kind == FINITE) & (exact.radius > 0)
    operand = judgement.totals.get(step.inputs[0])
    if not open_.any() or operand is None or exact.hi.shape != operand.values.hi.shape:
        return None
    value, recorded = operand.values, np.asarray(judgement.trace.values[step.inputs[0]], np.float64)
    margin = np.abs(value.hi - np.rint(value.hi) + value.lo)[open_]
    error = np.abs(recorded - value.hi - value.lo)[open_]
    low, high = (exact.hi - exact.radius)[open_], (exact.hi + exact.radius)[open_]
    return Finding(
        id=hashlib.sha256(f"undecided:{step.id}".encode()).hexdigest()[:12], cause="tie_flip", standing="candidate",
        step=step.id, source=str(step.source), layer=step.layer, region=[step.id], born_at=[step.id], chain=[step.id],
        share=0.0, statistic="undecided elements", limit=0.0, group="finite", elements=int(open_.sum()),
        evidence={
            "margin": float(margin.min()), "noise": float(error.max()), "either": [float(low.min()), float(high.max())],
            "recorded": float(np.ravel(judgement.trace.values[step.id])[np.argmax(np.ravel(open_))]),
        },
        counterfactual=None,
        remedy=f"No fault: {step.op} jumps where its operand is exactly at the boundary; judge each side by itself.",
    )  # fmt: skip
