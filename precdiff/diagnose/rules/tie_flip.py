"""tie_flip: equal elements taken in another order: a sort, top-k or argmax that is not stable.

Recognised where the indices differ and point at equal values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.rule import Changes, imitation
from precdiff.trace import Change


def _recognised(found: Deviation) -> str:
    if found.step.op not in ("argsort", "argmax"):
        return ""
    x, axis = found.trace.values[found.step.inputs[0]], int(found.step.params["axis"])
    one, other = (v if found.step.op == "argsort" else np.expand_dims(v, axis) for v in (found.actual, found.declared))
    length = x.shape[axis]
    if ((one < 0) | (one >= length)).any():
        return ""
    equal = np.take_along_axis(x, one, axis) == np.take_along_axis(x, other, axis)
    return "the indices differ only among equal elements" if equal.all() else ""


@imitation(
    "tie_flip", rank=5, recognised=_recognised,
    remedy="Make the order of equal elements part of the contract (the lower index first), or compare values.",
)  # fmt: skip
def tie_flip(found: Deviation) -> Iterator[Changes]:
    """Equal elements last first."""
    if found.step.op in ("argsort", "argmax"):
        yield {found.step.id: Change("tie_rule", "last")}
