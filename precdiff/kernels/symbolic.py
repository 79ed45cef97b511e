"""S-expressions with the place of every part, and FPCore's named constants as exact decimals.

It reads parentheses, symbols and strings; it does not know what any of them means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import mpmath

from precdiff.errors import KernelError

MAX_TEXT = 1_000_000

_TOKEN = re.compile(r'\s+|;[^\n]*|([()\[\]])|("(?:[^"\\]|\\.)*")|([^\s()\[\]";]+)')
_DIGITS = 450


@dataclass(frozen=True)
class Atom:
    """A symbol, number or string; `at` is its first character, counted from 0."""

    text: str
    at: int


@dataclass(frozen=True)
class Listing:
    """A parenthesised list."""

    items: tuple[Form, ...]
    at: int

    @property
    def head(self) -> str:
        """The first item where it is an atom, else empty."""
        return self.items[0].text if self.items and isinstance(self.items[0], Atom) else ""


Form = Atom | Listing


def read_forms(text: str) -> list[Form]:
    """All forms of a text, in order."""
    if len(text) > MAX_TEXT:
        raise KernelError(f"FPCore: found {len(text):,} characters; allowed are {MAX_TEXT:,}")
    open_: list[tuple[list[Form], int]] = [([], 0)]
    place = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise KernelError(f"FPCore, at character {place + 1}: found {text[place]!r}, which starts nothing")
        _take(open_, token, place)
        place = token.end()
    if len(open_) > 1:
        raise KernelError(f"FPCore, at character {open_[-1][1] + 1}: this parenthesis is not closed")
    return open_[0][0]


def _take(open_: list[tuple[list[Form], int]], token: re.Match[str], place: int) -> None:
    bracket, string, symbol = token.groups()
    if bracket is not None and bracket in "([":
        open_.append(([], place))
    elif bracket is not None:
        items, start = open_.pop()
        if not open_:
            raise KernelError(f"FPCore, at character {place + 1}: found a closing parenthesis that opens nowhere")
        open_[-1][0].append(Listing(tuple(items), start))
    elif string is not None or symbol is not None:
        open_[-1][0].append(Atom(string or symbol, place))


def _constants() -> dict[str, str]:
    """FPCore 2.0, section "Constants", to more digits than any reference asks for."""
    with mpmath.workdps(_DIGITS + 20):
        pi, e, two, ten = +mpmath.pi, +mpmath.e, mpmath.mpf(2), mpmath.mpf(10)
        values = {
            "E": e, "LOG2E": 1 / mpmath.log(two), "LOG10E": 1 / mpmath.log(ten), "LN2": mpmath.log(two),
            "LN10": mpmath.log(ten), "PI": pi, "PI_2": pi / 2, "PI_4": pi / 4, "M_1_PI": 1 / pi, "M_2_PI": 2 / pi,
            "M_2_SQRTPI": 2 / mpmath.sqrt(pi), "SQRT2": mpmath.sqrt(two), "SQRT1_2": 1 / mpmath.sqrt(two),
        }  # fmt: skip
        return {name: mpmath.nstr(value, _DIGITS, strip_zeros=False) for name, value in values.items()}


CONSTANTS = _constants()
