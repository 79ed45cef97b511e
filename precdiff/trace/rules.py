"""What each kind of Change does to a step: the machine it runs on, its format, its params, its operands, its result.

One function a kind, from (value, base machine, format of the step) to a Rule. They know machines and profiles; they
must not know traces: replay.py applies them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import Format, get_format
from precdiff.machine import EmulatedMachine, Machine, MpMachine, Tensor
from precdiff.ops import OPS
from precdiff.ops.op import Contraction, Op, Reduction
from precdiff.ops.reductions import axes_of
from precdiff.rounding import Rounding, arithmetic, round_array
from precdiff.trace.change import Change
from precdiff.trace.step import Step

#: exponents a float64 carrier holds for any p <= 24, with room for products
_WIDE = 900

#: ops whose result depends on the order in which equal elements are taken
_ORDERED = ("argsort", "argmax")

Params = Mapping[str, Any]
Versions = Mapping[str, np.ndarray]


def _same_params(step: Step) -> Params:
    return step.params


def _same_operands(step: Step, tensors: list[Tensor]) -> list[Tensor]:
    return tensors


def _same_result(step: Step, tensor: Tensor) -> Tensor:
    return tensor


@dataclass(frozen=True)
class Rule:
    """`machine` None: an ideal machine of the replay's current rung (exact)."""

    machine: Machine | None
    format: Format | None = None
    params: Callable[[Step], Params] = _same_params
    operands: Callable[[Step, list[Tensor]], list[Tensor]] = _same_operands
    result: Callable[[Step, Tensor], Tensor] = _same_result
    op: Op | None = None


def rule(change: Change, step: Step, base: EmulatedMachine, versions: Versions) -> Rule:
    """The Rule of `change` for one step; `versions` are the tensors a step may read instead of its own."""
    if change.kind == "reads":
        return _reads(change.value, base, versions)
    if change.kind == "tie_rule" and change.value in ("first", "last"):
        return _taken_in_order(change.value, step, base, versions)
    return _RULES[change.kind](change.value, step, base)


