"""The recorder wraps any machine and writes down what it does, one Step an op. One recorder a run.

Tensors it hands out belong to it, so every later op comes back here. It keeps the stack of layer names; it must not
know what an op means.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format
from precdiff.machine import Machine, RealArray, Tensor
from precdiff.machine.machine import constant_params
from precdiff.ops import constant
from precdiff.ops.decisions import MAX_ITERATIONS
from precdiff.ops.op import Constant, Op
from precdiff.trace.source import calling_source
from precdiff.trace.step import Source, Step, Trace

#: called with each new step and the tensor it made; a dump writer is one
Sink = Callable[[Step, np.ndarray], None]

#: steps after which a kernel is taken to run away: a Python loop that never ends would fill memory or disk
MAX_STEPS = 1_000_000


class RecordingMachine:
    """Machine `inner` with every op recorded in `trace`, and handed to `sink` at once."""

    def __init__(
        self, inner: Machine, trace: Trace, sink: Sink | None = None, max_iterations: int = MAX_ITERATIONS
    ) -> None:
        self.inner = inner
        self.name = inner.name
        self.max_iterations = max_iterations
        self.max_steps = MAX_STEPS
        self.trace = trace
        self._sink = sink
        self._layers: list[str] = []
        self._phase = "forward"
        self._uses: dict[str, int] = {}

    def reals(self, x: Tensor) -> RealArray:
        """The tensor's values as the inner machine knows them: what a decision reads."""
        return self.inner.reals(x)

    def input(self, name: str, values: np.ndarray, format: Format) -> Tensor:
        """Enter a kernel input."""
        if name in self.trace.values:
            raise KernelError(f"two inputs are called {name!r}")
        # a copy: the caller may write to its array later
        tensor = self.inner.tensor(np.array(values), format)
        self.trace.inputs[name] = name
        self._uses[name] = 1
        return self._keep(tensor, name)

    def constant(self, number: Any, format: Format) -> Tensor:
        """Record a number of the source."""
        return self.apply(constant, (), constant_params(number, format))

    @contextlib.contextmanager
    def layer(self, name: str) -> Iterator[None]:
        """Name the steps inside."""
        self._layers.append(name)
        try:
            yield
        finally:
            self._layers.pop()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Mark the steps inside as of that phase."""
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = before

    def apply(
        self, op: Op, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format | None = None
    ) -> Tensor:
        """Run the op on the inner machine and record it."""
        if len(self.trace.steps) >= self.max_steps:
            raise KernelError(f"stopped after {self.max_steps:,} steps: does a loop of it never end?")
        inner = [Tensor(t.planes, t.format, self.inner) for t in inputs]
        result = self.inner.apply(op, inner, params, format)
        step = Step(
            id=self._new_id(op.name), op=op.name, inputs=tuple(t.id for t in inputs), params=dict(params),
            format=result.format.name, layer="/".join(self._layers), source=_source(op),
            phase=self._phase,
        )  # fmt: skip
        self.trace.steps.append(step)
        kept = self._keep(result, step.id)
        if self._sink is not None:
            self._sink(step, self.trace.values[step.id])
        return kept

    def _keep(self, tensor: Tensor, id: str) -> Tensor:
        self.trace.values[id] = tensor.planes[0]
        self.trace.formats[id] = tensor.format.name
        return Tensor(tensor.planes, tensor.format, self, id)

    def _new_id(self, op: str) -> str:
        name = "/".join([*self._layers[1:], op])
        self._uses[name] = self._uses.get(name, 0) + 1
        count = self._uses[name]
        return name if count == 1 else f"{name}#{count}"


def _source(op: Op) -> Source:
    """Where the op was written; the name on that line is not a constant's."""
    found = calling_source()
    return dataclasses.replace(found, name="") if isinstance(op, Constant) else found
