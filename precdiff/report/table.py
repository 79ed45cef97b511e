"""Small tables: rows of text under headings, aligned for a terminal of a given width.

Columns that do not fit are left out, the least important first; nothing is cut or wrapped. ASCII, so that it can be
pasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from precdiff.report.printable import printable

GAP = "  "


@dataclass(frozen=True)
class Column:
    """A heading, how its cells align, and how soon it is left out (0: never)."""

    title: str
    align: Literal["left", "right"] = "left"
    spare: int = 0


@dataclass(frozen=True)
class Table:
    """Rows of text, as many cells as there are columns."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def within(self, width: int) -> Table:
        """The table without the columns that a line of `width` has no room for; nor those that are empty."""
        kept = [
            i
            for i, column in enumerate(self.columns)
            if not column.spare or any(row[i] not in ("", "-") for row in self.rows)
        ]
        while _width(self, kept) > width and any(self.columns[i].spare for i in kept):
            kept.remove(max(kept, key=lambda i: self.columns[i].spare))
        return Table([self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows])

    def lines(self, width: int = 100) -> list[str]:
        """The table as aligned lines.

        >>> Table([Column("step"), Column("ULP", "right")], [["exp", "0.5"], ["mul", "412.3"]]).lines()
        ['step    ULP', 'exp     0.5', 'mul   412.3']
        """
        table = self.within(width)
        widths = _widths(table, range(len(table.columns)))
        cells = _cells(table)
        return [
            GAP.join(_pad(*cell) for cell in zip(row, widths, table.columns, strict=True)).rstrip() for row in cells
        ]


def _widths(table: Table, kept: Sequence[int]) -> list[int]:
    return [max(len(row[i]) for row in _cells(table)) for i in kept]


def _cells(table: Table) -> list[list[str]]:
    """The headings and the rows, each cell on one line."""
    return [[column.title for column in table.columns], *([printable(cell) for cell in row] for row in table.rows)]


def _width(table: Table, kept: Sequence[int]) -> int:
    return sum(_widths(table, kept)) + len(GAP) * (len(kept) - 1)


def _pad(text: str, width: int, column: Column) -> str:
    return text.ljust(width) if column.align == "left" else text.rjust(width)
