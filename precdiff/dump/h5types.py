"""The HDF5 type of every format, and raw codes in and out: HDF5 never converts a float here.

HDF5's own conversions round ties away, turn overflow into the largest number and rewrite NaN payloads (HDF5 2.0,
tried), and h5py stores an ml_dtypes array as opaque bytes. So codes move through a memory type equal to the file's.

    bf16          an IEEE-like HDF5 float: sign 15, exponent 14..7, significand 6..0, bias 127. Any HDF5 tool prints it
    e4m3fn e5m2   u8
    bool          h5py's enumeration FALSE, TRUE
    tf32 and such fp32, whose values they share

Every data set also has the attribute `format`.
"""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from h5py import h5t

from precdiff.errors import FileError
from precdiff.formats import FORMATS, Array, Format, get_format

_FLOATS = {"fp16": h5t.IEEE_F16LE, "fp32": h5t.IEEE_F32LE, "fp64": h5t.IEEE_F64LE}


def stored_format(format: str | Format) -> Format:
    """The format whose codes stand for this one's in the file: its own, or the first of the same ecosystem dtype."""
    row = get_format(format)
    return next(other for _, other in FORMATS.items() if other.native == row.native)


def file_type(format: Format) -> Any:
    """The HDF5 type of a stored format."""
    if format.name == "bf16":
        return _bfloat16()
    if format.name in _FLOATS:
        return _FLOATS[format.name]
    if format.kind == "bool":
        return h5t.py_create(np.dtype(bool), logical=True)
    return h5t.py_create(code_dtype(format) if format.is_float else np.dtype(format.native).newbyteorder("<"))


def code_dtype(format: Format) -> np.dtype[Any]:
    """The numpy dtype of codes as they lie in the file: little-endian."""
    return format.storage.newbyteorder("<")


def _bfloat16() -> Any:
    made = h5t.IEEE_F16LE.copy()
    made.set_fields(15, 7, 8, 0, 7)
    made.set_ebias(127)
    return made


def create(group: Any, name: str, format: Format, stored: Format, shape: tuple[int, ...], **settings: Any) -> Any:
    """A new data set of that format."""
    dataset = group.create_dataset(name, shape=shape, dtype=h5py.Datatype(file_type(stored)), **settings)
    dataset.attrs["format"] = format.name
    return dataset


def write_codes(dataset: Any, codes: Array, start: tuple[int, ...] | None = None) -> None:
    """Write codes, whole or as the block at `start`."""
    data = np.ascontiguousarray(codes, codes.dtype.newbyteorder("<"))
    if data.size:
        memory, file = _spaces(dataset, start, data.shape)
        dataset.id.write(memory, file, data, dataset.id.get_type())


def read_codes(
    dataset: Any, stored: Format, start: tuple[int, ...] | None = None, shape: tuple[int, ...] | None = None
) -> Array:
    """Read codes, whole or the block of `shape` at `start`."""
    check_type(dataset, stored)
    codes = np.empty(dataset.shape if shape is None else shape, code_dtype(stored))
    if codes.size:
        memory, file = _spaces(dataset, start, codes.shape)
        dataset.id.read(memory, file, codes, dataset.id.get_type())
    return codes.astype(stored.storage, copy=False)


def check_type(dataset: Any, stored: Format) -> None:
    """Refuse a data set whose type is not that of its declared format."""
    if not dataset.id.get_type().equal(file_type(stored)):
        raise FileError(f"{dataset.name} is declared {stored} but holds HDF5 type {dataset.dtype}; the file is damaged")


def _spaces(dataset: Any, start: tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[Any, Any]:
    if start is None:
        return h5py.h5s.ALL, h5py.h5s.ALL
    file = dataset.id.get_space()
    file.select_hyperslab(start, shape)
    return h5py.h5s.create_simple(shape), file
