"""stagnation: a running sum grew so large that the terms still to come are absorbed.

Evidence: replayed term by term in the declared accumulator, the partial sum stays constant while non-zero terms are
added. Proof: the same order with the next wider accumulator; where the wider sum no longer fits its own format, the sum
in the wider format, read unrounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import wider
from precdiff.formats import native
from precdiff.ops.reductions import axes_of
from precdiff.reference import accumulator
from precdiff.rounding import Rounding, arithmetic, round_array
from precdiff.trace import Change, Region, Step

#: share of the terms that must be absorbed
ABSORBED = 0.01
#: terms replayed one by one where numpy's accumulate does not round as the profile does
_ONE_BY_ONE = 20_000


@cause_rule("stagnation", rank=25, definition="a running sum that stays constant while non-zero terms are added to it")
def stagnation(evidence: Evidence) -> Iterator[Hypothesis]:
    """Sums of a running order whose worst output absorbs terms."""
    for step in evidence.steps:
        target = wider(accumulator(evidence.trace, step)) if step.op == "sum" else None
        if target is None or not evidence.trace.profile.sum_order.value.running:
            continue
        terms, sums = _worst_output(evidence, step)
        moves = sums != np.concatenate([[0], sums[:-1]])
        absorbed = int(np.count_nonzero(~moves & (terms[: sums.size] != 0)))
        if absorbed >= max(1, ABSORBED * terms.size):
            last = int(np.flatnonzero(moves)[-1]) if moves.any() else -1
            found = {"absorbed_terms": absorbed, "terms": int(terms.size), "stops_at_index": last}
            yield _hypothesis(evidence, step, target, {**found, "stopped_value": float(sums[-1])})


def _hypothesis(evidence: Evidence, step: Step, target: str, found: Mapping[str, float]) -> Hypothesis:
    return Hypothesis(
        step.id, Region((step.id,)), [step.id],
        ({step.id: Change("accumulator", target)}, {step.id: Change("format", target, "wide")}),
        f"Accumulate {step.source.name or step.id} in {target}, or sum in a tree.", found,
    )  # fmt: skip


def _worst_output(evidence: Evidence, step: Step) -> tuple[np.ndarray, np.ndarray]:
    """(terms, partial sums) of the output with the worst local error, in the accumulator's numbers."""
    x = evidence.trace.values[step.inputs[0]]
    axes = axes_of(x.shape, step.params.get("axis"))
    rest = [i for i in range(x.ndim) if i not in axes]
    rows = np.transpose(x, [*rest, *axes]).reshape(evidence.values(step.id).size, -1)
    row = rows[int(np.argmax(np.abs(evidence.local_error(step.id))))]
    rounding = evidence.trace.profile.rounding(accumulator(evidence.trace, step), "sum")
    terms = round_array(row, rounding)
    return terms, _partial_sums(terms, rounding)


def _partial_sums(terms: np.ndarray, rounding: Rounding) -> np.ndarray:
    """The running sums: numpy's accumulate where every one of its steps is the profile's own rounding."""
    with np.errstate(all="ignore"):
        sums = np.add.accumulate(native(terms, rounding.format)).astype(terms.dtype)
        if np.array_equal(arithmetic.add(sums[:-1], terms[1:], rounding), sums[1:], equal_nan=True):
            return sums
        total, sums = np.zeros((), terms.dtype), terms[:_ONE_BY_ONE].copy()
        for i, term in enumerate(sums):
            sums[i] = total = arithmetic.add(total, term, rounding)
    return sums
