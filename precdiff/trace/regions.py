"""Parts of a trace: who feeds whom, a step's cone back to the inputs, a layer, what lies downstream."""

from __future__ import annotations

from collections.abc import Collection

from precdiff.trace.change import Region
from precdiff.trace.step import Trace


def cone(trace: Trace, step: str) -> Region:
    """The step and everything it is computed from, in execution order."""
    needed = needed_for(trace, [step])
    return Region(tuple(s.id for s in trace.steps if s.id in needed))


def needed_for(trace: Trace, tensors: Collection[str]) -> set[str]:
    """The ids of all tensors the given ones are computed from, themselves included."""
    needed = set(tensors)
    for step in reversed(trace.steps):
        if step.id in needed:
            needed.update(step.inputs)
    return needed


def layer_of(trace: Trace, layer: str) -> Region:
    """All steps inside a layer."""
    return Region(tuple(s.id for s in trace.steps if s.layer == layer or s.layer.startswith(layer + "/")))


def consumers(trace: Trace) -> dict[str, list[str]]:
    """For every tensor the steps that read it."""
    readers: dict[str, list[str]] = {}
    for step in trace.steps:
        for source in step.inputs:
            readers.setdefault(source, []).append(step.id)
    return readers
