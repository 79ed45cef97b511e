"""The true outputs of a recorded call, from its own recorded inputs, and how far a device may be from them.

    exact     the call's formula on certified enclosures: interval, then double-double, then balls, until the radius is
              a tenth of what is allowed
    allowed   running error analysis of the formula in fp32, or wider where operands are, + the call's allowance in ULP;
              of gradients, and of calls known for it, with every step stored in the narrowest format of its operands

Of the backward of a call, the same for its vjp rows, swept on a tape from the gradients of its outputs. This file
knows formulas and arrays; it must not know dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format, get_format, ulp
from precdiff.kernels.api import COMPUTES, Api
from precdiff.machine import BallMachine, DoubleDoubleMachine, IntervalMachine, Machine, RealArray, Tensor
from precdiff.machine.realarray import FINITE
from precdiff.reference.running import RunningMachine
from precdiff.trace import Tape

#: where elements are this many, balls take too long
MOST_BALLS = 20_000
_SHARE = 0.1
_WIDE, _FP32 = get_format("fp64"), get_format("fp32")


@dataclass(frozen=True)
class Operand:
    """A recorded tensor: carrier values of `format`."""

    values: np.ndarray
    format: Format


@dataclass(frozen=True)
class Truth:
    """An output: what it is, with radius; the error allowed, absolute, one number an element; which rung knew it."""

    exact: RealArray
    allowed: np.ndarray
    backend: str
    bits: int


Formula = Callable[..., Any]
Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def outputs(api: Api, positional: Sequence[Any], keywords: Mapping[str, Any], formats: Sequence[Format]) -> list[Truth]:
    """The outputs of a call; tensors among the arguments (or in lists) are Operands, `formats` those of the results."""

    def on(machine: Any, function: Formula = api.function) -> list[Tensor]:
        args, kwargs = _entered((positional, keywords), machine)
        return _listed(function(*args, **kwargs))

    running = _running((positional, keywords), formats, narrow=api.narrow)
    noise = [t.planes[1] for t in on(running, api.noisy or api.function)]
    if len(noise) != len(formats):
        raise KernelError(f"{api.name} has {len(noise)} outputs, recorded are {len(formats)}")
    return _climbed(on, noise, api.allowance, formats)


def gradients(
    api: Api, positional: Sequence[Any], keywords: Mapping[str, Any], cotangents: Sequence[Operand | None]
) -> list[Truth | None]:
    """The gradients of the call's tensor arguments in their order, None for integers, from those of its outputs."""
    if api.ties:
        raise KernelError(f"{api.name}: which of equal elements the gradient goes to is a convention")
    leaves = [o for o in _operands((positional, keywords)) if o.format.is_float]
    formats = [o.format for o in leaves]

    def on(machine: Any, function: Formula = api.function) -> list[Tensor]:
        tape = Tape(machine)
        adopted: dict[int, Tensor] = {}

        def entered(operand: Operand) -> Tensor:
            made = adopted[id(operand)] = tape.adopt(_tensor(operand, machine))
            return made

        args, kwargs = _replaced(list(positional), entered), _replaced(dict(keywords), entered)
        results = _listed(function(*args, **kwargs))
        return _swept(tape, results, cotangents, [adopted[id(o)] for o in leaves], machine)

    running = _running((positional, keywords), formats, narrow=True)
    noise = [t.planes[1] for t in on(running, api.noisy or api.function)]
    if api.saved is not None and len(leaves) == 1 and cotangents[0] is not None:
        noise[0] = _of_the_saved(api, positional, keywords, cotangents[0])
    found = iter(_climbed(on, noise, max(api.allowance, COMPUTES), formats))
    return [next(found) if o.format.is_float else None for o in _operands((positional, keywords))]


