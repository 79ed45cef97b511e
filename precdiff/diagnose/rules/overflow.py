"""overflow: a step's exact value is beyond its format's largest number while the output is representable.

Proof: the overflowing steps with unbounded exponent (precision kept), read unrounded; where the precision kept is
itself too little (a huge offset absorbs the signal), the same steps with their cones exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import reader
from precdiff.machine.realarray import FINITE
from precdiff.trace import Change, Region, needed_for


def _overflowing(evidence: Evidence, step: str) -> np.ndarray:
    """Elements whose exact value exceeds the format's largest number, recorded as an infinity, NaN or that number."""
    format = evidence.format(step)
    if not format.is_float:
        return np.zeros(evidence.values(step).shape, bool)
    exact, recorded = evidence.exact(step), evidence.values(step)
    beyond = (exact.kind == FINITE) & (np.abs(exact.hi) > format.max_finite)
    # beyond fp64 a certified value is kept as an infinity; born here means finite operands
    beyond |= np.isin(exact.kind, (1, 2)) & np.isfinite(evidence.locals_[step].values.values())
    with np.errstate(invalid="ignore"):
        return np.asarray(beyond & ~(np.abs(recorded) < format.max_finite))


@cause_rule(
    "overflow", rank=10, groups=("finite", "nonfinite"),
    definition="an exact intermediate beyond the largest finite number while the output is representable",
)  # fmt: skip
def overflow(evidence: Evidence) -> Iterator[Hypothesis]:
    """The steps that overflow, in execution order; the first is the birthplace, later ones its consequences."""
    steps = [
        s
        for s in evidence.steps
        if s.op != "constant" and (_overflowing(evidence, s.id) & evidence.touched(s.id)).any()
    ]
    if not steps:
        return
    ids = [s.id for s in steps]
    first, region = steps[0], Region(tuple(ids))
    cones = Region(tuple(s.id for s in evidence.steps if s.id in needed_for(evidence.trace, ids)))
    mask = _overflowing(evidence, first.id)
    exact = np.abs(evidence.exact(first.id).values()[mask])
    yield Hypothesis(
        reader(evidence, ids), region, [first.id],
        ({region: Change("exponent", "unbounded", "wide")}, {cones: Change("exact", exit="wide")}),
        f"Keep {first.source.name or first.id} in range: scale or shift its operands, or compute it in a wider format.",
        {
            "first": first.id, "overflowed": int(np.count_nonzero(mask)), "largest_exact": float(exact.max()),
            "largest_finite": evidence.format(first.id).max_finite,
        },
    )  # fmt: skip
