"""What an assertion is handed, as both sides of a comparison: the actual array in its format, the expected values.

Errors are counted in the *actual*'s format, so expected may be any real numbers that say they are no array of a format
of their own: fp64, lists, mpmath, fractions. Two formats that differ otherwise are refused, since a tolerance in the
wrong format's ULP is off by powers of two; `dtype` says which is meant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from precdiff.comparison import Expected, holds_reals
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import FORMATS, Array, Format, as_array, carrier, format_of, is_representable
from precdiff.kernels import Run


def both(actual: object, expected: object, dtype: object = None, name: str = "") -> tuple[Array, Expected, Format]:
    """Actual values, expected values, and the format whose ULP counts; `name` is that of the pair in messages."""
    mine, theirs = (f"{side}[{name!r}]" if name else side for side in ("actual", "expected"))
    found = as_array(actual, mine)
    own = _own_format(found, mine)
    format = own if dtype is None else _format(dtype)
    values = _native(found) if format is own else _in_format(found, format, mine)
    return values, _expected(expected, format, theirs, strict=dtype is None), format


def named_outputs(result: object, name: str) -> dict[str, Array]:
    """What a function gave, by name: a Run's outputs, a mapping, several as out0, out1, ... or one as `out`."""
    given = result.outputs if isinstance(result, Run) else result
    if isinstance(given, Mapping):
        return {str(key): as_array(value, f"{name}[{key!r}]") for key, value in given.items()}
    if isinstance(given, tuple) or (isinstance(given, list) and any(hasattr(one, "shape") for one in given)):
        return {f"out{i}": as_array(value, f"{name}[{i}]") for i, value in enumerate(given)}
    return {"out": as_array(given, name)}


def _own_format(array: Array, side: str) -> Format:
    try:
        return format_of(array)
    except PrecDiffError as error:
        raise NotComparableError(f"{side}: {error}") from None


def _native(array: Array) -> Array:
    """The array as it is where its bytes are in the host's order, so that nothing is copied."""
    return array if array.dtype.isnative else carrier(array)


def _format(dtype: object) -> Format:
    """The format a dtype stands for: a name of ours, or what numpy, ml_dtypes and torch call it."""
    if isinstance(dtype, Format):
        return dtype
    if isinstance(dtype, str) and dtype in FORMATS:
        return FORMATS[dtype]
    name = str(dtype).removeprefix("torch.")
    for _, format in FORMATS.items():
        if name == format.native:
            return format
    try:
        return format_of(np.zeros(0, dtype))  # type: ignore[call-overload]  # anything a user calls a dtype
    except (TypeError, PrecDiffError) as error:
        raise PrecDiffError(f"dtype: found {dtype!r}, allowed are dtypes and {', '.join(FORMATS)}") from error


def _in_format(found: Array, format: Format, side: str) -> Array:
    """The values in the carrier of `format`, which has to hold them all: rounding them here would hide an error."""
    wide = carrier(found)
    if not np.all(held := is_representable(wide, format)):
        first = wide[~held].ravel()[0] if wide.ndim else wide
        message = (
            f"{side} holds {first!r}, which {format} does not. Round it first, or leave out dtype={format.name!r}."
        )
        raise NotComparableError(message)
    return wide.astype(format.carrier)


def _expected(expected: object, format: Format, side: str, strict: bool) -> Expected:
    """What to expect: an array of the same format, or real numbers."""
    values = as_array(expected, side)
    if not hasattr(expected, "dtype") or holds_reals(values):
        return Expected.reals(values)
    own = _own_format(values, side)
    if strict and own not in (format, FORMATS["fp64"]):
        raise NotComparableError(_mixed(format, own, side))
    native = _native(values)
    return Expected.array(native, format) if own is format else Expected.reals(native)


def _mixed(format: Format, own: Format, side: str) -> str:
    actual = side.replace("expected", "actual", 1)
    message = f"{actual} is {format}, {side} is {own}: a ULP of one is none of the other."
    advice = f"Convert one of them, or pass dtype={format.name!r} to measure both in {format}."
    swapped = format is FORMATS["fp64"] and own.is_float
    return f"{message} {advice}" + (" The order is (actual, expected): are they swapped?" if swapped else "")
