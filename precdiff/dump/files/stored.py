"""An array that lies in a file: where its codes are, and a block of them read without the rest.

    address of element i = offset + itemsize * sum_k i_k * strides_k

This file knows extents: nothing is allocated for a shape that its file cannot hold, whatever a header says.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from precdiff.errors import FileError
from precdiff.formats import Array, Format

#: numpy's limit of axes, and a number of elements no file has
MOST_AXES, MOST_ELEMENTS = 64, 2**56
#: bytes an expanded tensor (stride 0) may have beyond those its file holds
MOST_EXPANDED = 64 * 2**20

Byteorder: TypeAlias = Literal["<", ">"]


class Source(Protocol):
    """Whatever gives the codes of one tensor piece by piece."""

    @property
    def format(self) -> Format:
        """The format the codes are of."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""


@runtime_checkable
class Closing(Protocol):
    """A source that holds its file open."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True)
class Given:
    """Codes that had to be decoded whole, as of a text; small, since their file is read whole."""

    format: Format
    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.values.shape

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""
        return np.array(self.values[tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))], order="C")


@dataclass(frozen=True)
class Stored:
    """Codes of `format` in a file; `strides` count elements and are never negative."""

    path: Path
    offset: int
    format: Format
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    byteorder: Byteorder = "<"

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""
        if 0 in shape:
            return np.empty(shape, self.format.storage)
        first = self.offset + self._dtype.itemsize * _dot(start, self.strides)
        codes = self._near(first, shape) if _dense(shape, self.strides) else self._far(first, shape)
        return checked_bool(codes.astype(self.format.storage, copy=False), self.format, self.path)

    @property
    def _dtype(self) -> np.dtype[Any]:
        return self.format.storage.newbyteorder(self.byteorder)

    def _near(self, first: int, shape: tuple[int, ...]) -> Array:
        count = math.prod(shape)
        try:
            codes = np.fromfile(self.path, self._dtype, count, offset=first)
        except OSError as error:
            raise FileError(f"cannot read {self.path}: {error.strerror or error}") from error
        if codes.size < count:
            raise FileError(f"{self.path} became shorter while it was read")
        return codes.reshape(shape)

    def _far(self, first: int, shape: tuple[int, ...]) -> Array:
        """A block whose elements lie apart, as of a transposed tensor: only the pages it touches are read."""
        span = 1 + _dot([n - 1 for n in shape], self.strides)
        try:
            mapped = np.memmap(self.path, self._dtype, "r", first, (span,))
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {self.path}: {error}") from error
        apart = tuple(stride * self._dtype.itemsize for stride in self.strides)
        return np.array(np.lib.stride_tricks.as_strided(mapped, shape, apart), subok=False)


class Room(NamedTuple):
    """The bytes of a file there are for an array."""

    path: Path
    offset: int
    size: int


def stored(
    room: Room, format: Format, shape: Sequence[int], strides: Sequence[int] | None = None, byteorder: Byteorder = "<"
) -> Stored:
    """The array at the beginning of `room`, refused where it does not lie within; strides count elements."""
    path = room.path
    shape = checked_shape(shape, str(path))
    strides = c_strides(shape) if strides is None else tuple(strides)
    if len(strides) != len(shape) or any(type(n) is not int or n < 0 for n in strides):
        raise FileError(
            f"{path}: found strides {reprlib.repr(strides)} for shape {shape}; allowed is one from 0 on for each axis"
        )
    needed = 0 if 0 in shape else format.storage.itemsize * (1 + _dot([n - 1 for n in shape], strides))
    if room.offset < 0 or needed > room.size:
        raise FileError(f"{path}: {format} {shape} takes {needed:,} bytes, the file has {max(room.size, 0):,} for it")
    whole = math.prod(shape) * format.storage.itemsize
    if whole > max(room.size, MOST_EXPANDED):
        raise FileError(f"{path}: {format} {shape} is {room.size:,} bytes expanded to {whole:,}; save it contiguous")
    return Stored(path, room.offset, format, shape, strides, byteorder)


def inside(path: Path, name: str) -> Path:
    """The file `path` names, refused where it is not one in the same folder or below it."""
    folder, found = path.parent.resolve(), (path.parent / name).resolve() if name and "\0" not in name else None
    if found is None or folder not in found.parents:
        raise FileError(f"{path} names the file {reprlib.repr(name)}; a dump may not point outside its folder")
    if not found.is_file():
        raise FileError(f"{path}: its values are in {name}, which is missing; copy it beside")
    return found


def checked_shape(shape: Any, what: str) -> tuple[int, ...]:
    """The shape, a list or tuple, refused where no array can have it."""
    found = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not all(type(n) is int and n >= 0 for n in found):
        raise FileError(f"{what}: found the shape {reprlib.repr(list(found))}; allowed are sizes from 0 on")
    if len(found) > MOST_AXES or math.prod(n for n in found if n) > MOST_ELEMENTS:
        raise FileError(
            f"{what}: found a shape of {len(found)} axes, {reprlib.repr(list(found))}; no array is that large"
        )
    return found


def checked_bool(codes: Array, format: Format, path: Path) -> Array:
    """The codes, refused where a bool is neither 0 nor 1."""
    if format.kind == "bool" and (codes > 1).any():
        raise FileError(f"{path}: a bool holds the byte {codes.max()}; allowed are 0 and 1")
    return codes


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of the shape in C order.

    >>> c_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements of a block follow one another in C order; an axis of one has any stride."""
    return all(n == 1 or have == want for n, have, want in zip(shape, strides, c_strides(shape), strict=True))


def _dot(index: Sequence[int], strides: Sequence[int]) -> int:
    return sum(i * s for i, s in zip(index, strides, strict=True))
