"""PrecDiff's own dumps: HDF5, schema 1 (dump/schema.py).

This file knows how rows and values are fetched; hdf5.py sees to it that nothing comes from another file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import h5py
import numpy as np

from precdiff.dump.checking import Problem
from precdiff.dump.columns import step_of, tensor_of
from precdiff.dump.copying import copy
from precdiff.dump.dump import Dump
from precdiff.dump.guard import sound_rows
from precdiff.dump.h5types import read_codes
from precdiff.dump.hdf5 import DAMAGE, SALVAGE, SIGNATURE, contents, member, open_damaged, open_hdf5, whole
from precdiff.dump.parameters import decode_mapping
from precdiff.dump.reader import READERS, reader_of
from precdiff.dump.references import Reference, place, read_reference
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.schema import (
    ATTRIBUTE_TYPES,
    DATA,
    ID_ATTRIBUTES,
    JSON_ATTRIBUTES,
    POOL,
    REFERENCE,
    REFERENCE_KINDS,
    SCHEMA,
    SCHEMA_VERSION,
    STEP_COLUMNS,
    STEPS,
    TENSOR_COLUMNS,
    TENSORS,
    dataset_name,
    parse_place,
)
from precdiff.errors import FileError
from precdiff.formats import Array, get_format

Row = TypeVar("Row")


#: folders in folders that are looked into: step0/rank0/x.h5
_DEPTH = 3
_ENDINGS = (".h5", ".hdf5")
#: files that may lie beside dumps
_BESIDE = (".json", ".toml", ".txt", ".md", ".log", ".csv")


def _set(folder: Path) -> list[Path]:
    """The HDF5 files of a folder that holds nothing else, at most 3 deep; none if it holds other files."""
    found = list(_files(folder))
    return [] if any(file.suffix not in _ENDINGS for file in found) else found


def _files(folder: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """Files in it and in its folders, in the order of their names, but for hidden ones, texts and links."""
    for inner in sorted(folder.iterdir()):
        if inner.name.startswith(".") or inner.is_symlink() or inner.suffix in _BESIDE:
            continue
        if inner.is_dir() and depth > 1:
            yield from _files(inner, depth - 1)
        elif inner.is_file():
            yield inner


class PrecDiffDump(Dump):
    """PrecDiff's own dumps, HDF5 schema 1, and folders of nothing else: a file for each step and rank."""

    reader = "precdiff"
    general = True
    suffix = ".h5"

    def __init__(
        self, path: Path, file: Any, attributes: Attributes, steps: list[StepRow], tensors: list[TensorRow]
    ) -> None:
        super().__init__(path, attributes, tuple(steps), {row.id: row for row in tensors})
        self._file = file
        self._last: tuple[str, Any] | None = None

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Every HDF5 file no other reader takes: of one that is no dump, opening says what it holds."""
        if path.is_dir():
            return any(reader_of(file) is cls for file in _set(path)[:1])
        return head.startswith(SIGNATURE)

    @classmethod
    def members(cls, path: Path) -> list[Path]:
        return _set(path) if path.is_dir() else [path]

    @classmethod
    def open(cls, path: Path) -> Self:
        if path.is_dir():
            path = _set(path)[0]
        problems: list[Problem] = []
        with _kept_open(open_hdf5(path), f"{path} is damaged") as file:
            for name, kind in _parts(path, file).items():
                member(file, name, kind)
            made = cls._read(path, file, problems)
            if problems:
                raise ValueError(str(problems[0]))
        return made

    @classmethod
    def open_damaged(cls, path: Path) -> tuple[Self, list[Problem]]:
        """As much of a dump as can be read, and what cannot."""
        problems: list[Problem] = []
        with _kept_open(open_damaged(path), f"{path}: nothing can be saved") as file:
            _parts(path, file)
            return cls._read(path, file, problems), problems

    @classmethod
    def _read(cls, path: Path, file: Any, problems: list[Problem]) -> Self:
        steps = _rows(file, STEPS, STEP_COLUMNS, step_of, problems)
        tensors = _rows(file, TENSORS, TENSOR_COLUMNS, tensor_of, problems)
        return cls(path, file, _attributes(file, problems), steps, tensors)

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        copy(dump, path)

    def codes(self, id: str) -> Array:
        row = self.stored_row(id)
        return self.block(row, (0,) * len(row.shape), row.shape)

    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        with self._readable(row.where):
            return self._block(row, start, shape)

    @contextlib.contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            raise FileError(f"{self.path}: {what} cannot be read: {error}. {SALVAGE}") from error

    def _block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        name, first, last = parse_place(row.where)
        dataset = self._dataset(name)
        stored = get_format(row.stored_format)
        if first is None:
            _check_extent(row, dataset, dataset.shape == row.shape)
            return read_codes(dataset, stored, start, shape)
        _check_extent(row, dataset, first + row.size == last and dataset.shape[:1] >= (last,))
        index = tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))
        return read_codes(dataset, stored, (first,), (row.size,)).reshape(row.shape)[index]

    def _dataset(self, name: str) -> Any:
        """A data set, looked up and checked once while its pieces are read."""
        if self._last is None or self._last[0] != name:
            self._last = name, whole(member(self._file, name))
        return self._last[1]

    def references(self) -> tuple[tuple[str, str], ...]:
        ids = {dataset_name(id): id for id in self.tensors}
        with self._readable(f"/{REFERENCE}"):
            held = [kind for kind in REFERENCE_KINDS if kind in member(self._file, REFERENCE, h5py.Group)]
            groups = {kind: member(self._file, f"{REFERENCE}/{kind}", h5py.Group) for kind in held}
            return tuple((kind, ids[name]) for kind, group in groups.items() for name in group if name in ids)

    def reference(self, kind: str, id: str) -> Reference:
        name = place(kind, self.row(id).id)
        with self._readable(name):
            if name not in self._file:
                raise FileError(f"{self.path} holds no {kind} reference of {id!r}")
            for plane in member(self._file, name, h5py.Group):
                whole(member(self._file, f"{name}/{plane}"))
            return read_reference(self._file, kind, id)

    def close(self) -> None:
        self._file.close()


@contextlib.contextmanager
def _kept_open(file: Any, said: str) -> Iterator[Any]:
    """The file, closed again where opening the dump in it fails."""
    try:
        yield file
    except BaseException as error:
        file.close()
        if isinstance(error, DAMAGE):
            raise FileError(f"{said}: {error}. {SALVAGE}") from error
        raise


def _parts(path: Path, file: Any) -> dict[str, type]:
    """The parts a dump of schema 1 has; a file that is none is refused."""
    if str(file.attrs.get("schema")) != SCHEMA:
        message = f"{path} is no PrecDiff dump but an HDF5 file of another program; it holds {contents(file)}"
        raise FileError(f"{message}. `precdiff list readers` shows which dumps can be read")
    version = file.attrs.get("schema_version")
    if version != SCHEMA_VERSION:
        message = f"{path} is a dump of schema version {version}; this PrecDiff reads version {SCHEMA_VERSION}"
        raise FileError(f"{message}. Use the PrecDiff that wrote it, or a newer one")
    return {STEPS: h5py.Dataset, TENSORS: h5py.Dataset, **dict.fromkeys((DATA, POOL, REFERENCE), h5py.Group)}


def _rows(
    file: Any, name: str, columns: np.dtype[Any], row_of: Callable[[dict[str, Any]], Row], problems: list[Problem]
) -> list[Row]:
    """The rows that can be read; all at once, or one by one where that fails."""
    dataset = member(file, name)
    if dataset.dtype != columns:
        raise FileError(f"/{name} of {file.filename} has columns {dataset.dtype}; schema 1 has {columns}")
    # a damaged length must not become memory: the table is not compressed
    count = min(dataset.shape[0], dataset.id.get_storage_size() // dataset.id.get_type().get_size())
    if count < dataset.shape[0]:
        problems.append(Problem(f"/{name}", f"has {count} rows, not the {dataset.shape[0]} it says"))
    sound = sound_rows(dataset, count, Path(file.filename).stat().st_size)
    try:
        if sound.all():
            return [row_of(_record(record)) for record in dataset[:count]]
    except DAMAGE:
        pass
    found, failed = [], []
    for index in range(count):
        try:
            found.append(row_of(_record(_sound_row(dataset, index, sound))))
        except DAMAGE as error:
            failed.append(f"row {index}: {error}")
    problems += [Problem(f"/{name}", f"{len(failed)} rows cannot be read, the first is {failed[0]}")] if failed else []
    return found


def _sound_row(dataset: Any, index: int, sound: np.ndarray) -> Any:
    if not sound[index]:
        raise ValueError("a text longer than the file")
    return dataset[index]


def _record(record: Any) -> dict[str, Any]:
    names = record.dtype.names
    values = (value.decode() if isinstance(value, bytes) else value for value in record.tolist())
    return dict(zip(names, values, strict=True))


def _attributes(file: Any, problems: list[Problem]) -> Attributes:
    found: dict[str, Any] = {}
    for name in (*ATTRIBUTE_TYPES, *JSON_ATTRIBUTES):
        try:
            if name in file.attrs:
                found[name] = _python(name, file.attrs[name])
        except DAMAGE as error:
            problems.append(Problem("", f"attribute {name} cannot be read: {error}"))
    return Attributes(**found)


def _python(name: str, value: Any) -> Any:
    if isinstance(value, str):
        value.encode()  # h5py lets bytes that are no UTF-8 pass as lone surrogates
    if name in JSON_ATTRIBUTES:
        return _texts(name, decode_mapping(value)) if name in ID_ATTRIBUTES else decode_mapping(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) is not ATTRIBUTE_TYPES[name]:
        raise TypeError(f"found {plain!r}; allowed is {ATTRIBUTE_TYPES[name].__name__}")
    return plain


def _texts(name: str, found: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(id, str) for id in found.values()):
        raise TypeError(f"found {found!r}; {name} are names and ids of tensors")
    return found


def _check_extent(row: TensorRow, dataset: Any, fits: bool) -> None:
    if not fits:
        raise FileError(f"tensor {row.id!r} of shape {row.shape} does not fit {row.where}, which has {dataset.shape}")


READERS.add("precdiff", PrecDiffDump)
