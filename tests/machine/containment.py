"""Does a RealArray contain the truth? The truth is an mpmath plane, the meaning of the array is in realarray.py."""

import mpmath
import numpy as np

from precdiff.formats import get_format
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN

MPF = mpmath.mpf
RELATIVE, ABSOLUTE = MPF(2) ** -480, MPF(2) ** -2200
LARGEST = float(np.finfo(np.float64).max)


def contains(real, truth):
    """A mask: where the element of `real` allows the mpmath number of `truth` (a plane of MpMachine)."""
    columns = (real.hi, real.lo, real.radius, real.kind, truth)
    rows = zip(*(np.broadcast_to(c, real.shape).ravel().tolist() for c in columns), strict=True)
    return np.array([_allows(*row) for row in rows], bool).reshape(real.shape)


def _allows(hi, lo, radius, kind, truth):
    if kind == UNKNOWN:
        return True
    value = MPF(truth) if isinstance(truth, bool | float) else truth
    if not mpmath.isfinite(value):
        return kind == NAN if mpmath.isnan(value) else kind == (POSITIVE_INFINITY if value > 0 else NEGATIVE_INFINITY)
    if kind in (POSITIVE_INFINITY, NEGATIVE_INFINITY):
        return value >= LARGEST if kind == POSITIVE_INFINITY else value <= -LARGEST
    distance = abs(value - hi - lo)
    # mpmath's own last bits, and what lies below fp64's smallest numbers, are not the array's fault
    return kind == FINITE and (distance <= radius or distance <= radius + abs(value) * RELATIVE + ABSOLUTE)


def failures(real, truth, format=None):
    """(index, kind, hi, lo, radius, truth) of the first elements that do not contain the truth."""
    bad = np.flatnonzero(~contains(real, truth))
    flat = np.broadcast_to(truth, real.shape).ravel()
    return [
        (int(i), int(real.kind.flat[i]), float(real.hi.flat[i]), float(real.lo.flat[i]), float(real.radius.flat[i]),
         mpmath.nstr(flat[i], 25) if not isinstance(flat[i], bool | float) else flat[i])
        for i in bad[:5]
    ]  # fmt: skip


def tensor(machine, values, fmt="fp64"):
    row = get_format(fmt)
    return machine.tensor(np.asarray(values, row.carrier), row)
