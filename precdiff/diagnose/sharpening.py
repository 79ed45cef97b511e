"""Errors known to more than their reference's radius.

A reference is climbed until its radius is small against the format's ulp, which is all a ULP figure needs. A condition
number of 1e20 makes an error of 1e-25 matter: where recorded - exact is not known to four bits, the element is
evaluated again by a ball of 1,200 bits, whose pair hi + lo then holds the difference.
"""

from __future__ import annotations

import numpy as np

from precdiff.machine import BallMachine, RealArray
from precdiff.machine.realarray import FINITE
from precdiff.reference.restrict import is_elementwise, restricted
from precdiff.trace import Trace, evaluate

_BITS = 1200
#: radii an error must exceed to be known
_KNOWN = 16.0
#: elements evaluated again; more are left as they are
_MOST = 4096


def sharpened_error(trace: Trace, tensor: str, exact: RealArray) -> np.ndarray:
    """recorded - exact, fp64; 0 where either is not finite."""
    recorded = np.asarray(trace.values[tensor], np.float64)
    error = _difference(recorded, exact)
    doubtful = (exact.kind == FINITE) & (exact.radius > 0) & (np.abs(error) < _KNOWN * exact.radius)
    if 0 < np.count_nonzero(doubtful) <= _MOST and is_elementwise(trace, tensor):
        machine = BallMachine(_BITS)
        part = restricted(trace, tensor, doubtful)
        error[doubtful] = _difference(recorded[doubtful], machine.reals(evaluate(part, machine, [tensor])[tensor]))
    return error


def _difference(recorded: np.ndarray, exact: RealArray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.asarray((recorded - exact.hi) - exact.lo)
    return np.where((exact.kind == FINITE) & np.isfinite(error), error, 0.0)
