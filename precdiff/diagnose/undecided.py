"""Findings for outputs no precision decides: the step that jumps there, and how far its operand is from the boundary.

floor(x) of an x that is exactly an integer, or nearer to one than any precision tells, has no certified value: either
side is right. The finding names the step, the margin (0 where it lies on the boundary) and the error the device's
operand has; it blames nobody. acos(x) of an x that is exactly 1 is on the edge of its domain: no precision tells it
from what lies beyond. Where the device's rounding took it over the edge, its NaN is a domain_error.
"""

from __future__ import annotations

import hashlib

import numpy as np

from precdiff.diagnose.diagnose import excuses
from precdiff.diagnose.finding import Finding
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.problem import split
from precdiff.machine.realarray import FINITE, UNKNOWN
from precdiff.trace import Step, needed_for

_JUMPS = ("floor", "ceil", "round", "trunc", "sign", "decide", "argmax", "argsort")


def undecided_findings(judgement: Judgement) -> list[Finding]:
    """One finding for every step that jumps undecided on the way to an undecided output."""
    names = [name for name, compared in judgement.outputs.items() if compared.row.verdict == "undecided"]
    tensors = [judgement.trace.outputs[name] for name in names]
    needed = needed_for(judgement.trace, tensors)
    steps = [s for s in judgement.trace.steps if s.id in needed]
    excused = [made for tensor in tensors for made in _excuses(judgement, tensor)]
    found = (_jump(judgement, step) if step.op in _JUMPS else _edge(judgement, step) for step in steps)
    return excused or [made for made in found if made is not None]


def _excuses(judgement: Judgement, tensor: str) -> list[Finding]:
    """What blames nobody may hold where nothing is certified: a singular matrix has no inverse to be far from."""
    trace, expected = judgement.trace, judgement.intended[tensor].values
    everything = np.ones(trace.values[tensor].shape, bool)
    return [
        made
        for problem in split(trace, tensor, expected, everything, 4.0, "ULP")
        for made in excuses(problem, judgement.totals, judgement.locals_)
    ]


def _edge(judgement: Judgement, step: Step) -> Finding | None:
    """The NaN of a step whose exact operands are numbers on the edge of its domain, as far as any precision tells."""
    exact, recorded = judgement.totals[step.id].values, judgement.trace.values[step.id]
    operands = [judgement.totals[id].values for id in step.inputs if id in judgement.totals]
    if len(operands) != len(step.inputs) or any(o.kind.shape != exact.kind.shape for o in operands) or not operands:
        return None
    born = (exact.kind == UNKNOWN) & np.isnan(recorded) & np.all([o.kind == FINITE for o in operands], axis=0)
    if not born.any():
        return None
    at = tuple(int(i) for i in np.argwhere(born)[0])
    name = step.source.name or step.id
    return Finding(
        id=hashlib.sha256(f"edge:{step.id}".encode()).hexdigest()[:12], cause="domain_error", standing="candidate",
        step=step.id, source=str(step.source), layer=step.layer, region=[step.id], born_at=[step.id], chain=[step.id],
        share=0.0, statistic="undecided elements", limit=0.0, group="nonfinite", elements=int(born.sum()),
        evidence={
            "invalid": int(born.sum()), "first_at": list(at),
            "operands": [float(judgement.trace.values[id][at]) for id in step.inputs],
            "exact_operands_within": [[float(o.hi[at] + sign * o.radius[at]) for sign in (-1, 1)] for o in operands],
        },
        counterfactual=None,
        remedy=f"The exact operand of {name} is on the edge of its domain; clamp it there before {step.op}.",
    )  # fmt: skip


def _jump(judgement: Judgement, step: Step) -> Finding | None:
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