def _exact(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(None)


def _format(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    target = get_format(value)
    declared = get_format(step.format)
    if not declared.is_float:
        return Rule(base)
    return Rule(base, target, lambda s: _with_accumulator(s, target))


def _with_accumulator(step: Step, target: Format) -> Params:
    if _accumulates(step) and not (step.params.get("acc") and get_format(step.params["acc"]).p >= target.p):
        return {**step.params, "acc": target.name}
    return step.params


def _accumulates(step: Step) -> bool:
    op = OPS[step.op]
    return isinstance(op, Contraction) or (isinstance(op, Reduction) and op.kind == "sum")


def _op(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(base, op=OPS[value])


def _accumulator(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(base, params=lambda s: {**s.params, "acc": get_format(value).name} if _accumulates(s) else s.params)


def _order(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(_with(base, sum_order=value, matmul_order=value))


def _taken_in_order(value: str, step: Step, base: EmulatedMachine, versions: Versions) -> Rule:
    """Equal elements first or last: the last ones come first of the reversed operand."""
    if step.op not in _ORDERED:
        allowed = ", ".join(_ORDERED)
        raise PrecDiffError(f"change tie_rule {value}: step {step.id!r} is {step.op}; allowed are {allowed}")
    axis = int(step.params["axis"])
    last = versions[step.inputs[0]].shape[axis] - 1

    def reversed_(s: Step, tensors: list[Tensor]) -> list[Tensor]:
        return [Tensor((np.flip(t.planes[0], axis),), t.format, t.machine) for t in tensors]

    def from_the_end(s: Step, tensor: Tensor) -> Tensor:
        return Tensor((last - tensor.planes[0],), tensor.format, tensor.machine)

    return Rule(base) if value == "first" else Rule(base, operands=reversed_, result=from_the_end)


def _direction(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(_with(base, direction=value))


def _overflow(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    touched = dict.fromkeys([*base.profile.saturated_formats.value, step.format])
    return Rule(_with(base, overflow=value, saturated_formats=tuple(touched)))


def _subnormals(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(_with(base, subnormal_inputs=value, subnormal_outputs=value))


def _approximation(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(_with(base, approximations={})) if value is None else Rule(base, get_format(value))


def _operands(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    return Rule(base, operands=lambda s, tensors: [_through(t, [value]) for t in tensors])


def _through(tensor: Tensor, formats: Sequence[str]) -> Tensor:
    """The tensor rounded to each format in turn; it keeps its own."""
    values = tensor.planes[0]
    for name in formats if tensor.format.is_float else ():
        values = round_array(values, Rounding(name)).astype(values.dtype)
    return Tensor((values,), tensor.format, tensor.machine)


def _with(base: EmulatedMachine, **fields: Any) -> EmulatedMachine:
    return EmulatedMachine(base.profile.with_(**fields), base.rng)


def _exponent(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    declared = get_format(step.format)
    if not declared.is_float:
        return Rule(base)
    if declared.p > 24:
        return Rule(MpMachine(declared.p))
    if not _accumulates(step):
        return Rule(base, _unbounded(declared))
    named = step.params.get("acc")
    accumulator = _unbounded(get_format(named) if named else base.profile.accumulator(step.op, declared))
    return Rule(base, _unbounded(declared), lambda s: {**s.params, "acc": accumulator})


def _unbounded(format: Format) -> Format:
    """The format with its precision and exponents that never run out (within float64's)."""
    name = f"{format.name}~unbounded"
    return dataclasses.replace(format, name=name, emin=-_WIDE, emax=_WIDE, carrier="float64", bits=64, has_inf=True)


def _constant(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    if step.op != "constant":
        raise PrecDiffError(f"change constant: step {step.id!r} is {step.op}, not a constant")
    kept = {k: v for k, v in step.params.items() if k != "text"}
    return Rule(base, params=lambda s: {**kept, "value": float(value)})


def _cast(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    if step.op == "cast":
        added = {"mode": value} if isinstance(value, str) else {"through": list(value["through"])}
        return Rule(base, params=lambda s: {**s.params, **added})
    if isinstance(value, str) or not get_format(step.format).is_float:
        raise PrecDiffError(f"change cast: step {step.id!r} is {step.op}, not a cast")
    first, *others = value["through"]
    return Rule(base, get_format(first), result=lambda s, tensor: _through(tensor, others))


def _scale(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    def scaled(s: Step, tensor: Tensor) -> Tensor:
        factor = np.float64(value)
        planes = arithmetic.multiply(tensor.planes[0], factor, Rounding(tensor.format))
        return Tensor((planes,), tensor.format, tensor.machine)

    return Rule(base, result=scaled)


def _drop_term(value: Any, step: Step, base: EmulatedMachine) -> Rule:
    if not _accumulates(step):
        raise PrecDiffError(f"change drop_term: step {step.id!r} is {step.op}, which sums nothing")
    return Rule(base, operands=lambda s, tensors: [_without(s, tensors[0], int(value)), *tensors[1:]])


def _reads(value: Mapping[str, Any], base: EmulatedMachine, versions: Versions) -> Rule:
    def replaced(s: Step, tensors: list[Tensor]) -> list[Tensor]:
        number = int(value.get("input", 0))
        if not 0 <= number < len(tensors):
            raise PrecDiffError(f"change reads: step {s.id!r} has {len(tensors)} operands; found input {number}")
        return [_patched(t, value, versions) if i == number else t for i, t in enumerate(tensors)]

    return Rule(base, operands=replaced)


def _patched(tensor: Tensor, value: Mapping[str, Any], versions: Versions) -> Tensor:
    start, stop = (int(end) for end in value.get("where", (0, tensor.size)))
    plane = tensor.planes[0].copy()
    flat, version = plane.reshape(-1), value.get("version")
    if version == "poison":
        flat[start:stop] = _held(np.asarray(value.get("value", np.nan)), tensor.format) if tensor.format.is_float else 0
    else:
        other = flat.copy() if version is None else np.ravel(_version(version, versions))
        begin = int(value.get("from", (start, stop))[0])
        content = np.resize(other[begin : begin + stop - start], stop - start)
        flat[start:stop] = _held(content, tensor.format) if tensor.format.is_float else content
    return Tensor((flat.reshape(plane.shape),), tensor.format, tensor.machine)


def _held(values: np.ndarray, format: Format) -> np.ndarray:
    """What the memory of that format holds of the values."""
    return np.asarray(round_array(np.asarray(values, np.float64), Rounding(format)))


def _version(name: str, versions: Versions) -> np.ndarray:
    if name not in versions:
        raise UnknownNameError("tensor", name, versions)
    return versions[name]


def _without(step: Step, x: Tensor, index: int) -> Tensor:
    """The operand with one term of every sum zero; terms are counted over the summed axes, the last one fastest."""
    axes = (x.ndim - 1,) if step.op == "matmul" else axes_of(x.shape, step.params.get("axis"))
    lengths = [x.shape[axis] for axis in axes]
    count = math.prod(lengths)
    if not -count <= index < count:
        raise PrecDiffError(f"change drop_term: step {step.id!r} has {count} terms; found index {index}")
    plane = x.planes[0].copy()
    np.moveaxis(plane, axes, range(len(axes)))[np.unravel_index(index % count, lengths)] = 0
    return Tensor((plane,), x.format, x.machine)


_RULES: dict[str, Callable[[Any, Step, EmulatedMachine], Rule]] = {
    "exact": _exact, "fuse": _exact, "format": _format, "accumulator": _accumulator, "order": _order,
    "direction": _direction, "tie_rule": _direction, "exponent": _exponent, "overflow": _overflow,
    "subnormals": _subnormals, "constant": _constant, "cast": _cast, "operands": _operands,
    "approximation": _approximation, "scale": _scale,
    "drop_term": _drop_term, "op": _op,
}  # fmt: skip
