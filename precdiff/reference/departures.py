"""What a profile declares beside rounding, as an addition to a step's bound: such a step is as the device says it is.

    subnormal_inputs = flush     what the step makes of its operands less what it makes of them with subnormals as zeros
    subnormal_outputs = flush    the smallest normal number, once a result and once a term of a sum
    products of a sum            half the smallest subnormal a product, where products are rounded and may underflow
    nan_compare_ne = false       x != NaN is as the device has it
    direction                    a cast to integers that names no mode may end at the other neighbour

Overflow and saturation are the comparison's business (its conventions).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from precdiff.formats import Format, get_format
from precdiff.machine import RealArray
from precdiff.ops import OPS, Contraction, Conversion, Elementwise, Reduction
from precdiff.ops.reductions import axes_of
from precdiff.reference.accumulation import accumulator, length
from precdiff.trace import Step, Trace

_SUMS = ("sum", "matmul")


def departures(trace: Trace, step: Step, exact: RealArray) -> np.ndarray | float:
    """Absolute, an element (or one number for all)."""
    return (
        _flushed_inputs(trace, step) + _flushed_outputs(trace, step, exact) + _underflow(trace, step)
        + _comparison(trace, step) + _integers(trace, step)
    )  # fmt: skip


def _flushed_inputs(trace: Trace, step: Step) -> np.ndarray | float:
    reads = isinstance(OPS[step.op], Elementwise | Reduction | Contraction)
    if trace.profile.subnormal_inputs.value == "keep" or not reads:
        return 0.0
    formats = [get_format(trace.formats[i]) for i in step.inputs]
    arrays = [np.asarray(trace.values[i], np.float64) for i in step.inputs]
    flushed = [_flush(a, f) for a, f in zip(arrays, formats, strict=True)]
    if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, flushed, strict=True)):
        return 0.0
    with np.errstate(all="ignore"):
        whole, rest = _result(step, arrays), _result(step, flushed)
        change = np.where(whole == rest, 0.0, np.abs(whole - rest) + 2.0**-50 * np.abs(whole))
    return np.where(np.isnan(change), np.inf, change)


def _flush(values: np.ndarray, format: Format) -> np.ndarray:
    return np.where(np.abs(values) < format.min_normal, 0.0, values) if format.is_float else values


def _result(step: Step, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The op in fp64, of the magnitudes where it sums."""
    op = OPS[step.op]
    if isinstance(op, Elementwise):
        return np.asarray(op.host(*arrays), np.float64)
    if isinstance(op, Contraction):
        return np.asarray(np.abs(arrays[0]) @ np.abs(arrays[1]))
    combine = np.sum if step.op == "sum" else np.max
    axes = axes_of(arrays[0].shape, step.params.get("axis"))
    values = np.abs(arrays[0]) if step.op == "sum" else arrays[0]
    return np.asarray(combine(values, axis=axes, keepdims=bool(step.params.get("keepdims"))))


def _flushed_outputs(trace: Trace, step: Step, exact: RealArray) -> np.ndarray | float:
    format = get_format(step.format)
    if trace.profile.subnormal_outputs.value == "keep" or not format.is_float:
        return 0.0
    small = np.abs(exact.hi) < format.min_normal * (1 + 2 * format.u)
    inside = length(trace, step) * accumulator(trace, step).min_normal if step.op in _SUMS else 0.0
    return np.where(small, format.min_normal, 0.0) + inside


def _underflow(trace: Trace, step: Step) -> float:
    if step.op != "matmul" or trace.profile.matmul_product.value != "rounded":
        return 0.0
    return length(trace, step) * accumulator(trace, step).min_subnormal / 2


def _comparison(trace: Trace, step: Step) -> np.ndarray | float:
    if step.op != "ne" or trace.profile.nan_compare_ne.value == "ieee":
        return 0.0
    x, y = (np.isnan(np.asarray(trace.values[i], np.float64)) for i in step.inputs)
    return (x | y).astype(np.float64)


def _integers(trace: Trace, step: Step) -> float:
    own = isinstance(OPS[step.op], Conversion) and not get_format(step.format).is_float and not step.params.get("mode")
    return 1.0 if own and trace.profile.direction.value != "nearest-even" else 0.0
