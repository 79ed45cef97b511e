"""intermediate_too_narrow: an intermediate is kept in a format that cannot hold what the result needs of it.

Evidence: the steps that carry the error are narrower than the result (a constant or cast in fp16 inside fp32
arithmetic, an fp16 accumulator), or all is one format and those steps in the next wider one would do. Proof: exactly
that.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.diagnose.widening import reader
from precdiff.trace import Change, Region


@cause_rule(
    "intermediate_too_narrow", rank=30,
    definition="the steps that carry the error have a narrower format than the result",
)  # fmt: skip
def intermediate_too_narrow(evidence: Evidence) -> Iterator[Hypothesis]:
    """The narrow steps among those of the largest share."""
    p = evidence.problem.format.p
    narrow = [id for id in evidence.born_at() if evidence.format(id).p < p]
    if narrow:
        yield _hypothesis(evidence, narrow, evidence.problem.format.name)


def _hypothesis(evidence: Evidence, steps: list[str], target: str) -> Hypothesis:
    region = Region(tuple(steps))
    names = ", ".join(evidence.trace.step(id).source.name or id for id in steps)
    return Hypothesis(
        reader(evidence, steps), region, steps, ({region: Change("format", target, "wide")},),
        f"Keep {names} in {target}.",
        {"format": evidence.format(steps[0]).name, "needed": target},
    )  # fmt: skip
