"""A-priori bounds: how far a correct device may be from the truth on one step's own inputs (question (a) of `auto`).

    elementwise, correctly rounded     1/2 ulp of the result (1 ulp where the direction is not to nearest)
    approximations                     as the profile declares
    sums and matrix products           min(gamma_n, 6 sqrt(n) u) sum |terms| + the rounding of the result
                                       gamma_n = n u / (1 - n u), u of the accumulator (Higham 2002, 3.1, 4.2;
                                       Higham and Mary 2019 for the probabilistic factor)
    casts                              1/2 ulp; layout and exact ops 0

Bounds are absolute, one fp64 number an element, and wider by what the step's reference leaves open (0.02 ulp at most).
Where the op has no rounding of its own the bound is 0.
"""

from __future__ import annotations

import math

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.formats import Format, get_format, ulp
from precdiff.machine import RealArray
from precdiff.ops import OPS, Constant, Contraction, Conversion, Elementwise, Reduction, Structural
from precdiff.ops.reductions import axes_of
from precdiff.reference.reference import TOLERATED_ULP
from precdiff.trace import Step, Trace

_ROUNDING = (Elementwise, Reduction, Contraction, Conversion, Constant, Structural)


def bound(trace: Trace, step: Step, exact: RealArray) -> np.ndarray:
    """Absolute bound on the local error of every element of the step's output; `exact` is the step's local
    reference.
    """
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
        return np.asarray(own + factor(np.asarray(count, np.float64), format.u) * magnitude)


def factor(n: np.ndarray, u: float) -> np.ndarray:
    """min(gamma_n, 6 sqrt(n) u), elementwise."""
    with np.errstate(divide="ignore"):
        gamma = np.where(n * u < 1, n * u / np.abs(1 - n * u), np.inf)
    return np.minimum(gamma, 6 * np.sqrt(n) * u)


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


def accumulation_factor(trace: Trace, step: Step) -> float:
    """min(gamma_n, 6 sqrt(n) u) for the step's length and accumulator."""
    return float(factor(np.asarray(float(length(trace, step))), accumulator(trace, step).u))


def accumulator(trace: Trace, step: Step) -> Format:
    """The format a sum or matrix product is accumulated in."""
    if step.params.get("acc"):
        return get_format(step.params["acc"])
    return trace.profile.accumulator(step.op, trace.formats[step.inputs[0]])


def length(trace: Trace, step: Step) -> int:
    """The number of terms one output sums."""
    shape = trace.values[step.inputs[0]].shape
    if step.op == "matmul":
        return shape[-1] + (len(step.inputs) == 3)
    return math.prod(shape[i] for i in axes_of(shape, step.params.get("axis")))


def terms(trace: Trace, step: Step) -> np.ndarray:
    """sum |terms| of every output, in fp64: sum |x|, or |a| @ |b| + |c|."""
    operands = [np.abs(np.asarray(trace.values[i], np.float64)) for i in step.inputs]
    with np.errstate(all="ignore"):
        if step.op == "matmul":
            product = operands[0] @ operands[1]
            return product + operands[2] if len(operands) == 3 else product
        axes = axes_of(operands[0].shape, step.params.get("axis"))
        return np.asarray(np.sum(operands[0], axis=axes, keepdims=bool(step.params.get("keepdims"))))
