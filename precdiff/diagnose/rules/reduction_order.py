"""reduction_order: the terms were added in another order than declared: legal, and different bits.

Recognised by noise.py: the deviation is what another order of the declared arithmetic gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.device.orders import AdjacentTree, Groups, Pairwise, Repeats, Sequential
from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.noise import applies
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.trace import Change, Region

ORDERS = (Sequential(), Pairwise(), AdjacentTree(), Groups(16), Groups(8), Groups(4), Repeats())


@cause_rule(
    "reduction_order", rank=45,
    definition="a sum that another order of the same terms in the same format brings within its limit",
)  # fmt: skip
def another_order(evidence: Evidence) -> Iterator[Hypothesis]:
    """Sums that carry the error, pairwise and as a tree."""
    for step in (s for s in evidence.steps if s.id in evidence.born_at() and applies(s)):
        yield Hypothesis(
            step.id, Region((step.id,)), [step.id],
            tuple({step.id: Change("order", order)} for order in (Pairwise(), AdjacentTree())),
            f"Sum {step.source.name or step.id} pairwise or in a tree, or in a wider accumulator.",
            {"order": str(evidence.trace.profile.sum_order.value)},
        )  # fmt: skip


def _recognised(found: Deviation) -> str:
    return found.noise.line if found.noise is not None and found.noise.consistent else ""


@imitation(
    "reduction_order", rank=4, recognised=_recognised,
    remedy="No fault of the kernel: fix the order where bits must agree, else judge by a bound that grows with n.",
)  # fmt: skip
def reduction_order(found: Deviation) -> Iterator[Changes]:
    """The orders devices use."""
    if applies(found.step):
        for order in ORDERS:
            yield {found.step.id: Change("order", order)}
