"""One node of a summation tree, for whole arrays: the exact sum of its operands, rounded once.

This file must not know in which order nodes are visited. Shortcuts, each exact:

    fp32, nearest-even, IEEE     the host's own fp32 addition
    p <= 11, nearest             operands of p bits: fp32 addition, then one rounding (2 * 11 + 2 <= 24, Figueroa 1995)
    any number of operands       exact_sum.py leaves a pair (hi, lo) that rounds as the exact sum does
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from precdiff.device.orders.exact_sum import exact_sum
from precdiff.formats import Array
from precdiff.rounding import Rounding, add, round_array, round_to_odd


@dataclass(frozen=True)
class Node:
    """Rounds sums to `rounding`; `held`: all operands are numbers of its format."""

    rounding: Rounding
    held: bool
    rng: np.random.Generator | None = None

    @property
    def native(self) -> np.dtype[np.generic] | None:
        """The host's dtype whose addition is this node, where there is one."""
        r = self.rounding
        ieee = (r.direction, r.overflow, r.subnormals, r.nan) == ("nearest-even", "ieee", "keep", "keep")
        return np.dtype(r.format.native) if ieee and r.format.name in ("fp16", "fp32", "fp64") else None

    def add(self, x: Array, y: Array) -> Array:
        """Return x + y rounded once."""
        with np.errstate(all="ignore"):
            if self.native == np.float32 and x.dtype == y.dtype == np.float32:
                return np.asarray(x + y)
            if self.held and self.rounding.is_nearest and self.rounding.format.p <= 11:
                return round_array(x + y, self.rounding)
        return add(x, y, self.rounding, self.rng)

    def add_all(self, operands: Array) -> Array:
        """Return the sum over axis 0, exact and rounded once."""
        hi, lo = exact_sum(operands, self.rounding.direction == "down")
        if self.rounding.format.p <= 51:
            return self.finish(round_to_odd(hi, lo))
        return np.where(hi == 0, hi, add(hi, lo, self.rounding, self.rng))  # -0 + 0 would lose the sign

    def finish(self, x: Array) -> Array:
        """Return x rounded once: what becomes of a lone term."""
        return round_array(x, self.rounding, self.rng)
