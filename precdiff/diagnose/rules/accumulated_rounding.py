"""accumulated_rounding: no single step is to blame; the roundings of a region add up.

The fallback when no other cause is proven. Evidence: the region's steps carry the error between them. Proof: the
smallest region (a step with its cone back to the inputs) whose exact evaluation, rounded once, brings the error down.
Regions are tried by size; success is not monotone in nesting, so nothing is bisected. A step whose recorded value
already is its exact value rounded once cannot be the root and is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.trace import Change, Region, needed_for


@cause_rule(
    "accumulated_rounding",
    rank=90,
    groups=("finite", "nonfinite"),
    definition="the smallest region whose exact evaluation, rounded once, removes the error",
    fallback=True,
)
def accumulated_rounding(evidence: Evidence) -> Iterator[Hypothesis]:
    """Cones of the steps that are off, smallest first."""
    order = [s.id for s in evidence.steps]
    cones = []
    for step in evidence.steps:
        needed = needed_for(evidence.trace, [step.id])
        region = tuple(id for id in order if id in needed)
        if len(region) > 1 and not evidence.shadowed(step.id):
            cones.append(region)
    for region in sorted(cones, key=len):
        rooted = Region(region)
        born = [id for id in evidence.born_at() if id in region] or [region[-1]]
        yield Hypothesis(
            region[-1],
            rooted,
            born,
            ({rooted: Change("exact")},),
            f"Compute these {len(region)} steps in a wider format and round once.",
            {"region_size": len(region)},
        )
