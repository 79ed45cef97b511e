"""ONNX: one TensorProto (`.pb`, the test data of models), or the initialisers of a ModelProto (`.onnx`).

The protobuf is read without its library and without onnx (files/protobuf.py); field numbers and types are those of
onnx/onnx.proto of onnx 1.23:

    TensorProto    1 dims, 2 data_type, 4 float_data, 5 int32_data, 7 int64_data, 8 name, 9 raw_data, 10 double_data,
                   11 uint64_data, 13 external_data (1 key, 2 value), 14 data_location
    ModelProto     1 ir_version, 7 graph;   GraphProto   5 initializer

fp16, bf16 and fp8 in int32_data are their bits. External data is read from a file in the same folder, or below it;
from nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from precdiff.dump.arrays import ArraysDump, Held, held, kept_rows, numbered, without_format, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Field,
    fields,
    key,
    mapped,
    signed,
    varint,
    varints,
)
from precdiff.dump.files.raw import sidecar
from precdiff.dump.files.stored import Given, Room, Source, checked_bool, checked_shape, inside, stored
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError
from precdiff.formats import Array, Format, get_format

ALONE = "tensor"
#: TensorProto.DataType
_TYPES = {
    1: "fp32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "fp16", 11: "fp64", 12: "u32",
    13: "u64", 16: "bf16", 17: "e4m3fn", 19: "e5m2",
}  # fmt: skip
_OTHER_TYPES = {
    8: "string", 14: "complex64", 15: "complex128", 18: "e4m3fnuz", 20: "e5m2fnuz", 21: "uint4", 22: "int4",
    23: "e2m1fn", 24: "e8m0fnu", 25: "uint2", 26: "int2",
}  # fmt: skip
_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL = 1, 2, 8, 9, 13
#: field of values -> dtype of one, None of varints
_VALUES: dict[int, Any] = {4: "<f4", 10: "<f8", 5: None, 7: None, 11: None}
#: fields of a tensor and of a model by number -> wire types they may have
_TENSOR_FIELDS = {
    1: {VARINT, BYTES}, 2: {VARINT}, 3: {BYTES}, 4: {FIXED32, BYTES}, 5: {VARINT, BYTES}, 6: {BYTES},
    7: {VARINT, BYTES}, 8: {BYTES}, 9: {BYTES}, 10: {FIXED64, BYTES}, 11: {VARINT, BYTES}, 12: {BYTES}, 13: {BYTES},
    14: {VARINT}, 16: {BYTES},
}  # fmt: skip
_MODEL_FIELDS = {
    1: {VARINT}, 2: {BYTES}, 3: {BYTES}, 4: {BYTES}, 5: {VARINT}, 6: {BYTES}, 7: {BYTES}, 8: {BYTES}, 14: {BYTES},
    20: {BYTES}, 25: {BYTES}, 26: {BYTES},
}  # fmt: skip
_GRAPH, _INITIALISER = 7, 5


class OnnxDump(ArraysDump):
    """ONNX tensors (.pb) and the initialisers of models (.onnx)."""

    reader = "onnx"
    general = True
    suffix = ".pb"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Every field is one of a TensorProto with a type, or of a ModelProto with a graph."""
        if path.is_dir() or head[:1] not in (b"\x08", b"\x0a", b"\x10") or sidecar(path).exists():
            return False
        try:
            content = mapped(path)
            return _is(content, _TENSOR_FIELDS, _TYPE) or _is(content, _MODEL_FIELDS, _GRAPH)
        except (OSError, ValueError):
            return False

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            tensors = list(_tensors(path, mapped(path)))
        except (OSError, ValueError) as error:
            raise FileError(f"{path} is a damaged ONNX file: {error}. Copy it again") from error
        return cls(path, Attributes(complete=True), (), numbered(tensors))

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        rows = kept_rows(dump)
        if len(rows) != 1:
            raise FileError(f"{dump.path} holds {len(rows)} tensors, a .pb file holds one; convert to a folder")
        (row,) = rows
        number = next((n for n, name in _TYPES.items() if name == row.stored_format), None)
        if number is None:
            raise FileError(f"tensor {row.id!r} is {row.stored_format}, which ONNX has no type for")
        size = row.size * get_format(row.stored_format).storage.itemsize
        with path.open("wb") as file:
            for axis in row.shape:
                file.write(key(_DIMS, VARINT) + varint(axis))
            file.write(key(_TYPE, VARINT) + varint(number))
            file.write(key(_NAME, BYTES) + varint(len(row.id.encode())) + row.id.encode())
            file.write(key(_RAW, BYTES) + varint(size))
            write_codes(file, dump, row.id)


