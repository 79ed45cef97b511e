"""What a tensor is compared with: an array of values, or a reference with a radius.

Per element a reference is a real number known to lie within `radius` of hi + lo, an exact infinity, NaN, or undecided
(then hi, lo and radius mean nothing); `kind` (uint8) says which. hi, lo and radius are fp64. An array of values is the
case lo = radius = 0. Values stay in the caller's arrays and are widened chunk by chunk. This file must not know how a
reference was computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from precdiff.comparison.result import ReferenceInfo
from precdiff.errors import NotComparableError
from precdiff.formats import Array, Format, as_array, format_of

FINITE, POSITIVE_INF, NEGATIVE_INF, NAN, UNDECIDED = range(5)

#: which error a reference measures: of the whole computation, of it with its casts kept, of one op on its own inputs
ErrorKind = Literal["total", "storage", "local"]


@dataclass(frozen=True)
class Expected:
    """The expected values of one tensor: a reference as it stands, `array` or `reals` for what is given."""

    hi: Array
    lo: Array | None = None
    radius: Array | None = None
    kind: Array | None = None
    #: format whose values these are; None where they are real numbers
    format: Format | None = None
    info: ReferenceInfo | None = None
    measures: ErrorKind | None = None

    @classmethod
    def array(cls, values: Array, format: Format) -> Expected:
        """Expect the values of a carrier array of `format`, exactly as given."""
        bits = format.p if format.is_float else format.bits
        return cls(values, format=format, info=ReferenceInfo("array", bits, "given", 0.0, 0))

    @classmethod
    def reals(cls, values: object) -> Expected:
        """Expect real numbers: arrays of any numbers, or objects that mpmath, fractions or decimal made.

        >>> from fractions import Fraction
        >>> third = Expected.reals([Fraction(1, 3)])
        >>> third.hi.tolist(), (third.lo * 3 * 2**54).tolist()
        ([0.3333333333333333], [1.0])
        """
        hi, lo = _split(as_array(values, "expected"))
        return cls(hi, lo, info=ReferenceInfo("array", 53 if lo is None else 106, "given", 0.0, 0))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tuple(self.hi.shape)


def holds_reals(array: Array) -> bool:
    """Whether an array is of numbers that no format holds, objects or longdouble: they can be expected, not judged.

    >>> holds_reals(np.array([2**70])), holds_reals(np.zeros(1))
    (True, False)
    """
    kind = array.dtype.type
    return kind is np.object_ or (kind is np.longdouble and array.dtype != np.float64)


def _split(found: Array) -> tuple[Array, Array | None]:
    """An array of numbers as hi + lo; one of a format stays as it is, to be widened chunk by chunk."""
    if found.dtype == np.dtype(object):
        pairs = np.array([_pair(value) for value in found.ravel().tolist()], np.float64).reshape(-1, 2)
        return pairs[:, 0].reshape(found.shape), pairs[:, 1].reshape(found.shape)
    if holds_reals(found):
        with np.errstate(over="ignore", invalid="ignore"):
            hi = found.astype(np.float64)
            return hi, np.where(np.isfinite(hi), (found - hi).astype(np.float64), 0.0)
    format_of(found)  # refuses what holds no real numbers
    return found, None


def _pair(value: Any) -> tuple[float, float]:
    """Split a real into hi + lo; what lies beyond fp64 is an infinity to every format."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError("text is no number")
        hi = float(value)
    except OverflowError:
        return (math.inf if value > 0 else -math.inf), 0.0
    except TypeError as error:
        message = f"expected: found {value!r}; allowed are real numbers: float, int, Fraction, Decimal, mpmath's mpf"
        raise NotComparableError(message) from error
    if not math.isfinite(hi):
        return hi, 0.0
    return hi, float(value - type(value)(hi))


class Flat:
    """An array seen as one row, sliced without copying the whole; a scalar or smaller array is broadcast."""

    def __init__(self, values: Array | float, shape: Iterable[int]) -> None:
        found, shape = np.asarray(values), tuple(shape)
        self.scalar = found[()] if found.ndim == 0 else None
        try:
            full = np.broadcast_to(found, shape)
        except ValueError as error:
            message = f"an array of shape {found.shape} does not fit a tensor of shape {shape}."
            raise NotComparableError(f"{message} Pass one value, or one an element.") from error
        self._row: Any = full.reshape(-1) if full.flags.c_contiguous else full.flat

    def __getitem__(self, chunk: slice) -> Array:
        return np.asarray(self._row[chunk] if self.scalar is None else self.scalar)
