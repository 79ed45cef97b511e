"""Twin of comparison/histogram.py: counts of ULP errors by their place among the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count(bits: Any, counts: Any, first: Any, below: Any, inside: Any) -> None:
    """Add each error, given by the bits of a non-negative fp64 number, to the count of its edge."""
    last = counts.size - 1
    for i in range(bits.size):
        exponent = (bits[i] >> 52) - 1023
        if exponent > 1023:
            place = last
        elif exponent < -64:
            place = 1 if bits[i] != 0 else 0
        else:
            fraction = bits[i] & np.int64(0xF_FFFF_FFFF_FFFF)
            cell = fraction >> 42
            kind = exponent + 1 if 0 <= exponent < 6 else 0
            place = first[exponent + 64] + below[kind, cell] + (1 if fraction > inside[kind, cell] else 0)
        counts[place] += 1
