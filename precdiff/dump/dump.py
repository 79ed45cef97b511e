"""Dump: what every reader yields. Attributes, rows of steps and tensors, and values fetched when asked for.

A reader subclasses it with `sniff`, `codes` and `block` and registers in READERS; the first line of its docstring says
which dumps it reads. This file must not know any file format.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from precdiff.dump.checking import Problem, problems_of
from precdiff.dump.references import Reference
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.statistics import checksum, kind_of
from precdiff.dump.summary import summarise
from precdiff.dump.traces import trace_of
from precdiff.errors import FileError, UnknownNameError
from precdiff.formats import Array, from_bits, get_format, native
from precdiff.trace.step import Trace

#: elements of a piece of `chunks`
PIECE = 2**20


class Dump(ABC):
    """A recorded run. `steps` in execution order, `tensors` by id in order of recording."""

    #: name of the reader that opened it
    reader: ClassVar[str]
    #: whether it takes what other readers know more of, and is asked after them
    general: ClassVar[bool] = False
    #: how names of such files end, where PrecDiff writes them, too
    suffix: ClassVar[str] = ""

    def __init__(
        self, path: Path, attributes: Attributes, steps: tuple[StepRow, ...], tensors: Mapping[str, TensorRow]
    ) -> None:
        self.path = path
        self.attrs = attributes
        self.steps = steps
        self.tensors = tensors

    @classmethod
    @abstractmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Whether this is its kind of dump, told by content (`head` is the file's beginning, empty for a folder)."""

    @classmethod
    @abstractmethod
    def open(cls, path: Path) -> Self:
        """The dump at `path`."""

    @classmethod
    def members(cls, path: Path) -> list[Path]:
        """Where a set of dumps is at `path`, each of them, to be opened by itself; else the path."""
        return [path]

    @abstractmethod
    def codes(self, id: str) -> Array:
        """All codes of a tensor in its stored format, in its shape."""

    @abstractmethod
    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""

    def references(self) -> tuple[tuple[str, str], ...]:
        """(kind, tensor id) of every stored reference."""
        return ()

    def reference(self, kind: str, id: str) -> Reference:
        """A stored reference; kind is total | storage | local."""
        raise FileError(f"{self.path} holds no {kind} reference of {id!r}")

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        """Write what `dump` holds to the new file (or folder) `path`, as far as this kind can hold it."""
        raise FileError(f"dumps of {cls.reader} are read, not written")

    def close(self) -> None:  # noqa: B027 - a reader that holds no file open needs none
        """Let go of the file."""

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.attrs.complete

    def row(self, id: str) -> TensorRow:
        """A tensor's row; an unknown id raises with the nearest known one."""
        if id not in self.tensors:
            raise UnknownNameError("tensor", id, self.tensors)
        return self.tensors[id]

    def stored_row(self, id: str) -> TensorRow:
        """The row of a tensor whose values were kept."""
        row = self.row(id)
        if row.data != "full":
            why = f": {row.note}" if row.note else ""
            raise FileError(f"{self.path}: of tensor {id!r} only {row.data} was kept, not its values{why}")
        return row

    def tensor(self, id: str) -> Array:
        """A tensor's values as carriers."""
        return from_bits(self.codes(id), get_format(self.row(id).stored_format))

    def native(self, id: str) -> Array:
        """A tensor's values in the ecosystem's dtype."""
        return native(self.tensor(id), self.row(id).stored_format)

    def chunks(self, id: str, elements: int = PIECE) -> Iterator[tuple[slice, Array]]:
        """The tensor piece by piece in C order: (range of flat indices, their carriers as one row)."""
        stored = get_format(self.row(id).stored_format)
        for place, codes in self.code_chunks(id, elements):
            yield place, from_bits(codes, stored)

    def code_chunks(self, id: str, elements: int = PIECE) -> Iterator[tuple[slice, Array]]:
        """As `chunks`, codes."""
        first = 0
        for _, block in self.code_blocks(id, elements):
            codes = block.reshape(-1)
            yield slice(first, first + codes.size), codes
            first += codes.size

    def code_blocks(self, id: str, elements: int = PIECE) -> Iterator[tuple[tuple[int, ...], Array]]:
        """As `code_chunks`, (start, codes in the shape of the block)."""
        row = self.stored_row(id)
        for start, shape in _blocks(row.shape, elements):
            yield start, self.block(row, start, shape)

    def trace(self) -> Trace:
        """The recorded trace, bit for bit, ready to be replayed; of an incomplete dump as far as it goes.

        Values that are not those recorded raise: what is judged or replayed must be what the run made.
        """
        return self.trace_with(self._whole)

    def trace_with(self, load: Callable[[str], Any]) -> Trace:
        """The recorded trace with what `load` gives for each tensor in place of its values."""
        return trace_of(self.attrs, self.steps, self.tensors, load)

    def _whole(self, id: str) -> Array:
        row, codes = self.row(id), np.asarray(self.codes(id))
        if row.checksum and checksum(codes, kind_of(row.checksum)) != row.checksum:
            advice = f"`precdiff verify {self.path}` lists all that is wrong; record it again, or salvage it"
            raise FileError(f"{self.path}: the values of tensor {id!r} do not match their checksum. {advice}")
        return from_bits(codes, get_format(row.stored_format))

    def summary(self, under: str = "") -> dict[str, Any]:
        """What the dump holds, as JSON-able data; `under` a tensor id or a layer shows only that part."""
        about = {"path": str(self.path), "reader": self.reader, "references": [list(r) for r in self.references()]}
        return {**about, **summarise(self.attrs, self.steps, self.tensors, under)}

    def verify(self) -> list[Problem]:
        """What is wrong with the dump: structure, unreadable values, checksums, statistics."""
        return problems_of(self.attrs, self.steps, self.tensors, self.code_chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _blocks(shape: tuple[int, ...], elements: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(start, shape) of C-contiguous blocks of at most `elements` (or one row of the last axis cut up)."""
    if math.prod(shape) <= elements:
        yield (0,) * len(shape), shape
        return
    axis = next(k for k in range(len(shape)) if math.prod(shape[k + 1 :]) <= elements)
    rows = elements // math.prod(shape[axis + 1 :])
    rest = (0,) * (len(shape) - axis - 1)
    for lead in np.ndindex(shape[:axis]):
        for first in range(0, shape[axis], rows):
            count = min(rows, shape[axis] - first)
            yield (*lead, first, *rest), ((1,) * axis + (count, *shape[axis + 1 :]))
