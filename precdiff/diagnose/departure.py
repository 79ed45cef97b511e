"""Findings about a device's departure from the declared arithmetic: one imitation, and what it proves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.finding import Counterfactual, Finding, Standing
from precdiff.diagnose.proof import describe
from precdiff.diagnose.rule import Changes, Imitation


@dataclass(frozen=True)
class Imitated:
    """What came of one imitation: how many bit patterns differ, and what is left of the deviation (energy, of 1)."""

    imitation: Imitation
    changes: Changes
    differing: int
    left: float


@dataclass(frozen=True)
class Told:
    """What a hidden step tells: `made` is the best of `replays` tried changes, or no change at all; `why` in words."""

    found: Deviation
    made: Imitated
    why: str
    replays: int


def finding_of(found: Deviation, made: Imitated, replays: int, standing: Standing, why: str) -> Finding:
    """The finding of an imitation of the step; `why` is what the evidence says."""
    step = found.step
    before = rms(found)
    proof = Counterfactual(
        describe(made.changes) if made.changes else {}, before, before * float(np.sqrt(made.left)), 0.0,
        float("inf") if not made.left else 1 / float(np.sqrt(made.left)), made.differing == 0,
    )  # fmt: skip
    name = f"{step.id}:{made.imitation.cause}:{proof.change}"
    return Finding(
        id=hashlib.sha256(name.encode()).hexdigest()[:12], cause=made.imitation.cause,
        standing=standing, step=step.id, source=str(step.source), layer=step.layer,
        region=[step.id], born_at=[step.id], chain=[step.id],
        share=1.0, statistic="RMS ULP from the declared result", limit=0.0,
        group="nonfinite" if found.lost.any() else "finite", elements=int(np.count_nonzero(found.where)),
        evidence={"recognised": why, "differing_bits": made.differing, "replays": replays, "span": list(found.span)},
        counterfactual=proof, remedy=made.imitation.remedy,
    )  # fmt: skip


def rms(found: Deviation) -> float:
    """RMS distance from the declared result in ulps (of integers: 1), over what is finite."""
    if found.format.is_float:
        distance = found.errors - found.declared_errors
    else:
        distance = np.asarray(found.actual, np.float64) - np.asarray(found.declared, np.float64)
    return float(np.sqrt(np.mean(np.square(np.where(np.isfinite(distance), distance, 0.0)))))


def unexplained(found: Deviation, replays: int) -> Finding:
    """The finding where nothing that is known fits."""
    remedy = "No departure PrecDiff knows gives these bits; compare the step with the source."
    nothing = Imitation("unexplained", 99, remedy, lambda _: (), lambda _: "")
    made = Imitated(nothing, {}, int(np.count_nonzero(found.where)), 1.0)
    return finding_of(found, made, replays, "insufficient", "")
