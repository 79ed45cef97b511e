"""stagnation: a running sum grew so large that the terms still to come are absorbed.

Evidence: replayed term by term in the declared accumulator, the partial sum stays constant while non-zero terms are
added. Proof: the same order with the next wider accumulator.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import wider
from precdiff.ops.reductions import axes_of
from precdiff.reference import accumulator
from precdiff.rounding import arithmetic
from precdiff.trace import Change, Region, Step

#: share of the terms that must be absorbed
ABSORBED = 0.01


@cause_rule("stagnation", rank=25, definition="a running sum that stays constant while non-zero terms are added to it")
def stagnation(evidence: Evidence) -> Iterator[Hypothesis]:
    """Sums of a running order whose worst output absorbs terms."""
    for step in evidence.steps:
        target = wider(accumulator(evidence.trace, step)) if step.op == "sum" else None
        if target is None or not evidence.trace.profile.sum_order.value.running:
            continue
        absorbed, stops_at, value = _absorbed(evidence, step)
        terms = evidence.values(step.inputs[0]).size // max(evidence.values(step.id).size, 1)
        if absorbed >= max(1, ABSORBED * terms):
            yield Hypothesis(
                step.id, Region((step.id,)), [step.id], ({step.id: Change("accumulator", target)},),
                f"Accumulate {step.source.name or step.id} in {target}, or sum in a tree.",
                {"absorbed_terms": absorbed, "terms": terms, "stops_at_index": stops_at, "stopped_value": value},
            )  # fmt: skip


def _absorbed(evidence: Evidence, step: Step) -> tuple[int, int, float]:
    """(absorbed terms, index of the last term that moved the sum, its value) of the output with the worst local
    error.
    """
    x = evidence.trace.values[step.inputs[0]]
    axes = axes_of(x.shape, step.params.get("axis"))
    rest = [i for i in range(x.ndim) if i not in axes]
    rows = np.transpose(x, [*rest, *axes]).reshape(evidence.values(step.id).size, -1)
    row = rows[int(np.argmax(np.abs(evidence.local_error(step.id))))]
    rounding = evidence.trace.profile.rounding(accumulator(evidence.trace, step), "sum")
    total, absorbed, last = np.zeros((), row.dtype), 0, -1
    for i, term in enumerate(row):
        moved = arithmetic.add(total, term, rounding)
        absorbed, last = (absorbed + bool(term != 0), last) if moved == total else (absorbed, i)
        total = moved
    return absorbed, last, float(total)