def _is(content: memoryview, known: dict[int, set[int]], needed: int) -> bool:
    found = set()
    for field in fields(content):
        if field.wire not in known.get(field.number, ()):
            return False
        found.add(field.number)
    return needed in found


def _tensors(path: Path, content: memoryview) -> Iterator[Held]:
    if _is(content, _TENSOR_FIELDS, _TYPE):
        yield _tensor(path, content, 0, len(content))
        return
    for graph in fields(content):
        if graph.number == _GRAPH:
            for field in fields(content, graph.start, graph.stop):
                if field.number == _INITIALISER and field.wire == BYTES:
                    yield _tensor(path, content, field.start, field.stop)


def _tensor(path: Path, content: memoryview, start: int, stop: int) -> Held:
    found = list(fields(content, start, stop))
    dims = [signed(n) for field in found if field.number == _DIMS for n in _integers(content, field)]
    name = next((_text(content, field) for field in found if field.number == _NAME), "") or ALONE
    number = next((field.value for field in found if field.number == _TYPE), 0)
    shape = checked_shape(dims, f"{path}: tensor {name!r}")
    if number not in _TYPES:
        return without_format(name, _OTHER_TYPES.get(number, f"of ONNX type {number}"), shape)
    return held(name, _source(path, content, found, get_format(_TYPES[number]), shape))


def _source(path: Path, content: memoryview, found: list[Field], format: Format, shape: tuple[int, ...]) -> Source:
    external = [_entry(content, field) for field in found if field.number == _EXTERNAL]
    if external:
        return _external(path, dict(external), format, shape)
    raw = next((field for field in found if field.number == _RAW), None)
    if raw is not None:
        return stored(Room(path, raw.start, raw.stop - raw.start), format, shape)
    values = [_values(content, field) for field in found if field.number in _VALUES]
    codes = np.concatenate(values) if values else np.empty(0, np.uint8)
    if len(codes) != math.prod(shape):
        raise FileError(f"{path}: {len(codes):,} values for the shape {list(shape)}")
    return Given(format, checked_bool(_codes(codes, format), format, path).reshape(shape))


def _codes(values: Array, format: Format) -> Array:
    """The codes; values of varints are the low bits of their numbers."""
    if values.dtype.kind == "f" and values.itemsize == format.storage.itemsize:
        return np.asarray(values.view(format.storage))
    if values.dtype.kind == "f":
        raise ValueError(f"values of {values.itemsize} bytes for a tensor of {format}")
    return np.asarray(values.astype(format.storage))


def _values(content: memoryview, field: Field) -> Array:
    kind = _VALUES[field.number]
    if kind is None:
        return np.array(_integers(content, field), np.uint64)
    return np.frombuffer(bytes(content[field.start : field.stop]), kind)


def _integers(content: memoryview, field: Field) -> list[int]:
    """The numbers of a field, one or packed."""
    return [field.value] if field.wire == VARINT else varints(content[field.start : field.stop]).tolist()


def _text(content: memoryview, field: Field) -> str:
    return bytes(content[field.start : field.stop]).decode(errors="replace")


def _entry(content: memoryview, field: Field) -> tuple[str, str]:
    """A StringStringEntryProto."""
    found = {inner.number: _text(content, inner) for inner in fields(content, field.start, field.stop)}
    return found.get(1, ""), found.get(2, "")


def _external(path: Path, about: dict[str, str], format: Format, shape: tuple[int, ...]) -> Source:
    file = inside(path, about.get("location", ""))
    offset, size = int(about.get("offset", 0)), file.stat().st_size
    length = int(about.get("length", size - offset))
    if not 0 <= offset <= size or not 0 <= length <= size - offset:
        raise FileError(f"{path}: its values at {offset:,} are {length:,} bytes, but {file.name} has {size:,}")
    return stored(Room(file, offset, length), format, shape)


READERS.add("onnx", OnnxDump)
