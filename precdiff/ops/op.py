"""What an op is: a real function with a name. It knows shapes and formats; it must not know numbers' representation.

Calling an op asks the machine that owns its arguments: `exp(x)` is `x.machine.apply(exp, (x,), {})`. There is no
ambient state, and ops never import machines. Rules that hold for every op (DESIGN 3, "Mixing"): all tensor operands
have one machine; float operands have one format (the error names `cast`); a Python number takes the other operand's
format.

Each row carries what the machines need to know of the function and nothing of how they round it:

    host     the fp64 numpy function, off by at most `bound` spacings of fp64 at its result (tested against balls)
    enclose  the interval twin: (lo, hi) planes in, (lo, hi) planes out, outward rounded (ops/enclosure.py)
    ball     the python-flint twin, one arb an operand
    mp       the mpmath twin, called with the context first: the definition of truth
    vjp      (cotangent, output, *inputs, **params) -> one cotangent an input, written over ops; None: not
    differentiable
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format, get_format
from precdiff.registry import Registry

OPS: Registry[Op] = Registry("op")

Planes = tuple[np.ndarray, ...]
Vjp = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Op:
    """A named real function over tensors; subclasses say which kind of function it is."""

    name: str

    def __post_init__(self) -> None:
        OPS.add(self.name, self)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The declared format of the result; default: the operands' common format."""
        return common_format(self.name, formats)

    def __call__(self, *args: Any, **params: Any) -> Any:
        machine = owner(self.name, args)
        return machine.apply(self, as_tensors(self.name, machine, args), params)


@dataclass(frozen=True)
class Elementwise(Op):
    """A function applied element by element, with numpy's broadcasting.

    `rounded` is set for the operations IEEE 754 rounds correctly: (arrays..., rounding, rng) -> array. `exact` results
    are always representable and never rounded. `result` names the result's format where it is not the operands'
    ("bool").
    """

    host: Callable[..., Any] = field(kw_only=True)
    enclose: Callable[..., Planes] = field(kw_only=True)
    ball: Callable[..., Any] = field(kw_only=True)
    mp: Callable[..., Any] = field(kw_only=True)
    bound: float = field(default=4.0, kw_only=True)
    vjp: Vjp | None = field(default=None, kw_only=True)
    rounded: Callable[..., np.ndarray] | None = field(default=None, kw_only=True)
    exact: bool = field(default=False, kw_only=True)
    #: operands -> open interval that holds every inexact result; no precision may be able to tell it from the end
    inside: Callable[..., tuple[float, float]] | None = field(default=None, kw_only=True)
    #: the ball twin where an operand is -0.0, inf or NaN (then a float among the arbs); default: what the host gives
    #: there. Such a row's mp twin is given -0.0 as the float it is
    at_specials: Callable[..., Any] | None = field(default=None, kw_only=True)
    result: str = field(default="", kw_only=True)
    #: largest |result - truth| in ulp that a device of unknown profile may show (DESIGN 4, foreign dumps)
    allowance: float = field(default=4.0, kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The operands' format, or the fixed one of comparisons."""
        common = common_format(self.name, formats)
        return get_format(self.result) if self.result else common


@dataclass(frozen=True)
class Layout(Op):
    """Moves elements, never rounds: `move(*arrays, **params)` is a numpy function, the same on every machine."""

    move: Callable[..., np.ndarray] = field(kw_only=True)
    vjp: Vjp | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Selection(Op):
    """Chooses between elements by a boolean: `where`. Exact, but a reference may be unable to decide."""

    vjp: Vjp | None = field(default=None, kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The format of the two values."""
        if formats[0].name != "bool":
            raise KernelError(f"{self.name}: the condition is {formats[0].name}, allowed is bool; compare first")
        return common_format(self.name, formats[1:])


@dataclass(frozen=True)
class Reduction(Op):
    """Combines the elements along axes. `kind` "sum" has an order and an accumulator; "max" and "min" are exact."""

    kind: str = field(kw_only=True)
    vjp: Vjp | None = field(default=None, kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """`out` where given, else the operand's."""
        return get_format(params["out"]) if params.get("out") else formats[0]


@dataclass(frozen=True)
class Structural(Op):
    """Built from other rows and a machine's own words (`apply`, `reals`, `hull`), one step in a trace.

    `run(machine, inputs, params, format)` gives the planes; `result` fixes the format (indices are "i64"). A row that
    adds or multiplies says how its roundings pile up: `accumulates(*arrays, **params)` gives, per element of the
    result, how many there are and the magnitude they are relative to.
    """

    run: Callable[..., Planes] = field(kw_only=True)
    accumulates: Callable[..., tuple[Any, Any]] | None = field(default=None, kw_only=True)
    vjp: Vjp | None = field(default=None, kw_only=True)
    result: str = field(default="", kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The fixed format, else the first operand's."""
        return get_format(self.result) if self.result else formats[0]


@dataclass(frozen=True)
class Contraction(Op):
    """Sums of products, a @ b [+ c]: `acc` and `out` name the accumulator's and the result's format."""

    vjp: Vjp | None = field(default=None, kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """`out` where given, else the operands'; sums of integer products are delivered as they are, in i32."""
        common = common_format(self.name, formats[:2])
        if params.get("out"):
            return get_format(params["out"])
        return get_format(params.get("acc") or "i32") if common.kind == "int" else common


@dataclass(frozen=True)
class Conversion(Op):
    """`cast`: to the format in `to`, rounded once by `mode` where given, else as the profile does."""

    vjp: Vjp | None = field(default=None, kw_only=True)

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The format asked for."""
        return get_format(params["to"])


@dataclass(frozen=True)
class Constant(Op):
    """A number of the source: `value` (binary64, or the exact decimal in `text`), rounded once to `format`."""

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The format it was given."""
        return get_format(params["format"])


def common_format(name: str, formats: Sequence[Format]) -> Format:
    """The one format all operands have; raises KernelError naming `cast` where they differ."""
    first = formats[0]
    if any(f != first for f in formats):
        found = ", ".join(f.name for f in formats)
        raise KernelError(f"{name}: operands have formats {found}; they must agree. Use cast(x, {first.name!r}).")
    return first


def owner(name: str, args: Sequence[Any]) -> Any:
    """The machine all tensor arguments share."""
    machines = [a.machine for a in args if hasattr(a, "machine")]
    if not machines:
        raise KernelError(f"{name}: no argument is a Tensor; found {', '.join(type(a).__name__ for a in args)}")
    if any(m is not machines[0] for m in machines):
        raise KernelError(f"{name}: its arguments live on different machines; run the whole kernel on one")
    return machines[0]


def as_tensors(name: str, machine: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers become constants in the format of the first tensor that is not bool."""
    tensors = [a for a in args if hasattr(a, "machine")]
    values = [t for t in tensors if t.format.name != "bool"] or tensors
    return tuple(a if hasattr(a, "machine") else _constant(name, machine, a, values[0].format) for a in args)


def _constant(name: str, machine: Any, number: Any, format: Format) -> Any:
    if isinstance(number, complex) or not np.isscalar(number) or isinstance(number, str):
        raise KernelError(
            f"{name}: found an argument of type {type(number).__name__}; allowed are Tensors and real numbers. "
            "Arrays enter as kernel inputs."
        )
    return machine.constant(number, format)
