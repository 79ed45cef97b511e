"""Any text as one line that shows all it holds: what cannot be seen is written as its escape.

Line ends, control characters, marks that turn the direction of writing, and halves of surrogate pairs would end a
row, colour a terminal, hide a name, or cannot be written at all.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with Python's escape in place of what cannot be printed.

    >>> print(printable("a\nb \x1b[31m \u202e \ud800 é"))
    a\nb \x1b[31m \u202e \ud800 é
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_lines(text: str) -> str:
    """The same of each line; the line ends stay."""
    return "\n".join(map(printable, text.split("\n")))