def _of_the_saved(api: Api, positional: Sequence[Any], keywords: Mapping[str, Any], cotangent: Operand) -> np.ndarray:
    """The noise of a gradient that is computed, in fp32 or wider, from the output as it was stored."""
    wide = _WIDE if cotangent.format is _WIDE else _FP32
    machine = RunningMachine(wide, wide)
    args, kwargs = _entered((positional, keywords), machine)
    y = api.function(*args, **kwargs)
    value, error = y.planes
    stored = Tensor((value, error + 2 * cotangent.format.u * np.abs(value)), y.format, machine)
    assert api.saved is not None
    made: Tensor = api.saved(_tensor(cotangent, machine), stored, *args[1:], **kwargs)
    return made.planes[1]


def _listed(made: Any) -> list[Tensor]:
    return list(made) if isinstance(made, tuple | list) else [made]


def _swept(
    tape: Tape, results: Sequence[Tensor], cotangents: Sequence[Operand | None], leaves: Sequence[Tensor], machine: Any
) -> list[Tensor]:
    """The sum over the outputs of what each one's gradient gives every leaf."""
    total: list[Tensor] = []
    for result, cotangent in zip(results, cotangents, strict=True):
        if cotangent is not None:
            found = tape.sweep(result, _tensor(cotangent, machine), leaves)
            total = found if not total else [a + b for a, b in zip(total, found, strict=True)]
    if not total:
        raise KernelError("no gradient of an output was recorded")
    return total


def _climbed(
    on: Callable[[Machine], list[Tensor]], noise: Sequence[np.ndarray], allowance: float, formats: Sequence[Format]
) -> list[Truth]:
    """Every output on the first rung that knows it well enough, else on the last one tried."""
    truths: list[Truth] = []
    for machine in _rungs(max((n.size for n in noise), default=0)):
        found = [machine.reals(t) for t in on(machine)]
        name, bits = str(machine.name), int(getattr(machine, "bits", 0))
        rows = zip(found, noise, formats, strict=True)
        truths = [Truth(exact, _allowed(exact, n, allowance, f), name, bits) for exact, n, f in rows]
        if all(np.all((t.exact.kind != FINITE) | (t.exact.radius <= _SHARE * t.allowed)) for t in truths):
            break
    return truths


def _rungs(size: int) -> Iterator[Machine]:
    yield IntervalMachine()
    if size <= MOST_BALLS:
        yield DoubleDoubleMachine()
        yield BallMachine(256)


def _allowed(exact: RealArray, noise: np.ndarray, allowance: float, format: Format) -> np.ndarray:
    if not format.is_float:
        return np.zeros(exact.shape)
    unit = ulp(np.where(exact.kind == FINITE, exact.hi, 0.0), format)
    return np.asarray((noise if allowance else 0.0) + allowance * unit)


def _running(arguments: Arguments, formats: Sequence[Format], *, narrow: bool) -> RunningMachine:
    """Steps in fp32, or fp64 where an operand is; `narrow`: in the narrowest format of all. Sums never are narrow."""
    floats = [f for f in (*(o.format for o in _operands(arguments)), *formats) if f.is_float] or [_FP32]
    wide = _WIDE if _WIDE in floats else _FP32
    return RunningMachine(min(floats, key=lambda f: f.p) if narrow else wide, wide)


def _operands(arguments: Arguments) -> list[Operand]:
    found: list[Operand] = []
    _replaced(list(arguments[0]), found.append)
    _replaced(dict(arguments[1]), found.append)
    return found


def _entered(arguments: Arguments, machine: Any) -> tuple[Any, Any]:
    positional, keywords = arguments
    parts = (_replaced(part, lambda o: _tensor(o, machine)) for part in (list(positional), dict(keywords)))
    return next(parts), next(parts)


def _tensor(operand: Operand, machine: Any) -> Tensor:
    """Floats enter exactly as fp64, so that a call may mix formats as frameworks do."""
    if not operand.format.is_float:
        return machine.tensor(operand.values, operand.format)
    return machine.tensor(np.asarray(operand.values, np.float64), _WIDE)


def _replaced(value: Any, replace: Callable[[Operand], Any]) -> Any:
    """The value with every Operand in it replaced."""
    if isinstance(value, Operand):
        return replace(value)
    if isinstance(value, dict):
        return {key: _replaced(item, replace) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, replace) for item in value)
    return value
