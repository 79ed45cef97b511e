"""What a number format is: one frozen row from which every limit follows.

This file knows the parameters of a format and the quantities derived from them. It must not know how values are
encoded, rounded or computed with, nor which formats exist (catalog.py).

A floating-point format with precision p (hidden bit included) and exponents emin..emax holds the numbers

    (-1)^s * m * 2^(e - p + 1),   0 <= m < 2^p integer,   emin <= e <= emax                  (IEEE 754-2019, 3.3)

so that its unit roundoff is u = 2^-p, its smallest normal number 2^emin and its smallest subnormal 2^(emin - p + 1).
Formats without infinities spend the codes of the top exponent on numbers; where they keep a NaN it takes the all-ones
code, hence the largest significand of such a format is 2^p - 2 (OCP OFP8, 5.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from precdiff.errors import PrecDiffError
from precdiff.registry import Registry

Array: TypeAlias = npt.NDArray[Any]
Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True)
class Format:
    """One number format; integers and bool are formats too (p = value bits, no exponent).

    >>> fp16 = FORMATS["fp16"]
    >>> fp16.max_finite, fp16.min_normal, fp16.min_subnormal, fp16.bias
    (65504.0, 6.103515625e-05, 5.960464477539063e-08, 15)
    """

    #: the word of DESIGN 4, for example "fp16"
    name: str
    kind: Kind
    #: width of a code
    bits: int
    #: significand bits with the hidden one; value bits of an integer
    p: int
    emin: int
    emax: int
    has_inf: bool
    has_nan: bool
    #: numpy dtype that holds every value exactly: float32 for p <= 24, float64 for fp64, own type for integers
    carrier: str
    #: name of the dtype the ecosystem uses, in numpy or ml_dtypes
    native: str
    #: where the parameters are written down
    source: str
    signed: bool = True

    @property
    def is_float(self) -> bool:
        """Say whether values have an exponent."""
        return self.kind == "float"

    @property
    def u(self) -> float:
        """Unit roundoff 2^-p."""
        return 2.0**-self.p

    @property
    def bias(self) -> int:
        """What is added to an exponent to get its field: field 1 stands for emin."""
        return 1 - self.emin

    @property
    def max_significand(self) -> int:
        """Integer significand of the largest finite number; all ones are NaN where only infinities are missing."""
        return (1 << self.p) - (2 if self.has_nan and not self.has_inf else 1)

    @property
    def max_finite(self) -> float:
        """Largest finite number."""
        if not self.is_float:
            return float(self.integer_range[1])
        return math.ldexp(self.max_significand, self.emax - self.p + 1)

    @property
    def min_normal(self) -> float:
        """Smallest positive normal number, 2^emin."""
        return math.ldexp(1.0, self.emin)

    @property
    def min_subnormal(self) -> float:
        """Smallest positive number, 2^(emin - p + 1)."""
        return math.ldexp(1.0, self.emin - self.p + 1)

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer format or bool."""
        return (-(2**self.p) if self.signed else 0), 2**self.p - 1

    @property
    def unused_bits(self) -> int:
        """Low bits of a code that are always 0: those of fp32 in a format that is kept in fp32's codes, as tf32 is."""
        exponents = self.emax - self.emin + 1 + self.has_inf  # the largest exponent field
        return self.bits - self.p - exponents.bit_length() if self.is_float else 0

    @property
    def storage(self) -> np.dtype[Any]:
        """Unsigned numpy dtype that holds a code."""
        width = next(width for width in (8, 16, 32, 64) if self.bits <= width)
        return np.dtype(f"uint{width}")

    def __str__(self) -> str:
        """Return the name."""
        return self.name


FORMATS: Registry[Format] = Registry("format")


def get_format(name: str | Format) -> Format:
    """Return the format called `name`; a Format is returned as it is.

    `NAME@pN` is the float format NAME with only N significand bits: what a unit computes in that no format is named
    after (a 14-bit accumulator is fp32@p14).

    >>> get_format("bf16").p, get_format("fp32@p14").u
    (8, 6.103515625e-05)
    """
    if isinstance(name, Format):
        return name
    base, marker, digits = str(name).partition("@p")
    return FORMATS[name] if not marker else _narrowed(FORMATS[base], digits)


def _narrowed(base: Format, digits: str) -> Format:
    """`base` with fewer significand bits; codes keep its width."""
    if not (base.is_float and digits.isdecimal() and 1 < int(digits) <= base.p):
        raise PrecDiffError(f"format {base.name}@p{digits}: allowed is a float format with 2 to its own p bits")
    return replace(base, name=f"{base.name}@p{int(digits)}", p=int(digits))
