"""stagnation: a running sum grew so large that the terms still to come are absorbed.

Evidence: replayed term by term in the declared accumulator, the partial sum stays constant while non-zero terms are
added. Proof: the same order with the next wider accumulator; where the wider sum no longer fits its own format, the sum
in the wider format, read unrounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.rules.intermediate_too_narrow import NARROW
from precdiff.diagnose.widening import wider
from precdiff.formats import Format, get_format, native
from precdiff.ops.reductions import axes_of
from precdiff.reference import accumulator
from precdiff.rounding import Rounding, arithmetic, round_array
from precdiff.trace import Change, Region, Step, Trace

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
        absorbed, last = _absorbed(terms, sums)
        if absorbed >= max(1, ABSORBED * terms.size):
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
    worst = int(np.argmax(np.abs(evidence.local_error(step.id))))
    return _running(evidence.trace, step, worst, accumulator(evidence.trace, step))


def _running(trace: Trace, step: Step, output: int, format: Format) -> tuple[np.ndarray, np.ndarray]:
    """(terms, partial sums) of one output, by flat index, in an accumulator of that format."""
    x = trace.values[step.inputs[0]]
    axes = axes_of(x.shape, step.params.get("axis"))
    rest = [i for i in range(x.ndim) if i not in axes]
    row = np.transpose(x, [*rest, *axes]).reshape(trace.values[step.id].size, -1)[output]
    rounding = trace.profile.rounding(format, "sum")
    terms = round_array(row, rounding)
    return terms, _partial_sums(terms, rounding)


def _absorbed(terms: np.ndarray, sums: np.ndarray) -> tuple[int, int]:
    """(terms that were not zero and moved nothing, index of the last that moved the sum)."""
    moves = sums != np.concatenate([[0], sums[:-1]])
    last = int(np.flatnonzero(moves)[-1]) if moves.any() else -1
    return int(np.count_nonzero(~moves & (terms[: sums.size] != 0))), last


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


def _standing_still(found: Deviation) -> Iterator[tuple[str, int, bool]]:
    """(accumulator, terms it would absorb, whether its sum is the device's) of the output that is furthest off."""
    step = found.step
    if step.op != "sum" or not found.format.is_float or not found.trace.profile.sum_order.value.running:
        return
    own, off = accumulator(found.trace, step), np.abs(found.exact.hi if found.blind else found.errors)
    worst = int(np.argmax(np.where(np.isfinite(off), off, 0.0)))
    for name in (name for name in NARROW if get_format(name).p < own.p):
        terms, sums = _running(found.trace, step, worst, get_format(name))
        absorbed, _ = _absorbed(terms, sums)
        if absorbed >= max(1, ABSORBED * terms.size) and _explains(terms, sums):
            yield name, absorbed, float(round_array(sums[-1:], Rounding(found.format))[0]) == found.actual.flat[worst]


def _explains(terms: np.ndarray, sums: np.ndarray) -> bool:
    """Whether what was absorbed makes up half of the sum's error."""
    still = sums == np.concatenate([[0], sums[:-1]])
    with np.errstate(all="ignore"):
        lost, error = (float(np.sum(v, dtype=np.float64)) for v in (terms[: sums.size][still], terms[: sums.size]))
        return abs(lost) >= 0.5 * abs(error - float(sums[-1]))


def _recognised(found: Deviation) -> str:
    same = ((name, absorbed) for name, absorbed, equal in _standing_still(found) if equal and not found.blind)
    return next((f"a running sum in {name} gives this value: {n} of its terms are absorbed" for name, n in same), "")


@imitation(
    "stagnation", rank=22, recognised=_recognised,
    remedy="Accumulate in a wider format, or sum in a tree: the running sum absorbs the terms still to come.",
)  # fmt: skip
def standing_still(found: Deviation) -> Iterator[Changes]:
    """Narrow accumulators in which the running sum no longer moves, those that give the device's value first."""
    for name, _, _ in sorted(_standing_still(found), key=lambda row: not row[2]):
        yield {found.step.id: Change("accumulator", name)}
