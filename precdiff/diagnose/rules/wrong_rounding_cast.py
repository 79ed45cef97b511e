"""wrong_rounding_cast: rounded otherwise than declared: ties the wrong way, twice, or a product fused into a sum.

Recognised by differences of one ulp at most: at or next to midpoints (ties and double rounding), or in a sum that has a
product for an operand (fma contraction keeps the product's low part).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Changes, Digits, Hypothesis, cause_rule, imitation
from precdiff.trace import Change, Region, Step

#: formats with more digits a result may pass on its way, by the declared one
_THROUGH = {"fp16": ("fp32", "hf32"), "bf16": ("fp32", "fp16", "tf32"), "fp32": ("fp64",)}
#: the format on its way, with digits to spare
_WIDER = {"fp16": "fp32", "bf16": "fp32", "fp32": "fp64"}
#: the largest error in ulps of a result that was rounded to nearest twice, the first time to two digits more or beyond
_NEAR = 0.5 + 2.0**-3 + 2.0**-9


@cause_rule(
    "wrong_rounding_cast", rank=27, groups=("finite",),
    definition="a cast that rounds in another mode than to nearest, or in two steps what one would round once",
)  # fmt: skip
def cast_rule(evidence: Evidence) -> Iterator[Hypothesis]:
    """Casts with a mode, and casts of casts, where they round."""
    made = {s.id: s for s in evidence.steps}
    for step in (s for s in evidence.steps if s.op == "cast" and evidence.format(s.id).is_float):
        mode, before = step.params.get("mode"), made.get(step.inputs[0])
        if mode not in (None, "nearest-even"):
            change: Changes = {step.id: Change("cast", "nearest-even")}
            yield _hypothesis(evidence, step, Region((step.id,)), change, {"mode": mode})
        if before is not None and before.op == "cast" and _narrows(evidence, before) and _narrows(evidence, step):
            region = Region((before.id, step.id))
            yield _hypothesis(evidence, step, region, {region: Change("fuse")}, {"through": before.format})


def _narrows(evidence: Evidence, cast: Step) -> bool:
    source, target = evidence.format(cast.inputs[0]), evidence.format(cast.id)
    return source.is_float and target.is_float and target.p < source.p


def _hypothesis(
    evidence: Evidence, step: Step, region: Region, change: Changes, found: dict[str, object]
) -> Hypothesis:
    signs = np.sign(evidence.local_error(step.id))
    inward = signs * np.sign(evidence.values(step.inputs[0]))
    return Hypothesis(
        step.id, region, [step.id], (change,), "Round once, to nearest, ties to even.",
        {**found, "errors_towards_zero": int((inward < 0).sum()), "errors_away": int((inward > 0).sum())},
    )  # fmt: skip


def _recognised(found: Deviation) -> str:
    if not found.format.is_float or found.lost.any():
        return ""
    errors = np.abs(found.errors[found.where])
    steps = np.abs(found.errors - found.declared_errors)[found.where]
    if not np.isfinite(errors).all() or (steps > 1.0 + 2**-9).any():
        return ""
    if (errors <= _NEAR).all():
        return "the results that differ are next to midpoints, rounded to the other side"
    return "a product is an operand: fused, its low part is kept" if _products(found) and (errors < 4).all() else ""


def _products(found: Deviation) -> list[str]:
    """The products that are operands of the step, a sum."""
    made = {s.id: s.op for s in found.trace.steps}
    return [i for i in found.step.inputs if made.get(i) == "mul"] if found.step.op in ("add", "sub") else []


def _digits(found: Deviation) -> Iterator[Digits]:
    """The result rounded on its way to any number of digits more; with twice as many and two it is innocent."""
    step, through = found.step, _WIDER.get(found.step.format)
    if through is not None and step.op not in ("constant", "sum", "matmul"):
        own = found.format.p
        yield Digits(lambda p: {step.id: Change("cast", {"through": [f"{through}@p{p}"]})}, own + 1, 2 * own + 1)


@imitation(
    "wrong_rounding_cast", rank=55, recognised=_recognised, digits=_digits,
    remedy="Round once, ties to even, from the exact result; switch off contraction where products must be rounded.",
)  # fmt: skip
def wrong_rounding_cast(found: Deviation) -> Iterator[Changes]:
    """Ties away, fused products, and two roundings."""
    step = found.step
    if not found.format.is_float:
        return
    for product in _products(found):
        yield {Region((product, step.id)): Change("fuse")}
    yield {step.id: Change("tie_rule", "nearest-away")}
    for through in _THROUGH.get(step.format, ()):
        yield {step.id: Change("cast", {"through": [through]})}
    if step.op == "cast":
        for mode in ("toward-zero", "down", "up"):
            yield {step.id: Change("cast", mode)}
