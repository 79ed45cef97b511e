"""A dump whose values lie in files of their own layout: what the readers of such files share.

A reader gives rows and, for each row that is full, where its values are; this file knows no file format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np

from precdiff.dump.dump import Dump
from precdiff.dump.files.stored import Closing, Source
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.errors import FileError
from precdiff.formats import Array, get_format


class Held(NamedTuple):
    """A tensor's row and where its values are."""

    row: TensorRow
    source: Source | None


def held(id: str, source: Source, **about: Any) -> Held:
    """A tensor whose format is that of its stored codes; `about` are further fields of its row."""
    name = source.format.name
    return Held(TensorRow(id, name, source.shape, stored_format=name, **{"name": id, **about}), source)


def without_format(id: str, format: str, shape: tuple[int, ...]) -> Held:
    """A tensor of a format PrecDiff does not have: known, but its values cannot be had."""
    return Held(TensorRow(id, format, shape, id, data="stats", note=f"PrecDiff has no format {format}"), None)


def numbered(tensors: Iterable[Held]) -> Iterator[Held]:
    """The same, where a name is met again with its number: x, x#1, x#2."""
    met: Counter[str] = Counter()
    for row, source in tensors:
        id = f"{row.id}#{met[row.id]}" if met[row.id] else row.id
        met[row.id] += 1
        yield Held(replace(row, id=id), source)


def kept_rows(dump: Dump) -> list[TensorRow]:
    """The rows whose values can be written elsewhere."""
    return [row for row in dump.tensors.values() if row.data == "full"]


def numpy_only(dump: Dump, kind: str) -> list[TensorRow]:
    """The same, refused where numpy itself has no dtype for one."""
    rows = kept_rows(dump)
    other = next((row for row in rows if not is_numpy(row)), None)
    if other is not None:
        raise FileError(
            f"tensor {other.id!r} is {other.stored_format}, which {kind} files cannot hold; "
            "convert to a folder, .safetensors or .h5"
        )
    return rows


def is_numpy(row: TensorRow) -> bool:
    """Whether numpy itself knows the dtype of the stored codes."""
    return hasattr(np, get_format(row.stored_format).native)


def write_codes(file: IO[bytes], dump: Dump, id: str) -> None:
    """A tensor's codes, little-endian in C order, a piece at a time."""
    for _, codes in dump.code_chunks(id):
        file.write(codes.astype(codes.dtype.newbyteorder("<"), copy=False).tobytes())


class ArraysDump(Dump):
    """Subclasses give `reader`, `sniff` and `open`."""

    def __init__(self, path: Path, attributes: Attributes, steps: Iterable[StepRow], tensors: Iterable[Held]) -> None:
        found = list(tensors)
        super().__init__(path, attributes, tuple(steps), {row.id: row for row, _ in found})
        self._sources: Mapping[str, Source] = {row.id: source for row, source in found if source is not None}

    def contents(self) -> Iterator[Held]:
        """Each row with where its values are."""
        return (Held(row, self._sources.get(id)) for id, row in self.tensors.items())

    def codes(self, id: str) -> Array:
        row = self.stored_row(id)
        return self.block(row, (0,) * len(row.shape), row.shape)

    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        return self._sources[row.id].block(start, shape)

    def close(self) -> None:
        for source in self._sources.values():
            if isinstance(source, Closing):
                source.close()


class ArrayFile(ArraysDump):
    """A file of one array whose format and shape somebody gave, called `array`; no reader finds it."""

    reader = "array"

    def __init__(self, path: Path, source: Source) -> None:
        super().__init__(path, Attributes(complete=True), (), [held("array", source)])

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Never: a file does not say so."""
        return False

    @classmethod
    def open(cls, path: Path) -> Self:
        raise FileError(f"{path}: say its format and shape, as PATH:FORMAT:SHAPE")
