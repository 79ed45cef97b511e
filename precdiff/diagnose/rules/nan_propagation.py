"""nan_propagation: a NaN arises from infinities the formula makes itself, or a NaN that should pass is dropped.

Evidence: the first NaN comes of infinite operands (inf - inf, 0 inf), and the source gives it in exact arithmetic as
well, while the kernel's reference gives a number; or the reference gives NaN and a step that saw one gives a number.
Proof: the step guarded (0, or -inf, in place of the NaN), or the op that hands NaN on.
Source: IEEE 754-2019, 7.2 and 9.6 (minimum, minimumNumber).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule
from precdiff.machine.realarray import FINITE, NAN
from precdiff.trace import Change, Region, Step

#: ops that drop a NaN -> those that hand it on
_HANDS_ON = {"fmax": "maximum", "fmin": "minimum"}
_GUARDS = (float("-inf"), 0.0)


@cause_rule(
    "nan_propagation", rank=9, groups=("nonfinite",),
    definition="a NaN out of infinities of the formula itself, or a NaN that is dropped where it should pass",
)  # fmt: skip
def nan_propagation(evidence: Evidence) -> Iterator[Hypothesis]:
    """The first NaN of infinities; steps that drop one."""
    wanted = evidence.problem.expected.kind[evidence.problem.mask]
    if (wanted == FINITE).any():
        yield from _first(evidence)
    if (wanted == NAN).any():
        for step in evidence.steps:
            if step.op in _HANDS_ON and any(np.isnan(evidence.values(i)).any() for i in step.inputs):
                yield _dropped(evidence, step)


def _first(evidence: Evidence) -> Iterator[Hypothesis]:
    for step in evidence.steps:
        nan = np.isnan(evidence.values(step.id))
        if not nan.any():
            continue
        operands = [evidence.values(i) for i in step.inputs]
        own = (evidence.exact(step.id).kind != FINITE) & nan
        if own.any() and any(np.isinf(x).any() for x in operands) and not any(np.isnan(x).any() for x in operands):
            changes = [change for value in _GUARDS if (change := _guarded(evidence, step, nan, value))]
            yield Hypothesis(
                step.id, Region((step.id,)), [step.id], changes,
                f"Guard {step.source.name or step.id}: where its operands are infinite, say what is meant.",
                {"first": step.id, "operands": [_infinity(x) for x in operands]},
            )  # fmt: skip
        return


def _infinity(x: np.ndarray) -> float:
    """The operand's first infinity, else its first element."""
    flat = np.ravel(x)
    return float(flat[int(np.argmax(np.isinf(flat)))])


def _guarded(evidence: Evidence, step: Step, nan: np.ndarray, value: float) -> Changes:
    """The step's readers with `value` in place of the NaN."""
    found = np.flatnonzero(nan.ravel())
    where = [int(found[0]), int(found[-1]) + 1]
    changes: dict[str | Region, Change] = {}
    for reader in evidence.steps:
        if step.id in reader.inputs:
            number = reader.inputs.index(step.id)
            changes[reader.id] = Change("reads", {"input": number, "where": where, "version": "poison", "value": value})
    return changes


def _dropped(evidence: Evidence, step: Step) -> Hypothesis:
    other = _HANDS_ON[step.op]
    return Hypothesis(
        step.id, Region((step.id,)), [step.id], ({step.id: Change("op", other)},),
        f"Use {other}, which hands a NaN on whichever operand holds it; test both orders of the operands.",
        {"dropped": [i for i in step.inputs if np.isnan(evidence.values(i)).any()], "hands_on": other},
    )  # fmt: skip
