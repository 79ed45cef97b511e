"""HDF5 files of other programs: every data set of numbers is a tensor, called by its path.

A data set's type says its format; one of u8 with an attribute `format` of e4m3fn or e5m2 holds those. Links that leave
the file, data stored outside it and virtual data sets are passed over and named in the provenance; a group met a second
time (a loop) is not entered again. Types PrecDiff has no format for are listed without values.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from precdiff.dump.arrays import ArraysDump, Held, held, without_format
from precdiff.dump.files.stored import MOST_EXPANDED, Byteorder, checked_bool, checked_shape
from precdiff.dump.h5types import file_type, stored_format
from precdiff.dump.hdf5 import DAMAGE, SIGNATURE, check_chunks, member, open_hdf5, whole
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.dump.schema import STEPS, TENSORS
from precdiff.errors import FileError
from precdiff.formats import FORMATS, Array, Format, get_format

#: data sets and groups of a file, groups in groups, and names shown of what was passed over
MOST_PARTS, MOST_DEPTH, SHOWN = 200_000, 64, 20
#: bytes one packed byte may become in a data set larger than MOST_EXPANDED; deflate makes 1032
MOST_RATIO = 1100


class Hdf5Dump(ArraysDump):
    """HDF5 files of other programs, every data set a tensor."""

    reader = "hdf5"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """An HDF5 file that can be opened, is no dump of ours and holds a data set."""
        if not head.startswith(SIGNATURE) or path.is_dir():
            return False
        try:
            with open_hdf5(path) as file:
                ours = "schema" in file.attrs or {STEPS.strip("/"), TENSORS.strip("/")} & set(file)
                return not ours and any(found is not None for _, found in _parts(file))
        except (FileError, *DAMAGE):
            return False

    @classmethod
    def open(cls, path: Path) -> Self:
        shared, tensors, passed = _File(path), list[Held](), list[str]()
        try:
            with open_hdf5(path) as file:
                for name, dataset in _parts(file):
                    if dataset is None or dataset.external or dataset.is_virtual or not _is_numbers(dataset):
                        passed.append(name)
                    else:
                        tensors.append(_held(name, dataset, file, shared))
        except DAMAGE as error:
            raise FileError(f"{path} is a damaged HDF5 file: {error}. Copy it again") from error
        about = {"passed_over": passed[:SHOWN]} if passed else {}
        return cls(path, Attributes(complete=True, provenance=about), (), tensors)


class _File:
    """The file, opened when values are first asked for; the last data set is looked up and checked once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: Any = None
        self._last: tuple[str, Any] | None = None

    def dataset(self, name: str) -> Any:
        """A data set that lies in the file and is no bomb."""
        if self._open is None:
            self._open = open_hdf5(self.path)
        if self._last is None or self._last[0] != name:
            self._last = name, _bounded(member(self._open, name))
        return self._last[1]

    def close(self) -> None:
        """Let go of the file."""
        self._last = None
        if self._open is not None:
            self._open.close()
            self._open = None


class _Source:
    """A data set's codes, read in the type they are stored in."""

    def __init__(self, file: _File, name: str, format: Format, byteorder: Byteorder, shape: tuple[int, ...]) -> None:
        self.format, self.shape = format, shape
        self._file, self._name = file, name
        self._dtype = format.storage.newbyteorder(byteorder)

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""
        try:
            dataset, codes = self._file.dataset(self._name), np.empty(shape, self._dtype)
            if dataset.shape != self.shape or dataset.id.get_type().get_size() != self._dtype.itemsize:
                raise FileError(f"{self._file.path}: {self._name} changed while it was read")
            if codes.size:
                _read(dataset, codes, start)
        except DAMAGE as error:
            raise FileError(f"{self._file.path}: {self._name} cannot be read: {error}") from error
        return checked_bool(codes.astype(self.format.storage, copy=False), self.format, self._file.path)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _read(dataset: Any, codes: np.ndarray[Any, Any], start: tuple[int, ...]) -> None:
    if not codes.shape:
        dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, codes, dataset.id.get_type())
        return
    space = dataset.id.get_space()
    space.select_hyperslab(start, codes.shape)
    dataset.id.read(h5py.h5s.create_simple(codes.shape), space, codes, dataset.id.get_type())


