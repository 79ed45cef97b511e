"""The machine: one number system that runs any kernel. It decides how numbers are represented, rounded and accumulated.

A machine keeps a tensor's values in planes, arrays of equal shape. Moving elements is the same for every plane, so
layout ops are written once, here; a subclass says what the other kinds of op mean in its number system. The kinds are
few and rarely change (a new structural kind touches every machine, on purpose); ops of a kind are rows and touch none.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format
from precdiff.machine.realarray import RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.integers import wrapped
from precdiff.ops.op import (
    Constant,
    Contraction,
    Conversion,
    Elementwise,
    Layout,
    Op,
    Reduction,
    Selection,
    Structural,
)
from precdiff.ops.reductions import axes_of, constant
from precdiff.rounding import Rounding

Planes = tuple[np.ndarray, ...]


class Machine(ABC):
    """The methods every number system has; `planes` in and out are the machine's own representation."""

    #: what a reference or a message calls this number system
    name: ClassVar[str]
    #: whether results are reals (references) and not values of the declared format
    ideal: ClassVar[bool] = True
    #: whether the sign of a zero is kept
    signed_zeros: ClassVar[bool] = True

    @abstractmethod
    def enter(self, values: np.ndarray, format: Format) -> Planes:
        """Exact planes of carrier `values` of `format`."""

    @abstractmethod
    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        """Planes of a constant: `value` a binary64 number, `text` an exact decimal where the source had one."""

    @abstractmethod
    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        """The op on operands that broadcast."""

    @abstractmethod
    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        """x where the condition, else y; all broadcast."""

    @abstractmethod
    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        """The reduction over the last axis of `x` (the reduced axes are moved there and joined)."""

    @abstractmethod
    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        """a @ b, plus c where there are three inputs."""

    @abstractmethod
    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        """x in another format."""

    @abstractmethod
    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        """Planes that contain [lo, hi] (fp64); (-inf, inf) is "anything". Values, not enclosures, take lo == hi."""

    @abstractmethod
    def reals(self, x: Tensor) -> RealArray:
        """The tensor's values as reals with radius: what a comparison reads."""

    def rounded(
        self, x: Tensor, rounding: Rounding, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(values rounded once, where that is decided), as RealArray.rounded."""
        return self.reals(x).rounded(rounding, rng)

    def integers(self, name: str, inputs: Sequence[Tensor], format: Format) -> Planes:
        """An op on integers, exact and wrapped; beside an operand that is not known, anything of the format."""
        _check_broadcast(inputs)
        values, known = zip(*map(self.known, inputs), strict=True)
        planes = self.enter(wrapped(name, values, format), format)
        certain = np.logical_and.reduce(np.broadcast_arrays(*known))
        if certain.all():
            return planes
        low, high = (np.full(certain.shape, float(end)) for end in format.integer_range)
        return tuple(np.where(certain, p, h) for p, h in zip(planes, self.hull(low, high, format), strict=True))

    def known(self, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """(carriers, where the element is exactly that value of its format); 0 elsewhere. NaN is no one value."""
        values, known = self.reals(x).exact_values(x.format)
        return values, known & ((values != 0) | self.signed_zeros | (not x.format.is_float))

    def layer(self, name: str) -> contextlib.AbstractContextManager[None]:
        """A named scope; only a recorder takes notice."""
        return contextlib.nullcontext()

    def phase(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Steps of that phase (forward, backward, optimizer); only a recorder takes notice."""
        return contextlib.nullcontext()

    def tensor(self, values: np.ndarray, format: Format, id: str = "") -> Tensor:
        """A tensor of carrier values, entered exactly."""
        return Tensor(self.enter(np.asarray(values), format), format, self, id)

    def constant(self, number: Any, format: Format) -> Tensor:
        """A number of the source, in the format of the operand beside it."""
        return self.apply(constant, (), constant_params(number, format))

    def apply(
        self, op: Op, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format | None = None
    ) -> Tensor:
        """Run one op; `format` overrides the declared format of the result (replay does so)."""
        declared = format or op.result_format([t.format for t in inputs], params)
        try:
            planes = self._dispatch(op, inputs, params, declared)
        except (ValueError, IndexError) as error:
            shapes = ", ".join(str(t.shape) for t in inputs)
            raise KernelError(f"{op.name}: {error}; the operands have shapes {shapes}") from None
        return Tensor(planes, declared, self)

    def _dispatch(self, op: Op, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        match op:
            case Layout():
                return _moved(op, inputs, params)
            case Elementwise():
                _check_broadcast(inputs)
                on_integers = inputs[0].format.kind == "int" and not op.result
                return self.integers(op.name, inputs, format) if on_integers else self.elementwise(op, inputs, format)
            case Selection():
                condition, x, y = (t.planes for t in inputs)
                return self.select(condition, x, y)
            case Reduction():
                return self._reduce(op, inputs[0], params, format)
            case Contraction():
                _check_contraction(inputs)
                return self.contract(inputs, params, format)
            case Conversion():
                return self.convert(inputs[0], params, format)
            case Structural():
                return op.run(self, inputs, params, format)
            case Constant():
                return self.literal(params, format)
        raise KernelError(f"{op.name}: this machine knows no ops of kind {type(op).__name__}")

    def _reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        axes = axes_of(x.shape, params.get("axis"))
        flat = Tensor(tuple(_axes_last(p, axes) for p in x.planes), x.format, self)
        if op.kind != "sum" and flat.shape[-1] == 0:
            raise KernelError(f"{op.name}: no elements along axes {list(axes)} of shape {x.shape}")
        planes = self.reduce(op, flat, params, format)
        if not params.get("keepdims"):
            return planes
        kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        return tuple(p.reshape(kept) for p in planes)


def constant_params(number: Any, format: Format) -> dict[str, Any]:
    """The params of a constant step; `text` is the exact decimal of a number that carries one (precdiff eval)."""
    text = getattr(number, "text", "")
    if isinstance(number, int | np.integer) and not text and int(float(number)) != number:
        text = str(number)  # binary64 does not hold it
    return {"value": float(number), "format": format.name, **({"text": text} if text else {})}


def _moved(op: Layout, inputs: Sequence[Tensor], params: Mapping[str, Any]) -> Planes:
    return tuple(op.move(*planes, **params) for planes in zip(*(t.planes for t in inputs), strict=True))


def _axes_last(plane: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    rest = [i for i in range(plane.ndim) if i not in axes]
    moved = np.transpose(plane, [*rest, *axes])
    return np.ascontiguousarray(moved).reshape(*(plane.shape[i] for i in rest), math.prod(plane.shape[i] for i in axes))


def _check_broadcast(inputs: Sequence[Tensor]) -> None:
    try:
        np.broadcast_shapes(*(t.shape for t in inputs))
    except ValueError:
        raise ValueError("shapes do not broadcast; lengths must be equal or 1, counted from the last axis") from None


def _check_contraction(inputs: Sequence[Tensor]) -> None:
    a, b = inputs[:2]
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError("allowed are (..., m, k) @ (..., k, n); reshape vectors to matrices")
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if len(inputs) == 3:
        np.broadcast_to(inputs[2].planes[0], shape)
