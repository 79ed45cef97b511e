"""A tensor's values piece by piece: what is compared need not be in memory, whatever its size.

Pieces have the same number of elements for every tensor of a size, so that two dumps can be read side by side and no
figure depends on how a file is laid out. Values that are not those recorded raise when the last piece was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from precdiff.dump.dump import Dump
from precdiff.dump.statistics import CHECKSUMS, little_endian
from precdiff.errors import FileError
from precdiff.formats import Array, Format, from_bits, get_format, native
from precdiff.rounding import Rounding, round_array

#: elements of a piece: some MiB in all, and a multiple of what a comparison takes at a time
PIECE = 1 << 18
_OURS = "sha256"


class Streamed:
    """A tensor of an open dump, read when its pieces are asked for."""

    def __init__(self, dump: Dump, id: str) -> None:
        self._dump, self._row = dump, dump.row(id)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self._row.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._row.size

    @property
    def format(self) -> Format:
        """Its format when it was computed."""
        return get_format(self._row.format)

    def pieces(self) -> Iterator[Array]:
        """Its carriers as rows of PIECE elements in C order, the last one shorter; at least one."""
        for codes in _regrouped(self._codes(), PIECE):
            yield self._values(codes)

    @property
    def path(self) -> Path:
        """The dump's path."""
        return self._dump.path

    def load(self) -> Array:
        """All of it."""
        return np.concatenate(list(self.pieces())).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All of it in the ecosystem's dtype, for who needs it whole."""
        return np.asarray(native(self.load(), self.format), dtype)

    def _values(self, codes: Array) -> Array:
        """Codes as carriers; stored in a wider format, they are those of the format they had."""
        values = from_bits(codes, get_format(self._row.stored_format))
        if self._row.stored_format != self._row.format and self.format.is_float:
            return np.asarray(round_array(values, Rounding(self.format)), self.format.carrier)
        return values

    def _codes(self) -> Iterator[Array]:
        kind, _, digits = self._row.checksum.partition(":")
        digest = CHECKSUMS[_OURS]()
        for _, codes in self._dump.code_chunks(self._row.id, PIECE):
            if kind == _OURS:
                digest.update(little_endian(codes))
            yield codes
        if kind == _OURS and digest.hexdigest() != digits:
            self._not_as_recorded()

    def _not_as_recorded(self) -> None:
        path, id = self._dump.path, self._row.id
        advice = f"`precdiff verify {path}` lists all that is wrong; record it again, or salvage it"
        raise FileError(f"{path}: the values of tensor {id!r} do not match their checksum. {advice}")


def pieces_of(values: Array | Streamed) -> Iterator[Array]:
    """The same pieces, of an array too."""
    if isinstance(values, Streamed):
        return values.pieces()
    row = values.reshape(-1)
    return (row[first : first + PIECE] for first in range(0, max(row.size, 1), PIECE))


def _regrouped(parts: Iterator[Array], size: int) -> Iterator[Array]:
    """The same elements in rows of `size`, the last one shorter, empty only where there is nothing at all."""
    held: list[Array] = []
    count, given = 0, False
    for part in parts:
        held, count = [*held, part], count + part.size
        while count > size:
            row = np.concatenate(held)
            yield row[:size]
            held, count, given = [row[size:]], count - size, True
    if count or not given:
        yield np.concatenate(held)
