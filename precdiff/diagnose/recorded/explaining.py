"""Why a recorded tensor is not what it must be: the departures a device may have, tried on the value it should hold.

The tensor is seen as a copy of what it must be (the call's exact result rounded once, or what its origin makes), and a
copy is a step like any other: what a device does to a step - a factor, a coarser grid, a stale or poisoned part - is
sought by the same imitations, and proven by the same bits (reproduction.py). Elements that are off by no more than is
allowed count as right. What is not finite though it was made of finite numbers is an overflow where the exact result
lies beyond the format, else its operands' doing.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from precdiff import ops
from precdiff.diagnose.finding import Finding, Standing
from precdiff.diagnose.recorded.judging import Judged, Recording
from precdiff.diagnose.reproduction import explain_device
from precdiff.dump import StepRow
from precdiff.kernels import kernel, run_kernel
from precdiff.machine.realarray import FINITE
from precdiff.reference.calls import Truth
from precdiff.rounding import Rounding, round_array

#: elements that are looked at; what a device does to a tensor shows in that many
MOST = 2**20
#: by how much a change has to bring the error down to be a proof
_PROVEN = 2.0
_UNEXPLAINED = "No departure PrecDiff knows gives these values; run the call again by itself (--repro) and compare."


def explained(recording: Recording, judged: Judged, budget: float = 60.0) -> list[Finding]:
    """The findings for a tensor that failed, best first; none where no call made or read it."""
    step = recording.steps.get(judged.step)
    if step is None:
        return []
    if not recording.contents.held(judged.row.id):
        return [_overflow(recording, step, judged, None)] if _grew(judged) else []
    if _grew(judged):
        return [_overflow(recording, step, judged, judged.truth)]
    if judged.truth is None or not recording.contents.operand(judged.row.id).format.is_float:
        return []
    return [_at(step, judged, made) for made in _departures(recording, judged, judged.truth, budget)]


def _grew(judged: Judged) -> bool:
    return judged.why.startswith("not finite")


def _departures(recording: Recording, judged: Judged, truth: Truth, budget: float) -> list[Finding]:
    operand = recording.contents.operand(judged.row.id)
    exact, values = truth.exact.values().reshape(-1)[:MOST], np.asarray(operand.values).reshape(-1)[:MOST]
    meant = np.asarray(round_array(exact, Rounding(operand.format)), operand.format.carrier)
    with np.errstate(invalid="ignore"):
        right = np.abs(values - exact) <= truth.allowed.reshape(-1)[:MOST]
    held = np.where(right, meant, values)
    copied = run_kernel(kernel(name="copy")(ops.detach), {"x": meant}, format=operand.format).trace
    return explain_device(copied, {copied.steps[-1].id: held}, budget)


def _at(step: StepRow, judged: Judged, made: Finding) -> Finding:
    """The finding at the recorded step."""
    id = judged.row.id
    evidence = {**made.evidence, "held_against": judged.why}
    proof = made.counterfactual
    if proof is None or proof.factor < _PROVEN:
        made = replace(made, cause="unexplained", standing="insufficient", counterfactual=None, remedy=_UNEXPLAINED)
    else:
        made = replace(made, counterfactual=replace(proof, change={**proof.change, "steps": [id]}))
    return replace(
        made, id=_hashed(id, made.cause), step=id, source=step.source, layer=judged.row.layer, region=[id],
        born_at=[id], chain=[id], evidence=evidence,
    )  # fmt: skip


def _overflow(recording: Recording, step: StepRow, judged: Judged, truth: Truth | None) -> Finding:
    """The finding of a call that made what is not finite."""
    largest = _largest(truth)
    top = recording.dump.tensors[judged.row.id]
    proven = largest is not None and judged.row.nonfinite.actual > 0
    standing: Standing = "verified" if proven else "candidate"
    evidence: dict[str, Any] = {"said": judged.why, **_before(recording, step)}
    if largest is not None:
        evidence["largest_exact"] = largest
    return Finding(
        id=_hashed(judged.row.id, "overflow"), cause="overflow", standing=standing, step=judged.row.id,
        source=step.source, layer=judged.row.layer, region=[judged.row.id], born_at=[judged.row.id],
        chain=[judged.row.id], share=1.0, statistic="elements that are not finite", limit=0.0, group="nonfinite",
        elements=judged.row.nonfinite.actual, evidence=evidence, counterfactual=None,
        remedy=f"Scale the inputs of {step.op} down, or keep its output in a format with more range than {top.format}.",
    )  # fmt: skip


def _largest(truth: Truth | None) -> float | None:
    """The largest exact result."""
    if truth is None:
        return None
    finite = truth.exact.kind == FINITE
    return float(np.max(np.abs(truth.exact.hi[finite]), initial=0.0))


def _before(recording: Recording, step: StepRow) -> dict[str, Any]:
    """The growth up to the step: the largest numbers it was given, by tensor."""
    found = {}
    for _, id in step.inputs:
        stats = recording.dump.tensors[id].statistics
        if recording.contents.held(id):
            values = np.abs(np.asarray(recording.contents.operand(id).values, np.float64))
            found[id] = float(np.max(values, initial=0.0))
        elif stats is not None:
            found[id] = max(abs(stats.min), abs(stats.max))
    return {"inputs_at_most": found}


def _hashed(id: str, cause: str) -> str:
    return hashlib.sha256(f"{id}:{cause}".encode()).hexdigest()[:12]
