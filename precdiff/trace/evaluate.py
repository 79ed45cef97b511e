"""Evaluate a trace, or part of it, on another machine: the recorded steps in order, from the same input bits."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.machine import Machine, Tensor
from precdiff.ops import OPS
from precdiff.trace.regions import needed_for
from precdiff.trace.step import Step, Trace


def recorded(trace: Trace, tensor: str, machine: Machine) -> Tensor:
    """A tensor's recorded value, entered exactly."""
    return machine.tensor(trace.values[tensor], get_format(trace.formats[tensor]), tensor)


@contextlib.contextmanager
def again(step: Step) -> Iterator[None]:
    """Around what runs a step once more: one that never was a step of a run, as in a damaged dump, is told as such."""
    try:
        yield
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        given = f"{len(step.inputs)} inputs and params {dict(step.params)!r:.200}"
        raise KernelError(
            f"step {step.id!r}: {step.op} with {given} cannot be run again: {type(error).__name__}: {error}. "
            "Its dump is damaged; where `precdiff verify` finds it whole, please report this"
        ) from error


def run_step(step: Step, inputs: Collection[Tensor], machine: Machine) -> Tensor:
    """One step on tensors of `machine`, in its declared format."""
    op, declared = OPS[step.op], get_format(step.format)
    with again(step):
        return machine.apply(op, tuple(inputs), step.params, declared)


def evaluate(
    trace: Trace, machine: Machine, wanted: Collection[str] | None = None, known: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """All tensors `wanted` depends on (default: all), by id, on `machine`; `known` tensors are taken as they are."""
    values = dict(known or {})
    needed = needed_for(trace, [s.id for s in trace.steps] if wanted is None else wanted)
    for step in trace.steps:
        if step.id in needed and step.id not in values:
            for source in step.inputs:
                if source not in values:
                    values[source] = recorded(trace, source, machine)
            values[step.id] = run_step(step, [values[i] for i in step.inputs], machine)
    for tensor in needed:
        if tensor not in values:
            values[tensor] = recorded(trace, tensor, machine)
    return values


def local(trace: Trace, step: Step, machine: Machine) -> Tensor:
    """One step's op on its own recorded inputs."""
    return run_step(step, [recorded(trace, i, machine) for i in step.inputs], machine)


def native_values(trace: Trace, tensor: str) -> np.ndarray:
    """A tensor's value in the ecosystem's dtype."""
    from precdiff.formats import native

    return np.asarray(native(trace.values[tensor], get_format(trace.formats[tensor])))
