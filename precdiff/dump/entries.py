"""The entries of msprobe's dump.json and debug.json: what one call was given and made, as rows.

    forward            input_args (list), input_kwargs (dict), output (list), parameters (dict, modules)
    backward           input (gradients of the outputs), output (gradients of the inputs)
    parameters_grad    a key for each parameter
    debug              whatever structure was saved

The leaves are tensors (they have dtype and shape), `{type, value}` of plain values, null, and {} for what msprobe
could not describe; keys that are not known are passed over. A tensor's id is msprobe's own: entry and place in it.

    id of a tensor     Functional.linear.0.forward.input.1, ....kwargs.bias, ....parameters.weight, ....output.0
    role of a port     input.1, kwargs.bias, parameters.weight, output.0; the same keys name params that are no tensors

This file knows the JSON, not the files the values are in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from precdiff.dump.calls import CallName, parse_call
from precdiff.dump.files.naming import format_called
from precdiff.dump.files.stored import checked_shape
from precdiff.dump.rows import StepRow, TensorRow
from precdiff.dump.statistics import UNCOUNTED, VALUE, Statistics
from precdiff.errors import FileError

#: containers in containers
MOST_DEPTH = 64

#: key of an entry -> how ids and roles call its part, and whether the call made it
_PARTS = {
    "input_args": ("input", False), "input_kwargs": ("kwargs", False), "parameters": ("parameters", False),
    "input": ("input", False), "output": ("output", True),
}  # fmt: skip
#: types of leaves that are the value itself
_PLAIN = ("int", "float", "bool", "str", "NoneType")


class Entry(NamedTuple):
    """A call: its step, its tensors, and the file name of each that has one."""

    step: StepRow
    tensors: list[TensorRow]
    files: dict[str, str]


def read_entry(name: str, content: Any, layer: str, source: str, *, debug: bool = False) -> Entry:
    """The rows of one entry; `layer` and `source` are known elsewhere."""
    call = parse_call(name)
    if not isinstance(content, dict) and not (debug and isinstance(content, list)):
        raise FileError(f"entry {name!r}: found {type(content).__name__}; allowed is an object of inputs and outputs")
    reading = _Reading(name, call, layer)
    for port, leaf, made in _leaves(name, content, call, debug=debug):
        reading.add(port, leaf, made=made)
    step = StepRow(
        name, call.op, tuple(reading.inputs), tuple(reading.outputs), layer, call.phase, reading.params, source
    )
    return Entry(step, reading.tensors, reading.files)


def _leaves(name: str, content: Any, call: CallName, *, debug: bool) -> Iterator[tuple[str, Any, bool]]:
    """(port, leaf, whether the call made it) in order."""
    if debug or call.grads:
        whole = {key: _only(value) for key, value in content.items()} if call.grads else content
        yield from ((port, leaf, True) for port, leaf in _walk(whole, "", name))
        return
    for key, (part, made) in _PARTS.items():
        found = content.get(key)
        listed = [found] if _is_tensor(found) else found
        yield from ((port, leaf, made) for port, leaf in _walk(listed, part, name) if port != part)


def _only(value: Any) -> Any:
    """A parameter's gradient is the one item of a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _walk(item: Any, port: str, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > MOST_DEPTH:
        raise FileError(f"entry {name!r} has containers nested deeper than {MOST_DEPTH}")
    if isinstance(item, list) or (isinstance(item, dict) and item and "type" not in item and not _is_tensor(item)):
        for key, inner in item.items() if isinstance(item, dict) else enumerate(item):
            yield from _walk(inner, f"{port}.{key}" if port else str(key), name, depth + 1)
    else:
        yield port, item


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, dict) and isinstance(leaf.get("dtype"), str) and isinstance(leaf.get("shape"), list)


class _Reading:
    """One entry while its leaves go by."""

    def __init__(self, name: str, call: CallName, layer: str) -> None:
        self._name, self._call, self._layer = name, call, layer
        self.inputs: list[tuple[str, str]] = []
        self.outputs: list[tuple[str, str]] = []
        self.params: dict[str, Any] = {}
        self.tensors: list[TensorRow] = []
        self.files: dict[str, str] = {}

    def add(self, port: str, leaf: Any, *, made: bool) -> None:
        if not _is_tensor(leaf):
            self.params[port] = _plain(leaf)
            return
        id = f"{self._name}.{port}" if port else self._name
        self.tensors.append(_tensor_row(id, leaf, port, self._role(port, made=made), self._layer))
        (self.outputs if made else self.inputs).append((port, id))
        if leaf.get("data_name") is not None:
            self.files[id] = _file_name(leaf["data_name"], id)

    def _role(self, port: str, *, made: bool) -> str:
        """Gradients are what a backward call makes."""
        if made:
            return "grad" if self._call.phase == "backward" else "output"
        return "parameter" if port.startswith("parameters.") else "input"


def _file_name(value: Any, id: str) -> str:
    if not isinstance(value, str) or value in ("", ".", "..") or set(value) & set("/\\\0"):
        raise FileError(f"tensor {id!r} names the file {str(value)[:80]!r}; a dump may not point outside its folder")
    return value


def _plain(leaf: Any) -> Any:
    """A leaf that is no tensor: its value where that is plain, else all that was recorded of it."""
    if isinstance(leaf, dict) and leaf.get("type") in _PLAIN and "value" in leaf:
        return leaf["value"]
    return leaf


def _tensor_row(id: str, leaf: dict[str, Any], name: str, role: str, layer: str) -> TensorRow:
    format = format_called(leaf["dtype"])
    checksum = _checksum(leaf.get("md5"))
    statistics = _statistics(leaf)
    return TensorRow(
        id, format or leaf["dtype"], checked_shape(leaf["shape"], f"tensor {id!r}"), name, role, layer,
        stored_format=format or "", data="checksum" if checksum and statistics is None else "stats",
        statistics=statistics, checksum=checksum,
    )  # fmt: skip


def _statistics(leaf: dict[str, Any]) -> Statistics | None:
    """As recorded; what was left out is NaN."""
    found = [leaf.get(key) for key in ("Min", "Max", "Mean", "Norm")]
    if all(value is None for value in found):
        return None
    low, high, mean, norm = (_number(value) for value in found)
    return Statistics(low, high, mean, norm, UNCOUNTED, UNCOUNTED)


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _checksum(value: Any) -> str:
    """8 hexadecimal digits are a CRC-32, 0x and 16 an exclusive or; a number is the value of a scalar in xor mode."""
    if isinstance(value, str):
        return f"xor64:{value[2:].lower()}" if value.startswith("0x") else f"crc32:{value.lower()}"
    return f"{VALUE}{value!r}" if isinstance(value, int | float) else ""
