"""A dump whose values lie in files of their own layout: what the readers of such files share.

A reader gives rows and, for each row that is full, where its values are; this file knows no file format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precdiff.dump.dump import Dump
from precdiff.dump.files.stored import Source
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.formats import Array


class Held(NamedTuple):
    """A tensor's row and where its values are."""

    row: TensorRow
    source: Source | None


def held(id: str, source: Source, **about: Any) -> Held:
    """A tensor whose format is that of its stored codes; `about` are further fields of its row."""
    name = source.format.name
    return Held(TensorRow(id, name, source.shape, stored_format=name, **{"name": id, **about}), source)


class ArraysDump(Dump):
    """Subclasses give `reader`, `sniff` and `open`."""

    def __init__(self, path: Path, attributes: Attributes, steps: Iterable[StepRow], tensors: Iterable[Held]) -> None:
        found = list(tensors)
        super().__init__(path, attributes, tuple(steps), {row.id: row for row, _ in found})
        self._sources: Mapping[str, Source] = {row.id: source for row, source in found if source is not None}

    def codes(self, id: str) -> Array:
        row = self.stored_row(id)
        return self.block(row, (0,) * len(row.shape), row.shape)

    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        return self._sources[row.id].block(start, shape)
