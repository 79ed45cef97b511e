"""Values as fp64 pairs: one fp64 holds all but 64-bit integers, which need an unevaluated sum of two."""

from __future__ import annotations

import numpy as np

from precdiff.formats.format import Array


def widen(values: Array) -> tuple[Array, Array | None]:
    """Return values as an exact fp64 pair; lo is None where one fp64 holds them, as it does all but 64-bit integers.

    A signalling NaN becomes a quiet one, so that no later operation warns of it.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        with np.errstate(invalid="ignore"):
            if values.dtype == np.float64:
                return values * 1.0, None
            wide = values.astype(np.float64)
            return wide if values.dtype.itemsize != 2 else np.multiply(wide, 1.0, out=wide), None
    low_bits = values & values.dtype.type(0xFFFF_FFFF)
    high, low = (values - low_bits).astype(np.float64), low_bits.astype(np.float64)
    total = high + low
    return total, low - (total - high)  # Dekker's fast two-sum: exact, since high is 0 or the larger
