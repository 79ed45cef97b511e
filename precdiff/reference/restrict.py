"""Smaller traces: one step on its own recorded inputs, or only some elements of an elementwise cone.

The ladder climbs with as little as it can: a few doubtful elements of a pow of a million need a few balls, not
millions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np

from precdiff.ops import OPS, Constant, Conversion, Elementwise, Selection
from precdiff.ops.bits import Reinterpretation
from precdiff.ops.integers import IntegerOp
from precdiff.trace import Step, Trace, needed_for


def isolated(trace: Trace, step: Step) -> Trace:
    """The trace of that step alone: its recorded inputs are the inputs. Its total error is the step's local error."""
    sources = {i: trace.values[i] for i in step.inputs}
    return dataclasses.replace(
        trace, steps=[step], inputs={i: i for i in sources}, outputs={"out": step.id},
        values={**sources, step.id: trace.values[step.id]}, formats=trace.formats,
    )  # fmt: skip


_ELEMENTWISE = (Elementwise, Selection, Conversion, Constant, IntegerOp, Reinterpretation)


def elementwise_tensors(trace: Trace) -> set[str]:
    """The tensors whose whole cone works element by element; inputs are."""
    made = {s.id for s in trace.steps}
    found = {id for id in trace.values if id not in made}
    for step in trace.steps:
        if isinstance(OPS[step.op], _ELEMENTWISE) and found.issuperset(step.inputs):
            found.add(step.id)
    return found


def is_elementwise(trace: Trace, tensor: str) -> bool:
    """Whether the tensor's whole cone works element by element."""
    return tensor in elementwise_tensors(trace)


def restricted(trace: Trace, tensors: str | Collection[str], mask: np.ndarray) -> Trace:
    """The cones of `tensors`, of one shape and elementwise throughout, at the elements of `mask` (of that shape)."""
    needed = needed_for(trace, [tensors] if isinstance(tensors, str) else tensors)
    steps = [s for s in trace.steps if s.id in needed]
    made = {s.id for s in steps if isinstance(OPS[s.op], Constant)}
    values = {id: _at(trace.values[id], mask) if id not in made else trace.values[id] for id in needed}
    return dataclasses.replace(trace, steps=steps, values=values)


def _at(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(np.broadcast_to(values, mask.shape)[mask])
