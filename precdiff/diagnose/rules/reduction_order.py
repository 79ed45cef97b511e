"""reduction_order: the terms were added in another order than declared: legal, and different bits.

Recognised by noise.py: the deviation is what another order of the declared arithmetic gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from precdiff.device.orders import AdjacentTree, Groups, Pairwise, Repeats, Sequential
from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.noise import applies
from precdiff.diagnose.rule import Changes, imitation
from precdiff.trace import Change

ORDERS = (Sequential(), Pairwise(), AdjacentTree(), Groups(16), Groups(8), Groups(4), Repeats())


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
