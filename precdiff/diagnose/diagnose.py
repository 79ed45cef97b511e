"""Diagnose a problem: every rule's hypotheses, proved, ranked, and joined where they speak of the same thing.

Order of findings: standing, then the rule's rank, then the size of the region. A finding whose birthplace an earlier
verified one already explains is that one's `also`. What no rule explains is `unexplained`, with the steps of the
largest share.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Counterfactual, Finding
from precdiff.diagnose.problem import Problem
from precdiff.diagnose.proof import Prover
from precdiff.diagnose.rule import RULES, CauseRule, Changes, Hypothesis
from precdiff.reference import Reference
from precdiff.trace import Region

_STANDINGS = ("verified", "candidate", "insufficient")
_SETTLES = 0.9
#: hypotheses that are tried by twos
PAIRED = 4


def diagnose(
    problem: Problem, totals: Mapping[str, Reference] | None = None, locals_: Mapping[str, Reference] | None = None,
    budget: float = math.inf,
) -> list[Finding]:  # fmt: skip
    """Findings for one problem, best first."""
    evidence, prover = Evidence(problem, totals, locals_), Prover(problem, budget)
    found: list[tuple[CauseRule, Finding]] = []
    for _, rule in sorted(RULES.items(), key=lambda item: item[1].rank):
        if problem.group in rule.groups and not (rule.fallback and _settled(f for _, f in found)):
            found += [(rule, finding) for finding in _tried(rule, evidence, prover)]
            if rule.excuses and found:
                break
    if all(finding.standing == "insufficient" for _, finding in found):
        found += _pairs(evidence, prover)
    found.sort(key=lambda item: (_STANDINGS.index(item[1].standing), item[0].rank, len(item[1].region)))
    findings = _joined(f for _, f in found)
    proved = [f for f in findings if f.standing != "insufficient"] or [_unexplained(evidence)]
    rejected = [_rejection(f) for f in findings if f.standing == "insufficient"]
    return [replace(f, evidence={**f.evidence, "replays": prover.replays, "rejected": rejected}) for f in proved]


def _pairs(evidence: Evidence, prover: Prover) -> list[tuple[CauseRule, Finding]]:
    """Two changes at once, where no single one removes half: the best hypotheses of different causes, by twos."""
    tried = [
        (rule, hypothesis, changes)
        for rule, hypothesis in prover.hypotheses
        for changes in hypothesis.changes[:1]
        if prover.prove(changes) is not None
    ]
    tried.sort(key=lambda item: prover.prove(item[2]).error_after)  # type: ignore[union-attr]  # None is left out
    found = []
    for one, other in itertools.combinations(tried[:PAIRED], 2):
        steps = [_steps(one[2]), _steps(other[2])]
        if one[0].cause != other[0].cause and not steps[0] & steps[1]:
            region = Region(tuple(s.id for s in evidence.steps if s.id in steps[0] | steps[1]))
            both = replace(one[1], changes=({**one[2], **other[2]},), region=region)
            made = _proved(one[0], both, evidence, prover)
            found.append((one[0], replace(made, also=[other[0].cause])))
    return found


def _steps(changes: Changes) -> set[str]:
    return {id for where in changes for id in (where.steps if isinstance(where, Region) else (where,))}


def excuses(
    problem: Problem, totals: Mapping[str, Reference] | None = None, locals_: Mapping[str, Reference] | None = None
) -> list[Finding]:
    """The findings that blame nobody, alone."""
    evidence = Evidence(problem, totals, locals_)
    rules = [rule for _, rule in RULES.items() if rule.excuses and problem.group in rule.groups]
    return [found for rule in rules for found in _tried(rule, evidence, Prover(problem))]


def _rejection(finding: Finding) -> dict[str, object]:
    """A hypothesis that was tried: its cause, where, and what the statistic became."""
    after = finding.counterfactual and finding.counterfactual.error_after
    return {"cause": finding.cause, "step": finding.step, "error_after": after}


def _settled(findings: Iterable[Finding]) -> bool:
    """Whether one is verified, or removes nine tenths of the excess error, what is left being another's."""
    return any(f.standing == "verified" or (f.standing == "candidate" and f.share >= _SETTLES) for f in findings)


