"""reduce_sum(x): the sum along an axis in the profile's order and accumulator.

The limit, 32 u sum |terms|, leaves room for the slowest legal order: the rounding errors of a sequential sum of n terms
add up to about sqrt(n)/3 u (Higham and Mary 2019), 32 u for some 9,000 terms; a tree needs log2(n).
"""

from __future__ import annotations

from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor
from precdiff.ops import sum_


@kernel(limit=backward(32), examples={"x": "uniform(0,1,shape=(8,1024))"})
def reduce_sum(x: Tensor, *, axis: int = -1, acc: str = "") -> Tensor:
    """The sum along `axis`; `acc` is the accumulator's format, the profile's by default.

    The limit is what a tree keeps. Finding: summed first to last (profile ieee), 1,024 terms err by 5 u sum |terms| and
    more, and in 16 bits the sum stagnates.
    """
    return sum_(x, axis=axis, acc=acc or None)
