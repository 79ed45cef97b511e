"""A tensor as it comes: whole or piece by piece, both sides as flat rows ready to be cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from precdiff.comparison.expected import Expected, Flat
from precdiff.formats import Array


class Piece(NamedTuple):
    """Some rows of a tensor in C order, as both sides have them; `first` is the flat index of the first element."""

    first: int
    actual: Array
    expected: Expected


@dataclass(frozen=True)
class Rows:
    """Actual and expected of one tensor, or of the piece of it that begins at `first`, as flat rows."""

    actual: Flat
    hi: Flat
    lo: Flat | None
    radius: Flat | None
    kind: Flat | None
    first: int = 0

    @classmethod
    def of(cls, actual: Array, expected: Expected, first: int = 0) -> Rows:
        """Flatten without copying."""
        shape = actual.shape
        lo, radius, kind = (
            None if part is None else Flat(part, shape) for part in (expected.lo, expected.radius, expected.kind)
        )
        return cls(Flat(actual, shape), Flat(expected.hi, shape), lo, radius, kind, first)

    @property
    def plain(self) -> bool:
        """Whether the expected values are just numbers, none of which is uncertain."""
        return self.lo is None and self.radius is None and self.kind is None