def _tried(rule: CauseRule, evidence: Evidence, prover: Prover) -> list[Finding]:
    """The rule's hypotheses, proved in its order until one is verified."""
    tried: list[Finding] = []
    for hypothesis in rule.find(evidence):
        prover.hypotheses.append((rule, hypothesis))
        tried.append(_proved(rule, hypothesis, evidence, prover))
        if tried[-1].standing == "verified":
            break
    return tried


def _proved(rule: CauseRule, hypothesis: Hypothesis, evidence: Evidence, prover: Prover) -> Finding:
    best: tuple[int, Counterfactual | None] = (_STANDINGS.index(hypothesis.standing), None)
    for changes in hypothesis.changes:
        proof = prover.prove(changes)
        standing = _STANDINGS.index(prover.standing(proof))
        if best[1] is None or standing < best[0]:
            best = standing, proof
        if standing == 0:
            break
    return _finding(rule.cause, hypothesis, evidence, _STANDINGS[best[0]], best[1])


def _finding(
    cause: str, hypothesis: Hypothesis, evidence: Evidence, standing: str, proof: Counterfactual | None
) -> Finding:
    problem, step = evidence.problem, evidence.trace.step(hypothesis.step)
    born = list(hypothesis.born_at)
    name = f"{problem.tensor}:{problem.group}:{cause}:{step.id}:{','.join(hypothesis.region.steps)}"
    share = _share(evidence, born, proof)
    return Finding(
        id=hashlib.sha256(name.encode()).hexdigest()[:12], cause=cause, standing=standing,  # type: ignore[arg-type]
        step=step.id, source=str(step.source), layer=step.layer, region=list(hypothesis.region.steps), born_at=born,
        chain=list(hypothesis.chain) or chain(evidence, born, problem.tensor), share=share,
        statistic=f"RMS {problem.unit_name}", limit=problem.limit, group=problem.group, elements=problem.elements,
        evidence=_facts(hypothesis, evidence, born), counterfactual=proof, remedy=hypothesis.remedy,
    )  # fmt: skip


def _share(evidence: Evidence, born: list[str], proof: Counterfactual | None) -> float:
    """The part of the excess error the proof removes; without a proof, the first-order share."""
    if proof is not None and proof.error_before > proof.floor:
        return (proof.error_before - proof.error_after) / (proof.error_before - proof.floor)
    return sum(evidence.shares.get(id, 0.0) for id in born) if evidence.problem.group == "finite" else 0.0


def _facts(hypothesis: Hypothesis, evidence: Evidence, born: list[str]) -> dict[str, object]:
    shares = evidence.shares if evidence.problem.group == "finite" else {}
    first = evidence.first_nonfinite if evidence.problem.group == "nonfinite" else None
    return {
        **hypothesis.evidence,
        **({"first_nonfinite": first} if first is not None else {}),
        "sources": {id: str(evidence.trace.step(id).source) for id in born},
        **({"shares": {id: shares.get(id, 0.0) for id in born}, "shares_sum": sum(shares.values())} if shares else {}),
    }


def chain(evidence: Evidence, born: Iterable[str], tensor: str) -> list[str]:
    """The steps the error passes, from its birthplace to the failing tensor: those that depend on one born there."""
    reached = set(born)
    for step in evidence.steps:
        if any(i in reached for i in step.inputs):
            reached.add(step.id)
    return [s.id for s in evidence.steps if s.id in reached]


def _joined(findings: Iterable[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    for finding in findings:
        earlier = next(
            (f for f in kept if f.standing != "insufficient" and set(f.born_at) & set(finding.born_at)), None
        )
        if earlier is None:
            kept.append(finding)
        elif finding.standing != "insufficient" and finding.cause not in (earlier.cause, *earlier.also):
            kept[kept.index(earlier)] = replace(earlier, also=[*earlier.also, finding.cause])
    return kept


def _unexplained(evidence: Evidence) -> Finding:
    born = evidence.born_at() if evidence.problem.group == "finite" else []
    tensor = evidence.problem.tensor
    hypothesis = Hypothesis(
        tensor, Region((tensor,)), born or [tensor], (),
        "No single change PrecDiff knows removes this error. Compare the steps of the largest share with the source.",
    )  # fmt: skip
    return _finding("unexplained", hypothesis, evidence, "insufficient", None)
