"""How a real number becomes a number of a format: the choices, as one frozen row.

This file knows which choices there are and which exclude each other. It must not know how they are carried out
(exact.py is the definition, array.py the same vectorised).

Directions are those of IEEE 754-2019, 4.3 (nearest-even, nearest-away, toward-zero, up, down), round-to-odd (an inexact
result takes the odd neighbour; Boldo and Melquiond 2008) and stochastic (the neighbour further from zero with the
probability of the fraction lost). Overflow `ieee` follows IEEE 754-2019, 7.4: nearest gives infinity, the others by
their direction; NaN where the format has no infinity. `saturate` ends at the largest number, infinities included.
`nan = "zero"` is the saturation rule of Ascend vector units (CANN asc-devkit, boundary-value appendix). Subnormals
`flush` turns a rounded result below 2^emin into a zero of its sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import Format, get_format

Direction = Literal["nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd", "stochastic"]
Overflow = Literal["ieee", "saturate"]
Subnormals = Literal["keep", "flush"]
NanRule = Literal["keep", "zero"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


@dataclass(frozen=True)
class Rounding:
    """A format and how to round into it; `format` may be given by name.

    >>> Rounding("fp16", "up").format.p
    11
    """

    format: Format
    direction: Direction = "nearest-even"
    overflow: Overflow = "ieee"
    subnormals: Subnormals = "keep"
    nan: NanRule = "keep"

    def __init__(
        self,
        format: str | Format,
        direction: Direction = "nearest-even",
        overflow: Overflow = "ieee",
        subnormals: Subnormals = "keep",
        nan: NanRule = "keep",
    ) -> None:
        """Take each choice, checked; written by hand so that the type of `format` may be a name."""
        object.__setattr__(self, "format", get_format(format))
        object.__setattr__(self, "direction", _one_of("direction", direction, DIRECTIONS))
        object.__setattr__(self, "overflow", _one_of("overflow", overflow, get_args(Overflow)))
        object.__setattr__(self, "subnormals", _one_of("subnormals", subnormals, get_args(Subnormals)))
        object.__setattr__(self, "nan", _one_of("nan", nan, get_args(NanRule)))
        if nan == "zero" and overflow != "saturate":
            raise PrecDiffError("nan='zero' goes with overflow='saturate' only; found overflow='ieee'.")

    @property
    def is_nearest(self) -> bool:
        """Say whether the direction is nearest-even or nearest-away."""
        return self.direction in ("nearest-even", "nearest-away")


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UnknownNameError(what, value, allowed)
    return value
