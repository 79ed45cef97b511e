"""missing_sync: a step read a tile before it was written, or after it was written again: an older or a later version.

Recognised by large deviations confined to a span, the rest being bit for bit as declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.spans import plausible, span, stale, tiles
from precdiff.trace import Change

_LARGE = 16.0


@cause_rule(
    "missing_sync", rank=15, groups=(),
    definition="a device read a tile before it was written or after it was written again: an older or later version",
)  # fmt: skip
def missing_sync_rule(evidence: Evidence) -> Iterator[Hypothesis]:
    """Nothing: the emulated run reads what was written; a device's values show it (reproduction.py)."""
    yield from ()


def _recognised(found: Deviation) -> str:
    if not found.format.is_float or found.declared.size < 4 or found.lost.any():
        return ""
    errors = np.abs(found.errors[found.where])
    if not errors.size or not np.isfinite(errors).all() or np.median(errors) < _LARGE:
        return ""
    for number, source in enumerate(found.step.inputs):
        size, known = found.trace.values[source].size, span(found, number)
        if known is not None and known[1] - known[0] <= size // 2:
            return f"elements {known[0]} to {known[1]} of {source}'s {size} made all results that are far off"
    start, stop = found.span
    confined = span(found, 0) is None and stop - start <= found.declared.size // 2
    return f"results {start} to {stop} of {found.declared.size} are far off, all others as declared" if confined else ""


def _one_late(found: Deviation, number: int) -> dict[str, Any]:
    """Every row of the operand but the first is the one before it: read one iteration too early."""
    shape = found.trace.values[found.step.inputs[number]].shape
    size, row = int(np.prod(shape)), int(np.prod(shape[1:]))
    return {"input": number, "where": [row, size], "from": [0, size - row]}


@imitation(
    "missing_sync", rank=15, recognised=_recognised,
    remedy="Order the write before the read: EnQue/DeQue, a barrier, or SetFlag/WaitFlag between the pipes.",
)  # fmt: skip
def missing_sync(found: Deviation) -> Iterator[Changes]:
    """The deviating tile of each operand as another tile of it, or as an older tensor of its shape."""
    for number, source in enumerate(found.step.inputs):
        if found.declared.ndim and found.trace.values[source].ndim and found.trace.values[source].shape[0] > 1:
            yield {found.step.id: Change("reads", _one_late(found, number))}
        for where in tiles(found, number) if found.trace.values[source].ndim else ():
            for version in stale(found, number, where):
                if plausible(found, number, where, version):
                    yield {found.step.id: Change("reads", {"input": number, "where": list(where), **version})}
