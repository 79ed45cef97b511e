"""How many terms a step adds up, in which format, and how large they are: what the error of a sum is measured by."""

from __future__ import annotations

import math

import numpy as np

from precdiff.formats import Format, get_format
from precdiff.ops import OPS, Layout
from precdiff.ops.reductions import axes_of
from precdiff.trace import Step, Trace

_SUMS = ("sum", "matmul", "add", "sub", "fma")


def factor(n: np.ndarray, u: float, nearest: bool = True) -> np.ndarray:
    """min(gamma_n, 6 sqrt(n) u), elementwise; gamma_n of 2u where roundings all go one way, which nothing averages."""
    unit = u if nearest else 2 * u
    with np.errstate(divide="ignore"):
        gamma = np.where(n * unit < 1, n * unit / np.abs(1 - n * unit), np.inf)
    return np.minimum(gamma, 6 * np.sqrt(n) * u) if nearest else gamma


def accumulation_factor(trace: Trace, step: Step) -> float:
    """The factor for the step's length and accumulator."""
    u = accumulator(trace, step).u
    return float(factor(np.asarray(float(length(trace, step))), u, rounds_to_nearest(trace)))


def rounds_to_nearest(trace: Trace) -> bool:
    """Whether the profile's roundings err to both sides."""
    return trace.profile.direction.value.startswith("nearest")


def accumulator(trace: Trace, step: Step) -> Format:
    """The format a sum or matrix product is accumulated in; a sum of two terms is in its own."""
    if step.params.get("acc"):
        return get_format(step.params["acc"])
    if step.op in ("add", "sub", "fma"):
        return get_format(step.format)
    return trace.profile.accumulator(step.op, trace.formats[step.inputs[0]])


def length(trace: Trace, step: Step) -> int:
    """The number of terms one output sums."""
    shape = trace.values[step.inputs[0]].shape
    if step.op == "matmul":
        return shape[-1] + (len(step.inputs) == 3)
    return math.prod(shape[i] for i in axes_of(shape, step.params.get("axis")))


def terms(trace: Trace, step: Step) -> np.ndarray:
    """sum |terms| of every output, in fp64: sum |x|, or |a| @ |b| + |c|, or |x| + |y|, or |x| |y| + |z|."""
    operands = [np.abs(np.asarray(trace.values[i], np.float64)) for i in step.inputs]
    with np.errstate(all="ignore"):
        if step.op in ("add", "sub"):
            return operands[0] + operands[1]
        if step.op == "fma":
            return operands[0] * operands[1] + operands[2]
        if step.op == "matmul":
            product = operands[0] @ operands[1]
            return product + operands[2] if len(operands) == 3 else product
        axes = axes_of(operands[0].shape, step.params.get("axis"))
        return np.asarray(np.sum(operands[0], axis=axes, keepdims=bool(step.params.get("keepdims"))))


def summed(trace: Trace, tensor: str) -> tuple[np.ndarray, float] | None:
    """(sum |terms|, u of what they were added in) of a tensor that is a sum, as it stands or moved or stored.

    Sums are sum, matmul, add, sub and fma; layout ops move their terms along, a cast or a change of sign keeps them, a
    division of the sum divides them. None where the tensor is anything else.
    """
    step = next((s for s in trace.steps if s.id == tensor), None)
    if step is None:
        return None
    if step.op in _SUMS:
        return terms(trace, step), accumulator(trace, step).u
    op = OPS[step.op]
    if step.op == "div":
        return _divided(trace, step)
    if not (isinstance(op, Layout) or step.op in ("cast", "neg")):
        return None
    found = [part for part in (summed(trace, source) for source in step.inputs) if part is not None]
    if len(found) < len(step.inputs):
        return None
    sizes, units = zip(*found, strict=True)
    return np.asarray(op.move(*sizes, **step.params)) if isinstance(op, Layout) else sizes[0], max(units)


def _divided(trace: Trace, step: Step) -> tuple[np.ndarray, float] | None:
    found = summed(trace, step.inputs[0])
    if found is None:
        return None
    divisor = np.abs(np.asarray(trace.values[step.inputs[1]], np.float64))
    with np.errstate(all="ignore"):
        return found[0] / divisor, found[1]
