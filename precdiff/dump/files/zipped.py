"""Zip files: where each member's bytes are, and arrays in compressed ones, read as a stream that never grows.

    stored      the member's bytes lie in the file as they are: an array of them is `Stored`
    deflated    they are inflated piece by piece from the beginning on; going back starts again

What a member says of its size is held against the file and the most deflate can pack (1032 to 1), so that a bomb is
refused before anything is inflated. This file knows zips (APPNOTE.TXT), not what is in them.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from precdiff.dump.files.npy import Header
from precdiff.dump.files.stored import MOST_EXPANDED, c_strides, checked_bool
from precdiff.errors import FileError
from precdiff.formats import Array

SIGNATURE = b"PK\3\4"
#: bytes one packed byte may become in a member larger than MOST_EXPANDED
MOST_RATIO = 200
#: bytes inflated at a time
PIECE = 2**20
DAMAGE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, OverflowError, struct.error, NotImplementedError,
    RuntimeError, KeyError, IndexError,
)  # fmt: skip

_LOCAL = struct.Struct("<4s22xHH")
T = TypeVar("T")


def first_name(head: bytes) -> bytes:
    """The name of a zip's first member, from the file's beginning; empty where it is no zip."""
    if not head.startswith(SIGNATURE) or len(head) < _LOCAL.size:
        return b""
    length = int.from_bytes(head[26:28], "little")
    return head[_LOCAL.size : _LOCAL.size + length]


class Member(NamedTuple):
    """Where the bytes of a member are, how many they are, and how many they become."""

    offset: int
    packed: int
    size: int
    deflated: bool


def members(path: Path) -> dict[str, Member]:
    """Every member by name, as the zip's own directory has them."""
    return _sound(path, lambda: _directory(path))


def _directory(path: Path) -> dict[str, Member]:
    size, found = path.stat().st_size, {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            if info.filename in found:
                raise FileError(f"{path}: two members are called {info.filename!r}")
            found[info.filename] = _member(info, file, size, path)
    return found


def _member(info: zipfile.ZipInfo, file: IO[bytes], size: int, path: Path) -> Member:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise FileError(f"{path}: member {info.filename!r} is encrypted, or compressed otherwise than by deflate")
    file.seek(info.header_offset)
    signature, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    start = info.header_offset + _LOCAL.size + name + extra
    deflated = info.compress_type == zipfile.ZIP_DEFLATED
    if signature != SIGNATURE or start + info.compress_size > size or not (deflated or _same(info)):
        raise FileError(f"{path}: member {info.filename!r} does not lie within the file; copy it again")
    if deflated and info.file_size > max(MOST_EXPANDED, MOST_RATIO * info.compress_size):
        raise FileError(
            f"{path}: member {info.filename!r} is {info.compress_size:,} bytes that become {info.file_size:,}; "
            "save it uncompressed"
        )
    return Member(start, info.compress_size, info.file_size, deflated)


def _same(info: zipfile.ZipInfo) -> bool:
    return info.compress_size == info.file_size


def _sound(path: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except DAMAGE as error:
        raise FileError(f"{path} is a damaged zip: {str(error)[:200]}. Copy it again") from error


def inflating(path: Path, name: str, read: Callable[[IO[bytes]], T]) -> T:
    """What `read` makes of the member's inflated bytes."""

    def opened() -> T:
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            return read(stream)

    return _sound(path, opened)


class Inflated:
    """An array in a deflated member, whose .npy header was read."""

    def __init__(self, path: Path, name: str, header: Header) -> None:
        self.format, self.shape = header.format, header.shape
        self._path, self._name, self._header = path, name, header
        self._dtype = header.format.storage.newbyteorder(header.byteorder)
        self._stream: IO[bytes] | None = None

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""
        if 0 in shape:
            return np.empty(shape, self.format.storage)
        codes = _sound(self._path, lambda: self._block(start, shape)).astype(self.format.storage, copy=False)
        return checked_bool(codes, self.format, self._path)

    def _block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        strides = c_strides(self.shape)
        first = sum(i * s for i, s in zip(start, strides, strict=True))
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if not self._header.fortran and span == math.prod(shape):
            return self._row(first, span).reshape(shape)
        whole = self._row(0, math.prod(self.shape)).reshape(self.shape, order="F" if self._header.fortran else "C")
        return np.ascontiguousarray(whole[tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))])

    def _row(self, first: int, count: int) -> np.ndarray[Any, Any]:
        if self._stream is None:
            # kept open while its pieces are read one after another
            self._stream = zipfile.ZipFile(self._path).open(self._name)  # noqa: SIM115 - close() closes it
        width = self._dtype.itemsize
        self._stream.seek(self._header.start + first * width)
        codes = np.empty(count, self._dtype)
        left = codes.view(np.uint8)
        while left.size:
            piece = self._stream.read(min(PIECE, left.size))
            if not piece:
                raise EOFError(f"{self._name} ends early")
            left[: len(piece)] = np.frombuffer(piece, np.uint8)
            left = left[len(piece) :]
        return codes

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
