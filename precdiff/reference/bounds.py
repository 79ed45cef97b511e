"""A-priori bounds: how far a correct device may be from the truth on one step's own inputs (question (a) of `auto`).

    elementwise, correctly rounded     1/2 ulp of the result (1 ulp where the direction is not to nearest)
    approximations                     as the profile declares
    sums and matrix products           min(gamma_n, 6 sqrt(n) u) sum |terms| + the rounding of the result
                                       gamma_n = n u / (1 - n u), u of the accumulator (Higham 2002, 3.1, 4.2;
                                       Higham and Mary 2019 for the probabilistic factor)
    casts                              1/2 ulp; layout and exact ops 0
    what the profile declares          flushed subnormals, the value of x != NaN (departures.py)

Bounds are absolute, one fp64 number an element, and wider by what the step's reference leaves open (0.02 ulp at most).
Where the op has no rounding of its own the bound is 0.
"""

from __future__ import annotations

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.formats import Format, get_format, ulp
from precdiff.machine import RealArray
from precdiff.ops import OPS, Constant, Contraction, Conversion, Elementwise, Reduction, Structural
from precdiff.reference.accumulation import accumulation_factor, factor, rounds_to_nearest, terms
from precdiff.reference.departures import departures
from precdiff.reference.reference import TOLERATED_ULP
from precdiff.trace import Step, Trace

_ROUNDING = (Elementwise, Reduction, Contraction, Conversion, Constant, Structural)


def bound(trace: Trace, step: Step, exact: RealArray) -> np.ndarray:
    """Absolute bound on the local error of every element of the step's output; `exact` is the step's local
    reference.
    """
    return np.asarray(_rounding(trace, step, exact) + departures(trace, step, exact))


def _rounding(trace: Trace, step: Step, exact: RealArray) -> np.ndarray:
    op = OPS[step.op]
    format = get_format(step.format)
    if not format.is_float or not isinstance(op, _ROUNDING):
        return np.zeros(exact.shape)
    if isinstance(op, Elementwise) and op.exact:
        return np.zeros(exact.shape)
    unit = ulp(np.where(exact.kind == 0, exact.hi, 0.0), format)
    # a reference known to its radius cannot tell an exact tie, 1/2 ulp off, from a hair more
    own = rounding_ulps(trace.profile, step) * unit + 2 * np.minimum(exact.radius, TOLERATED_ULP * unit)
    if isinstance(op, Structural):
        return _piled_up(trace, step, op, format, own)
    if isinstance(op, Contraction) or (isinstance(op, Reduction) and op.kind == "sum"):
        return np.asarray(own + accumulation_factor(trace, step) * terms(trace, step))
    if isinstance(op, Reduction):
        return np.zeros(exact.shape)
    return np.asarray(own + _product_rounding(trace, step, format))


def _piled_up(trace: Trace, step: Step, op: Structural, format: Format, own: np.ndarray) -> np.ndarray:
    """The bound of a row that says how its roundings accumulate; 0 for one that only moves."""
    if op.accumulates is None:
        return np.zeros(own.shape)
    arrays = [np.asarray(trace.values[i], np.float64) for i in step.inputs]
    with np.errstate(all="ignore"):
        count, magnitude = op.accumulates(*arrays, **step.params)
        return np.asarray(own + factor(np.asarray(count, np.float64), format.u, rounds_to_nearest(trace)) * magnitude)


def _product_rounding(trace: Trace, step: Step, format: Format) -> np.ndarray | float:
    """What an fma that rounds its product first may err by on top: that rounding."""
    if step.op != "fma" or trace.profile.fused_multiply_add.value:
        return 0.0
    x, y = (np.asarray(trace.values[i], np.float64) for i in step.inputs[:2])
    with np.errstate(all="ignore"):
        return rounding_ulps(trace.profile, step) * ulp(x * y, format)


def rounding_ulps(profile: DeviceProfile, step: Step) -> float:
    """The ulps a single rounding, or the profile's approximation of the op, may cost."""
    approximation = profile.approximations.value.get(step.op)
    if approximation is not None:
        return float(approximation.ulps)
    direction = step.params.get("mode") or profile.direction.value
    return 0.5 if direction.startswith("nearest") else 1.0
