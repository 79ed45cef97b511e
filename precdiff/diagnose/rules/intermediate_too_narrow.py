"""intermediate_too_narrow: an intermediate is kept in a format that cannot hold what the result needs of it.

Evidence: steps that carry the error, or leave the range, have a narrower format than the result (a constant or cast in
fp16 inside fp32 arithmetic), or than the arithmetic on both sides of them (an fp32 value stored in fp16 and widened
again); or a sum is accumulated in fewer bits than fp32's. Proof: those steps in the format around them, read
unrounded; the sum with the next wider accumulator.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Digits, Hypothesis, cause_rule, imitation
from precdiff.diagnose.widening import reader, wider
from precdiff.formats import Format, get_format
from precdiff.reference import accumulator, length
from precdiff.trace import Change, Region, Step

#: significand bits of the accumulator that devices have for long sums, fp32's
FULL = 24


#: shares that sum to something this far from 1 say nothing: the error is too large for first order
_NONLINEAR = 0.5


@cause_rule(
    "intermediate_too_narrow", rank=30, groups=("finite", "nonfinite"),
    definition="steps that carry the error have a narrower format than the result or the arithmetic around them",
)  # fmt: skip
def intermediate_too_narrow(evidence: Evidence) -> Iterator[Hypothesis]:
    """The narrow steps among those of the largest share and the first that left the range."""
    suspects = {*evidence.born_at(), evidence.first_nonfinite}
    if evidence.problem.group == "finite" and abs(sum(evidence.shares.values()) - 1) > _NONLINEAR:
        suspects |= {s.id for s in evidence.steps if s.inputs}
    around = {s.id: _around(evidence, s) for s in evidence.steps if s.id in suspects}
    narrow = [id for id, format in around.items() if evidence.format(id).p < format.p]
    if narrow:
        yield _hypothesis(evidence, narrow, max((around[id] for id in narrow), key=lambda f: f.p).name)
    yield from _accumulators(evidence)


def _accumulators(evidence: Evidence) -> Iterator[Hypothesis]:
    """Sums and products of matrices among the steps that carry the error, with the next wider accumulator."""
    born = evidence.born_at()
    for step in (s for s in evidence.steps if s.id in born and s.op in ("sum", "matmul")):
        own = accumulator(evidence.trace, step)
        target = wider(own)
        if target is not None and own.p < FULL:
            yield Hypothesis(
                step.id, Region((step.id,)), [step.id], ({step.id: Change("accumulator", target)},),
                f"Accumulate {step.source.name or step.id} in {target}.",
                {"accumulator": own.name, "needed": target, "terms": length(evidence.trace, step)},
            )  # fmt: skip


def _around(evidence: Evidence, step: Step) -> Format:
    """The format the step could have: the result's, or its operands' where everything that reads it widens it again."""
    result = evidence.problem.format
    operands = [f for f in map(evidence.format, step.inputs) if f.is_float]
    readers = [s for s in evidence.steps if step.id in s.inputs]
    own = evidence.format(step.id)
    if operands and readers and all(s.op == "cast" and evidence.format(s.id).p > own.p for s in readers):
        return max(min(operands, key=lambda f: f.p), result, key=lambda f: f.p)
    return result


def _hypothesis(evidence: Evidence, steps: list[str], target: str) -> Hypothesis:
    region = Region(tuple(steps))
    names = ", ".join(evidence.trace.step(id).source.name or id for id in steps)
    return Hypothesis(
        reader(evidence, steps), region, steps, ({region: Change("format", target, "wide")},),
        f"Keep {names} in {target}.",
        {"format": evidence.format(steps[0]).name, "needed": target},
    )  # fmt: skip


#: what units compute and accumulate in, read from tables, and cut operands to
NARROW = ("bf16", "fp16", "tf32", "hf32")


def _recognised(found: Deviation) -> str:
    if not found.format.is_float or found.step.op == "constant" or found.lost.any():
        return ""
    if found.coarse:
        return f"every recorded value fits {found.grid} significand bits of the {found.format.p} declared"
    noise = found.noise
    if noise is not None and not noise.consistent:
        return f"{noise.line}: an accumulator or factors of fewer bits"
    return ""


def _digits(found: Deviation) -> Iterator[Digits]:
    """The accumulator, the stage and its operands, in any number of digits."""
    step = found.step
    if not found.format.is_float or step.op == "constant":
        return
    if step.op in ("sum", "matmul"):
        yield _fewer(step, "accumulator", accumulator(found.trace, step))
    yield _fewer(step, "format", found.format)
    yield _fewer(step, "operands", found.format)


def _fewer(step: Step, kind: str, format: Format) -> Digits:
    return Digits(lambda p: {step.id: Change(kind, f"{format.name}@p{p}")}, 2, format.p - 1)


@imitation(
    "intermediate_too_narrow", rank=40, recognised=_recognised, digits=_digits,
    remedy="Keep the stage, its table or its accumulator in the declared format.",
)  # fmt: skip
def narrowed(found: Deviation) -> Iterator[Changes]:
    """The stage in the digits it was found in; accumulator, operands, the stage and its table in narrower formats."""
    step = found.step
    if not found.format.is_float or step.op == "constant":
        return
    if not found.blind and found.coarse:
        yield {step.id: Change("format", f"{step.format}@p{found.grid}")}
    grids = sorted(NARROW, key=lambda name: abs(get_format(name).p - found.grid))
    if step.op in ("sum", "matmul"):
        own = accumulator(found.trace, step)
        for name in grids:
            if get_format(name).p < own.p:
                yield {step.id: Change("accumulator", name)}
    for name in grids:
        if get_format(name).p < found.format.p:
            yield {step.id: Change("format", name)}
            yield {step.id: Change("operands", name)}
