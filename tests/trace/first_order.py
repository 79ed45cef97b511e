"""How well first-order shares predict: the error a sweep foretells for every element against the error that is there.

With J_s the derivative of the output by step s and delta_s that step's local error, to first order

    e_i = sum over steps of (J_s delta_s)_i

For an elementwise kernel the sum is local: seeded with ones, sum_s cotangent_s * delta_s. `prediction_ratios` gives
|predicted - measured| / |measured| over the elements whose measured error is a number and not zero.
"""

import numpy as np

from precdiff import reference
from precdiff.kernels import run_kernel
from precdiff.machine.realarray import FINITE
from precdiff.trace import sweep


def errors(trace, tensor, found):
    """recorded - exact in fp64; 0 where either is not finite."""
    exact = found[tensor].values
    with np.errstate(invalid="ignore", over="ignore"):
        error = (np.asarray(trace.values[tensor], np.float64) - exact.hi) - exact.lo
    return np.where((exact.kind == FINITE) & np.isfinite(error), error, 0.0)


def points(trace, totals):
    """Where to differentiate: the exact values, the recorded ones where nothing exact is known."""
    values = {id: np.asarray(v, np.float64) for id, v in trace.values.items()}
    for id, found in totals.items():
        exact = found.values.values()
        values[id] = np.where(np.isfinite(exact), exact, values[id])
    return values


def shares(trace, output):
    """{step: signed share of the squared error of `output`}; to first order they sum to 1."""
    totals, locals_ = reference.total(trace), reference.local(trace)
    error = errors(trace, output, totals)
    cotangents = sweep(trace, points(trace, totals), {output: error})
    energy = float(np.sum(error * error))
    steps = [s.id for s in trace.steps if s.id in cotangents]
    return {id: float(np.sum(cotangents[id] * errors(trace, id, locals_))) / energy for id in steps}


def predicted_and_measured(trace, output):
    """(sum over steps of cotangent * local error, measured total error) of an elementwise kernel's output."""
    totals, locals_ = reference.total(trace), reference.local(trace)
    ones = np.ones(trace.values[output].shape)
    cotangents = sweep(trace, points(trace, totals), {output: ones})
    steps = [s.id for s in trace.steps if s.id in cotangents and trace.values[s.id].shape == ones.shape]
    # constants have one element each, their error reaches every element
    parts = [cotangents[id] * errors(trace, id, locals_) for id in steps]
    return np.sum(parts, axis=0), errors(trace, output, totals)


def prediction_ratios(variant="v1", fmt="fp16", size=4000, seed=0, xs=(0.1, 10.0), ys=(-4.0, 4.0)):
    """predicted / measured for every element of pow whose error is a number and not zero."""
    rng = np.random.default_rng(seed)
    given = {"x": rng.uniform(*xs, size), "y": rng.uniform(*ys, size)}
    trace = run_kernel("pow", given, format=fmt, options={"variant": variant}).trace
    predicted, measured = predicted_and_measured(trace, trace.outputs["out"])
    used = (measured != 0) & np.isfinite(measured) & np.isfinite(predicted)
    return predicted[used] / measured[used]