def _parts(file: Any) -> Iterator[tuple[str, Any]]:
    """(path, data set, or None where it is elsewhere or nothing) of a file, depth first."""
    count, seen = 0, {_address(file)}
    waiting: list[Iterator[tuple[str, Any]]] = [_links("", file)]
    while waiting:
        name, found = next(waiting[-1], ("", None))
        count += 1
        if count > MOST_PARTS:
            raise FileError(f"{file.filename} holds more than {MOST_PARTS:,} data sets and groups")
        if not name:
            waiting.pop()
        elif not isinstance(found, h5py.Group):
            yield name, found if isinstance(found, h5py.Dataset) else None
        elif _address(found) not in seen and len(waiting) < MOST_DEPTH:
            seen.add(_address(found))
            waiting.append(_links(f"{name}/", found))
        else:
            yield name, None


def _links(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name in group:
        hard = isinstance(group.get(name, getlink=True), h5py.HardLink)
        yield prefix + name, group[name] if hard else None


def _address(part: Any) -> int:
    return int(h5py.h5o.get_info(part.id).addr)


def _is_numbers(dataset: Any) -> bool:
    """Whether it holds what may be a tensor: neither texts nor records, nor a data set without a value."""
    type_, kinds = dataset.id.get_type(), (h5py.h5t.STRING, h5py.h5t.VLEN, h5py.h5t.REFERENCE, h5py.h5t.TIME)
    return dataset.shape is not None and type_.get_class() not in kinds and not _is_record(type_)


def _is_record(type_: Any) -> bool:
    """A compound, but for complex numbers, which h5py keeps as (r, i)."""
    return type_.get_class() == h5py.h5t.COMPOUND and type_.dtype.kind != "c"


def _held(name: str, dataset: Any, file: Any, shared: _File) -> Held:
    shape = checked_shape(dataset.shape, f"{shared.path}: {name}")
    found = _format(dataset, file)
    if found is None:
        return without_format(name, _called(dataset), shape)
    return held(name, _Source(shared, name, *found, shape))


def _called(dataset: Any) -> str:
    try:
        return str(dataset.dtype)
    except TypeError:
        return "of an HDF5 type numpy does not have"


def _format(dataset: Any, file: Any) -> tuple[Format, Byteorder] | None:
    type_ = dataset.id.get_type()
    is_float = type_.get_class() == h5py.h5t.FLOAT
    for row in (row for _, row in FORMATS.items() if stored_format(row) == row and row.is_float == is_float):
        if type_.equal(file_type(row)):
            return _said(dataset, row, file), "<"
        big = _big_endian(row)
        if big is not None and type_.equal(big):
            return row, ">"
    return None


def _big_endian(row: Format) -> Any:
    plain = hasattr(np, row.native) and row.kind != "bool"
    return h5py.h5t.py_create(np.dtype(row.native).newbyteorder(">")) if plain else None


def _said(dataset: Any, row: Format, file: Any) -> Format:
    """The format an attribute gives bytes that are stored as others: e4m3fn as u8."""
    name: Any = row.name
    with contextlib.suppress(OSError):  # a text of unknown length, as in files of libver "latest": the type speaks
        name = file.sound(dataset).get("format", row.name)
    said = get_format(name) if isinstance(name, str) and name in FORMATS else row
    return said if said.storage == row.storage and file_type(said).equal(file_type(row)) else row


def _bounded(dataset: Any) -> Any:
    """The data set, where reading it takes no more than its bytes may become."""
    size = math.prod(dataset.shape) * dataset.id.get_type().get_size()
    held_ = dataset.id.get_storage_size()
    if size > max(MOST_EXPANDED, MOST_RATIO * held_):
        raise FileError(
            f"{dataset.name} has {held_:,} bytes that become {size:,}; more than {MOST_RATIO} times that is not read"
        )
    if size > MOST_EXPANDED:
        return whole(dataset)
    check_chunks(dataset)
    return dataset


READERS.add("hdf5", Hdf5Dump)
