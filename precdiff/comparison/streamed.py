"""Tensors compared where they lie: two dumps, or a dump and an array, read side by side a piece at a time.

Memory stays at some MiB whatever the size. The row is, to the last bit, that of the same values in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from precdiff.comparison.compare import Identity, compare_pieces
from precdiff.comparison.expected import Expected
from precdiff.comparison.msprobe import Sheet
from precdiff.comparison.pairing import check_shapes
from precdiff.comparison.pieces import Piece
from precdiff.comparison.result import TensorComparison
from precdiff.comparison.standard import Limits
from precdiff.dump.streaming import PIECE, Streamed, pieces_of
from precdiff.formats import Array, Format

Values = Array | Streamed


def compare_streamed(  # noqa: PLR0913 - two sides, how to read the one, how to judge the other
    actual: Values, expected: Values, wanted: Callable[[Array], Expected], format: Format, standard: str,
    limits: Limits, identity: Identity, sheet: Sheet | None = None,
) -> TensorComparison:  # fmt: skip
    """Judge carriers of `format` by what `wanted` makes of the other side's; `sheet` sees the same pieces."""
    check_shapes(identity.name or identity.id or "tensor", actual.shape, expected.shape)

    def pieces() -> Iterator[Piece]:
        for k, (mine, theirs) in enumerate(zip(pieces_of(actual), pieces_of(expected), strict=True)):
            if sheet is not None:
                sheet.add(mine, theirs)
            yield Piece(k * PIECE, mine, wanted(theirs))

    return compare_pieces(pieces(), actual.shape, format, standard, limits, identity)
