"""Locate: the smallest region whose exact evaluation, rounded once, proves to be where the error is made.

Shadow first: a step whose recorded value equals its exact value rounded once changes nothing when it is made exact, so
its cone is not tried. The others are tried by size (distinct operations; a shared step counts once), for success is
not monotone in nesting: neither bisection nor an order by deviation finds the smallest. The region is then named by
the first rule, in order of rank, whose evidence speaks of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Counterfactual
from precdiff.diagnose.proof import Prover
from precdiff.diagnose.rule import RULES, CauseRule, Hypothesis
from precdiff.ops import OPS, Constant
from precdiff.trace import Change, Region, cone


def regions(evidence: Evidence) -> Iterator[Region]:
    """The cones of the steps that are not as they should be, by number of operations, then in execution order."""
    own = [s for s in evidence.steps if not isinstance(OPS[s.op], Constant) and not evidence.shadowed(s.id)]
    cones = [cone(evidence.trace, s.id) for s in own]
    yield from sorted(cones, key=lambda region: size(evidence, region))


def size(evidence: Evidence, region: Region) -> int:
    """How many distinct operations a region has; constants are none."""
    return sum(not isinstance(OPS[evidence.trace.step(id).op], Constant) for id in region.steps)


def located(evidence: Evidence, prover: Prover) -> tuple[Region, Counterfactual] | None:
    """The first region that is proven, with its proof; None where none is."""
    for region in regions(evidence):
        proof = prover.prove({region: Change("exact")})
        if proof is not None and prover.standing(proof) == "verified":
            return region, proof
    return None


def named(evidence: Evidence, region: Region) -> tuple[CauseRule, Hypothesis] | None:
    """The first rule by rank that speaks of the region, and what it says."""
    for _, rule in sorted(RULES.items(), key=lambda item: item[1].rank):
        for hypothesis in rule.find(evidence) if evidence.problem.group in rule.groups else ():
            if speaks_of(rule, hypothesis, region):
                return rule, hypothesis
    return None


def speaks_of(rule: CauseRule, hypothesis: Hypothesis, region: Region) -> bool:
    """Whether what the hypothesis blames lies in the region, at its root where the rule says so, born inside."""
    place = region.steps[-1:] if rule.at_root else region.steps
    return hypothesis.step in place and bool(set(hypothesis.born_at) & set(region.steps))
