"""constant_truncated: a constant has fewer digits than the result, or the kernel's reference, asks for.

Evidence: a step that depends on no input is not its exact value to the result's precision, although everything that
reads it computes in that precision; or the reference has another number in the same place that differs by little, or
where this one is 0. Proof: that value exactly, or the reference's number.

Recognised in a constant that is off by little and lies on a coarser grid, binary or decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Digits, Hypothesis, cause_rule, imitation
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Change, Region, Step, cone

_FORMATS = ("fp32", "tf32", "fp16", "bf16")
#: what is off by more is another number
_SMALL = 2.0**-5


@cause_rule(
    "constant_truncated", rank=28, groups=("finite", "nonfinite"),
    definition="a value that depends on no input has fewer digits than the result, or than the reference's number",
)  # fmt: skip
def constant_rule(evidence: Evidence) -> Iterator[Hypothesis]:
    """Numbers other than the reference's, then values of no input that are too coarse."""
    yield from _other_numbers(evidence)
    for step in evidence.steps:
        region = cone(evidence.trace, step.id)
        if _of_no_input(evidence, region) and step.inputs and _coarse(evidence, step):
            yield _hypothesis(evidence, step, region, {region: Change("exact", exit="wide")})


def _other_numbers(evidence: Evidence) -> Iterator[Hypothesis]:
    """Constants beside those of the reference, in the order they are written."""
    intended = evidence.problem.intended
    if intended is None:
        return
    own, meant = ([s for s in t.steps if s.op == "constant"] for t in (evidence.trace, intended))
    for mine, theirs in zip(own, meant, strict=True) if len(own) == len(meant) else ():
        number = float(theirs.params["value"])
        recorded = float(evidence.trace.values[mine.id])
        near = recorded == 0 or abs(recorded - number) <= _SMALL * abs(number)
        if near and recorded != float(intended.values[theirs.id]):
            yield _hypothesis(evidence, mine, Region((mine.id,)), {mine.id: Change("constant", number)}, number)


def _of_no_input(evidence: Evidence, region: Region) -> bool:
    inputs = set(evidence.trace.inputs.values())
    return not any(i in inputs for id in region.steps for i in evidence.trace.step(id).inputs)


def _coarse(evidence: Evidence, step: Step) -> bool:
    """Whether the value misses its exact one by more than the result's format would."""
    exact, recorded = evidence.exact(step.id).values(), evidence.values(step.id)
    with np.errstate(all="ignore"):
        relative = np.abs((recorded - exact) / exact)
    return bool((relative > 4 * evidence.problem.format.u).any())


def _hypothesis(
    evidence: Evidence, step: Step, region: Region, changes: Changes, meant: float | None = None
) -> Hypothesis:
    recorded = float(np.ravel(evidence.values(step.id))[0])
    number = float(np.ravel(evidence.exact(step.id).values())[0]) if meant is None else meant
    narrow = [f for f in _FORMATS if float(round_array(np.float64(number), Rounding(f))) == recorded]
    relative = abs(recorded / number - 1) if number else float("inf")
    return Hypothesis(
        step.id, region, [step.id], (changes,),
        f"Write {step.source.name or step.id} with all the digits of {evidence.problem.format}.",
        {"recorded": recorded, "meant": number, "relative_error": relative, "reproduced_by": narrow[-1:] or None},
    )  # fmt: skip


def _cut(value: float, digits: int) -> float:
    """The value with so many significant decimal digits, cut."""
    if value == 0 or not np.isfinite(value):
        return value
    places = digits - 1 - int(np.floor(np.log10(abs(value))))
    return float(np.trunc(value * 10.0**places) / 10.0**places)


def shortened(found: Deviation) -> bool:
    """Whether the step is a constant that is off by little: the same number, not another one."""
    if found.step.op != "constant" or not found.format.is_float:
        return False
    actual, meant = float(found.actual), float(found.exact.hi)
    return bool(np.isfinite(actual)) and abs(actual - meant) <= _SMALL * abs(meant)


def _recognised(found: Deviation) -> str:
    said = f"{float(found.actual)!r} stands for {float(found.exact.hi)!r}" if shortened(found) else ""
    return f"{said}: the same number with fewer digits" if said else ""


def _digits(found: Deviation) -> Iterator[Digits]:
    """The number in any number of significand bits, cut and rounded."""
    step = found.step
    meant = float(found.exact.hi) if step.op == "constant" and found.format.is_float else 0.0
    if meant != 0 and np.isfinite(meant):
        for to_whole in (np.trunc, np.round):
            yield Digits(partial(_shorter, step.id, meant, to_whole), 2, found.format.p - 1)


def _shorter(step: str, meant: float, to_whole: Callable[[float], float], p: int) -> Changes:
    mantissa, exponent = np.frexp(meant)
    return {step: Change("constant", float(np.ldexp(to_whole(float(np.ldexp(mantissa, p))), exponent - p)))}


@imitation(
    "constant_truncated", rank=20, recognised=_recognised, digits=_digits,
    remedy="Write the constant with all the digits its format holds.",
)  # fmt: skip
def constant_truncated(found: Deviation) -> Iterator[Changes]:
    """What stands there; the constant in narrower formats, rounded and cut, and with fewer decimal digits."""
    if found.step.op != "constant" or not found.format.is_float:
        return
    meant = float(found.exact.hi)
    cuts = [float(round_array(np.float64(meant), Rounding(f))) for f in _FORMATS]
    cuts += [float(round_array(np.float64(meant), Rounding(f, "toward-zero"))) for f in _FORMATS]
    cuts += [_cut(meant, digits) for digits in range(7, 1, -1)] + [float(f"{meant:.{d}g}") for d in range(7, 1, -1)]
    cuts = [float(found.actual), *cuts] if shortened(found) else cuts
    for value in dict.fromkeys(v for v in cuts if v != meant and np.isfinite(v)):
        yield {found.step.id: Change("constant", value)}
