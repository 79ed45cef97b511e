r"""The .npy file: a header in Python's literal syntax, then the bytes.

    "\x93NUMPY", major, minor (1 byte each), length of the header (2 bytes; 4 from version 2 on), header
    header = {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}

(numpy.lib.format, NEP 1.) Objects are pickles and never read; structured dtypes hold more than one tensor. ml_dtypes
arrays are saved as bare bytes ('<V2'): which format they have, the file does not say.
"""

from __future__ import annotations

import ast
import struct
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from precdiff.dump.files.naming import format_called
from precdiff.dump.files.stored import Byteorder, Room, Stored, c_strides, checked_shape, stored
from precdiff.errors import FileError
from precdiff.formats import Format, get_format

MAGIC = b"\x93NUMPY"
#: numpy's own limit of a header it takes without being told to (numpy.lib.format)
MOST = 10_000


class Header(NamedTuple):
    """What precedes the bytes; `start` is where they begin, strides count elements."""

    format: Format
    byteorder: Byteorder
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    fortran: bool


def npy_file(path: Path, format: Format | None = None) -> Stored:
    """The array in a .npy file; `format` is that of bare bytes."""
    try:
        with path.open("rb") as file:
            header = read_header(file, str(path), format)
        room = path.stat().st_size - header.start
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    return stored(Room(path, header.start, room), header.format, header.shape, header.strides, header.byteorder)


def read_header(file: IO[bytes], what: str, format: Format | None = None) -> Header:
    """The header `file` stands before; `what` names it in errors."""
    text, start = _text(file, what)
    try:
        found = ast.literal_eval(text.decode("latin1").strip())
        descr, fortran, shape = found["descr"], found["fortran_order"], found["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise FileError(f"{what}: its .npy header cannot be read ({type(error).__name__})") from error
    if not isinstance(shape, tuple) or type(fortran) is not bool:
        raise FileError(f"{what}: its .npy header says shape {shape!r:.60}, fortran_order {fortran!r:.60}")
    shape = checked_shape(shape, what)
    own, byteorder = _format(descr, what, format)
    strides = c_strides(shape[::-1])[::-1] if fortran else c_strides(shape)
    return Header(own, byteorder, shape, strides, start, fortran)


def write_header(file: IO[bytes], format: Format, shape: tuple[int, ...]) -> None:
    """What precedes the little-endian codes of an array in C order."""
    descr = np.dtype(format.native).newbyteorder("<").str
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


def _text(file: IO[bytes], what: str) -> tuple[bytes, int]:
    head = file.read(len(MAGIC) + 2)
    version = head[len(MAGIC) :]
    if not head.startswith(MAGIC) or version not in (b"\1\0", b"\2\0", b"\3\0"):
        raise FileError(f"{what}: is no .npy file of version 1 to 3; it begins with {head.hex(' ') or 'nothing'}")
    size = struct.Struct("<H" if version == b"\1\0" else "<I")
    counted = file.read(size.size)
    length = size.unpack(counted)[0] if len(counted) == size.size else MOST + 1
    if length > MOST:
        raise FileError(f"{what}: its .npy header is cut off, or longer than {MOST:,} bytes")
    return file.read(length), len(head) + size.size + length


def _format(descr: Any, what: str, format: Format | None) -> tuple[Format, Byteorder]:
    try:
        dtype = np.dtype(descr) if isinstance(descr, str) else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is not None and dtype.kind == "V" and format is not None and dtype.itemsize == format.storage.itemsize:
        return format, "<"
    name = None if dtype is None or dtype.kind not in "fiub" else format_called(dtype.name)
    if dtype is None or name is None:
        raise FileError(f"{what}: its dtype {descr!r:.60} is none PrecDiff reads. {_advice(dtype)}")
    return get_format(name), ">" if dtype.str.startswith(">") else "<"


def _advice(dtype: np.dtype[Any] | None) -> str:
    kind = "V" if dtype is None else dtype.kind
    return {
        "O": "Objects are pickles, which are never loaded: save plain numbers.",
        "c": "Save real and imaginary parts as two arrays.",
        "V": "A .npy file forgets bf16 and fp8: save their bits as PATH.bin and pass PATH.bin:bf16:SHAPE; "
        "a structured array is saved field by field.",
    }.get(kind, "Save it as numbers.")
