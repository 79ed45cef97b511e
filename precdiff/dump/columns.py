"""Rows as the tables hold them, and back. This file knows the order and the texts of the columns, not the tables."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from precdiff.dump.parameters import decode, decode_mapping, encode
from precdiff.dump.rows import Ports, StepRow, TensorRow
from precdiff.dump.schema import text
from precdiff.dump.statistics import UNCOUNTED, Statistics

_NUMBERS = tuple(field.name for field in dataclasses.fields(Statistics))


def step_columns(row: StepRow) -> tuple[Any, ...]:
    """A step as a record of the table."""
    params = encode(dict(row.params), f"step {row.id!r}: params")
    inputs, outputs = ([list(port) for port in ports] for ports in (row.inputs, row.outputs))
    ports = encode(inputs, "inputs"), encode(outputs, "outputs")
    return tuple(map(text, (row.id, row.op, row.layer, row.phase, params, *ports, row.source)))


def step_of(record: dict[str, Any]) -> StepRow:
    """The step of a record."""
    ports = {name: _ports(record[name]) for name in ("inputs", "outputs")}
    return StepRow(**{**record, **ports, "params": decode_mapping(record["params"])})


def _ports(text: str) -> Ports:
    ports = tuple((role, id) for role, id in decode(text))
    if not all(isinstance(word, str) for port in ports for word in port):
        raise TypeError(f"found {text[:60]!r}; allowed are pairs of a role and a tensor's id")
    return ports


def tensor_columns(row: TensorRow) -> tuple[Any, ...]:
    """A tensor as a record of the table; without statistics NaN, and -1 for the counts."""
    shape = encode(list(row.shape), "shape")
    texts = row.id, row.name, row.role, row.layer, row.format, row.stored_format, shape, row.data, row.where
    numbers = (math.nan,) * 4 + (-1, -1) if row.statistics is None else dataclasses.astuple(row.statistics)
    return (*map(text, texts), *numbers, row.checksum)


def tensor_of(record: dict[str, Any]) -> TensorRow:
    """The tensor of a record."""
    numbers = [record.pop(name) for name in _NUMBERS]
    statistics = None if numbers[-1] < 0 and numbers[-1] != UNCOUNTED else Statistics(*numbers)
    return TensorRow(**{**record, "shape": _shape(record["shape"]), "statistics": statistics})


def _shape(text: str) -> tuple[int, ...]:
    shape = tuple(decode(text))
    if not all(type(size) is int and size >= 0 for size in shape):
        raise TypeError(f"found the shape {text[:60]!r}; allowed are sizes from 0 on")
    return shape
