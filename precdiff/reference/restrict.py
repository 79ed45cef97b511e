"""Smaller traces: one step on its own recorded inputs, or only some elements of an elementwise cone.

The ladder climbs with as little as it can: a few doubtful elements of a pow of a million need a few balls, not
millions.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from precdiff.ops import OPS, Constant, Conversion, Elementwise, Selection
from precdiff.trace import Step, Trace, needed_for


def isolated(trace: Trace, step: Step) -> Trace:
    """The trace of that step alone: its recorded inputs are the inputs. Its total error is the step's local error."""
    sources = {i: trace.values[i] for i in step.inputs}
    return dataclasses.replace(
        trace, steps=[step], inputs={i: i for i in sources}, outputs={"out": step.id},
        values={**sources, step.id: trace.values[step.id]}, formats=trace.formats,
    )  # fmt: skip


def is_elementwise(trace: Trace, tensor: str) -> bool:
    """Whether the tensor's whole cone works element by element."""
    needed = needed_for(trace, [tensor])
    kinds = (Elementwise, Selection, Conversion, Constant)
    return all(isinstance(OPS[s.op], kinds) for s in trace.steps if s.id in needed)


def restricted(trace: Trace, tensor: str, mask: np.ndarray) -> Trace:
    """The cone of `tensor`, elementwise throughout, at the elements of `mask` (of the tensor's shape) only."""
    needed = needed_for(trace, [tensor])
    steps = [s for s in trace.steps if s.id in needed]
    chosen = {id: np.broadcast_to(trace.values[id], mask.shape)[mask] for id in needed}
    made = {s.id for s in steps if isinstance(OPS[s.op], Constant)}
    values = {id: trace.values[id] if id in made else value for id, value in chosen.items()}
    return dataclasses.replace(trace, steps=steps, values=values)
