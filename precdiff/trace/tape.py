"""A tape: a machine that runs another one and keeps what was run, so that derivatives can be swept back over it.

    x_bar = sum over the ops that read x of vjp(y_bar, y, inputs)    reverse accumulation (Griewank and Walther 2008)

The sweep is ops again, on the machine below, in its formats and roundings: under a recorder they are steps of phase
`backward`, in a layer d_<op> each. It knows ops and their vjp rows; it must not know kernels or traces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from precdiff.errors import KernelError
from precdiff.formats import Format
from precdiff.machine import RealArray, Tensor
from precdiff.machine.machine import constant_params
from precdiff.ops import constant
from precdiff.ops.op import Op
from precdiff.trace.adjoint import gradients


@dataclass(frozen=True)
class _Entry:
    """One op that was run, with its tensors on the tape."""

    op: Op
    params: Mapping[str, Any]
    inputs: Sequence[Tensor]
    output: Tensor


class Tape:
    """Machine `inner`, remembered."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name = inner.name
        self._entries: list[_Entry] = []
        # (tensor on the tape, the one it stands for) by the former's identity, which lasts while both are held
        self._pairs: dict[int, tuple[Tensor, Tensor]] = {}

    def adopt(self, x: Tensor) -> Tensor:
        """A tensor of the machine below, for use on the tape."""
        mine = Tensor(x.planes, x.format, self, x.id)
        self._pairs[id(mine)] = mine, x
        return mine

    def release(self, x: Tensor) -> Tensor:
        """The tensor of the machine below that one of the tape stands for."""
        return self._pairs[id(x)][1]

    def reals(self, x: Tensor) -> RealArray:
        """The values as the machine below knows them."""
        found: RealArray = self.inner.reals(self.release(x))
        return found

    def layer(self, name: str) -> contextlib.AbstractContextManager[None]:
        """A scope of the machine below."""
        scope: contextlib.AbstractContextManager[None] = self.inner.layer(name)
        return scope

    def phase(self, name: str) -> contextlib.AbstractContextManager[None]:
        """A phase of the machine below."""
        scope: contextlib.AbstractContextManager[None] = self.inner.phase(name)
        return scope

    def constant(self, number: Any, format: Format) -> Tensor:
        """A number of the source."""
        return self.apply(constant, (), constant_params(number, format))

    def apply(
        self, op: Op, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format | None = None
    ) -> Tensor:
        """Run the op below and keep it."""
        made = self.adopt(self.inner.apply(op, [self.release(t) for t in inputs], params, format))
        self._entries.append(_Entry(op, dict(params), tuple(inputs), made))
        return made

    def sweep(self, output: Tensor, cotangent: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
        """The cotangent of every leaf, for one of an output; all but `cotangent`, of the machine below, on the tape."""
        if cotangent.shape != output.shape:
            raise KernelError(f"the gradient has shape {cotangent.shape}; the output has {output.shape}")
        varying = self._varying(leaves)
        found = {id(output): cotangent}
        with self.phase("backward"):
            for entry in reversed(self._entries):
                if id(entry.output) in found:
                    self._pull(entry, varying, found)
            return [found[id(leaf)] if id(leaf) in found else 0.0 * self.release(leaf) for leaf in leaves]

    def _varying(self, leaves: Sequence[Tensor]) -> set[int]:
        """The tensors that depend on a leaf."""
        varying = {id(leaf) for leaf in leaves}
        for entry in self._entries:
            if any(id(t) in varying for t in entry.inputs):
                varying.add(id(entry.output))
        return varying

    def _pull(self, entry: _Entry, varying: set[int], found: dict[int, Tensor]) -> None:
        inputs, output = [self.release(t) for t in entry.inputs], self.release(entry.output)
        wanted = [i for i, t in enumerate(entry.inputs) if id(t) in varying]
        if not wanted:
            return
        with self.layer(f"d_{entry.op.name}"):
            pulled = gradients(entry.op, entry.params, found[id(entry.output)], output, inputs, wanted)
            for source, gradient in zip(entry.inputs, pulled, strict=True):
                if gradient is not None:
                    key = id(source)
                    found[key] = found[key] + gradient if key in found else gradient
