"""wrong_reference_or_tolerance: the given expected values are further from the truth than the actual ones.

Evidence: every actual element within half an ulp of the exact value (or nearer than what was expected), while expected
ones are not. Proof: the step whose narrower rounding gives the expected bits is named: what was expected is this kernel
with less precision. Expected values that no number of the actual format can equal are the format's limit, no fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Counterfactual, Finding
from precdiff.diagnose.proof import describe
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format, is_representable, ulp_error
from precdiff.machine import RealArray
from precdiff.trace import Change, Trace, replay

_HALF = 0.5 + 2.0**-20


@cause_rule(
    "wrong_reference_or_tolerance",
    rank=3,
    groups=(),
    definition="the actual values are right to half an ulp and the given expected ones are not",
)
def wrong_reference_or_tolerance(evidence: Evidence) -> Iterator[Hypothesis]:
    """Nothing: a run has no given expected values; see `misjudged`."""
    yield from ()


def misjudged(trace: Trace, tensor: str, exact: RealArray, expected: np.ndarray) -> Finding | None:
    """The finding where the recorded values are right and `expected` (any precision) is not what they should be."""
    format, actual = get_format(trace.formats[tensor]), trace.values[tensor]
    wanted = np.asarray(expected, np.float64)
    if wanted.shape != actual.shape:
        raise PrecDiffError(f"expected has shape {wanted.shape}, the output {actual.shape}; allowed is one shape")
    pair = (exact.hi, exact.lo)
    mine, theirs = ulp_error(actual, pair, format), ulp_error(wanted, pair, format)
    differ = wanted != np.asarray(actual, np.float64)
    if not differ.any() or (mine > _HALF).any():
        return None
    held = is_representable(wanted, format)
    return _finding(trace, tensor, mine, theirs, differ, wanted, bool(held.all()))


def _finding(  # noqa: PLR0913 - what was compared
    trace: Trace, tensor: str, mine: np.ndarray, theirs: np.ndarray, differ: np.ndarray, wanted: np.ndarray, held: bool
) -> Finding:
    step, made = trace.step(tensor), _reproduced(trace, tensor, wanted)
    evidence = {
        "actual_max_ulp": float(mine.max()), "expected_max_ulp": float(theirs.max()), "differing": int(differ.sum()),
        "expected_fits_the_format": held, "distinct_expected": int(np.unique(wanted).size),
        "distinct_actual": int(np.unique(trace.values[tensor]).size),
    }  # fmt: skip
    proof = None if made is None else Counterfactual(describe(made), float(theirs.max()), 0.0, 0.0, float("inf"), True)
    aliased = evidence["distinct_actual"] < evidence["distinct_expected"]
    remedy = (
        "The format cannot tell these values apart; keep them in a wider one." if aliased
        else "Judge by the exact value: what was expected is the less accurate side."
    )  # fmt: skip
    return Finding(
        id=hashlib.sha256(f"expected:{tensor}".encode()).hexdigest()[:12], cause="wrong_reference_or_tolerance",
        standing="candidate" if made is None else "verified", step=step.id, source=str(step.source), layer=step.layer,
        region=[step.id], born_at=[step.id], chain=[step.id], share=1.0, statistic="ULP of the expected values",
        limit=0.5, group="finite", elements=int(differ.sum()), evidence=evidence, counterfactual=proof, remedy=remedy,
    )  # fmt: skip


def _reproduced(trace: Trace, tensor: str, wanted: np.ndarray) -> Changes | None:
    """The step and format whose extra rounding gives the expected values bit for bit."""
    for step in trace.steps:
        for name in ("fp16", "bf16") if get_format(step.format).is_float and step.inputs else ():
            if get_format(name).p < get_format(step.format).p:
                change: Changes = {step.id: Change("format", name)}
                made = replay(trace, change).values[tensor]
                if np.array_equal(np.asarray(made, np.float64), wanted, equal_nan=True):
                    return change
    return None
