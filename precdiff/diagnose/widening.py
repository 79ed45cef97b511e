"""Where an error would be read if it were not rounded: readers of a region, the way to a reader, what lies around, and
the next wider format.
"""

from __future__ import annotations

from collections.abc import Collection

from precdiff.diagnose.evidence import Evidence
from precdiff.formats import Format
from precdiff.trace import Region, Step, cone, needed_for

#: the format devices widen to
WIDER = {"fp16": "fp32", "bf16": "fp32", "e4m3fn": "fp32", "e5m2": "fp32", "fp32": "fp64"}


def wider(format: Format) -> str | None:
    """The name of the next wider format, None beyond fp32."""
    return WIDER.get(format.name)


def reader(evidence: Evidence, region: Collection[str]) -> str:
    """The first step outside the region that reads it; the region's last step where nothing does."""
    for step in evidence.steps:
        if step.id not in region and any(i in region for i in step.inputs):
            return step.id
    return next(s.id for s in reversed(evidence.steps) if s.id in region)


def way(evidence: Evidence, born: Collection[str], step: Step) -> Region:
    """The steps `born` and all between them and `step`: a value kept wide that is rounded again before it is read is
    not kept wide.
    """
    reached = set(born)
    before = needed_for(evidence.trace, step.inputs)
    for other in evidence.steps:
        if other.id in before and any(i in reached for i in other.inputs):
            reached.add(other.id)
    return Region(tuple(s.id for s in evidence.steps if s.id in reached))


def cones_around(evidence: Evidence, ids: Collection[str]) -> list[Region]:
    """The cones of the steps that depend on any of `ids`, smallest first."""
    reached = set(ids)
    for step in evidence.steps:
        if any(i in reached for i in step.inputs):
            reached.add(step.id)
    cones = [cone(evidence.trace, s.id) for s in evidence.steps if s.id in reached and s.id not in ids]
    return sorted(cones, key=lambda region: len(region.steps))
