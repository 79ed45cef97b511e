"""biased_rounding: results are rounded towards one side, so errors add up instead of averaging out.

Recognised by errors that all lie on one side of the exact values, up to a whole ulp; nearest rounding errs to both.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.noise import applies
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.trace import Change, Region

_DIRECTIONS = ("toward-zero", "down", "up")


@cause_rule(
    "biased_rounding", rank=26,
    definition="a declared direction that always rounds one way, so that the errors of a sum add up",
)  # fmt: skip
def declared_direction(evidence: Evidence) -> Iterator[Hypothesis]:
    """The steps that carry the error, to nearest, where the profile rounds another way."""
    direction = evidence.trace.profile.direction.value
    born = evidence.born_at()
    if direction.startswith("nearest") or direction == "stochastic" or not born:
        return
    sums = [id for id in born if applies(evidence.trace.step(id))]
    region = Region(tuple(sums or born))
    signs = [float((evidence.local_error(id) * evidence.values(id) < 0).mean()) for id in region.steps]
    yield Hypothesis(
        region.steps[-1], region, list(region.steps), ({region: Change("direction", "nearest-even")},),
        "Round to nearest, ties to even.", {"direction": direction, "towards_zero": max(signs)},
    )  # fmt: skip


def _recognised(found: Deviation) -> str:
    if not found.format.is_float:
        return ""
    side = found.one_sided()
    if side:
        return f"every error lies {side} of the exact value"
    noise = found.noise
    biased = noise is not None and not noise.consistent and abs(noise.bias) > 0.7 * noise.statistic
    return "the errors of the sums share a sign" if biased else ""


@imitation(
    "biased_rounding", rank=50, recognised=_recognised,
    remedy="Round to nearest: a direction that always cuts makes errors of a long sum add up.",
)  # fmt: skip
def biased_rounding(found: Deviation) -> Iterator[Changes]:
    """The directed roundings, the one on whose side most errors lie first."""
    if found.format.is_float:
        sides = found.sides()
        for direction in sorted(_DIRECTIONS, key=lambda name: -sides[name]):
            yield {found.step.id: Change("direction", direction)}
