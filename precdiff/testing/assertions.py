"""Assertions: two arrays agree to within so many ULP, or the failure says where, by how much and what would pass.

Errors are real valued and counted in the *actual*'s format, so expected may be exact: fp64, mpmath, fractions. Two
formats that differ otherwise are refused, since a tolerance in the wrong format's ULP is off by powers of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from precdiff.comparison import Conventions, Expected, Identity, Limits, check_limits, compare_tensor, require_compared
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import FORMATS, Array, Format, carrier, format_of, is_representable
from precdiff.report import Report, assertion


class PrecisionError(AssertionError):
    """Values differ by more than was allowed; `report` holds everything the message is made of."""

    def __init__(self, report: Report, msg: str | None = None) -> None:
        self.report, self.msg = report, msg
        super().__init__(f"{msg}\n{assertion(report)}" if msg else assertion(report))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report, self.msg)


def assert_ulp_close(  # noqa: PLR0913  (the options of one assertion, by keyword; as numpy and torch have it)
    actual: object,
    expected: object,
    *,
    max_ulp: float,
    dtype: object = None,
    zero_atol: float = 0.0,
    atol: float | None = None,
    rtol: float | None = None,
    equal_nan: bool = True,
    allow_fraction: float = 0.0,
    msg: str | None = None,
) -> None:
    """Assert that every element is within max_ulp ULP of the expected value, in the format of `actual` (or of `dtype`).

    Beyond that an element passes where |expected| and |error| are at most zero_atol, or where |error| <= atol + rtol
    |expected|; it is counted as excused. `allow_fraction` lets that share of the elements fail. A value that is not
    finite where the expected one is, or the reverse, always fails. Arrays that hold no elements, or nothing but NaN on
    both sides, raise NotComparableError.

    >>> assert_ulp_close(np.float16([1.0]), np.float16([1.001]), max_ulp=1)
    >>> assert_ulp_close(np.float16([0.3333]), [1 / 3], max_ulp=0.5)
    """
    __tracebackhide__ = True
    check_limits(max_ulp=max_ulp, zero_atol=zero_atol, atol=atol, rtol=rtol, allow_fraction=allow_fraction)
    limits = Limits(
        max_ulp=max_ulp,
        zero_atol=zero_atol,
        atol=atol,
        rtol=rtol,
        allow_fraction=allow_fraction,
        conventions=Conventions(equal_nan=equal_nan),
    )
    report = _judged(actual, expected, dtype, limits)
    require_compared(report.tensors)
    if report.verdict != "pass":
        raise PrecisionError(report, msg)


def _judged(actual: object, expected: object, dtype: object, limits: Limits) -> Report:
    found = np.asarray(actual)
    format = format_of(found) if dtype is None else _format(dtype)
    values = carrier(found) if dtype is None else _in_format(found, format)
    wanted = _expected(expected, format, found.shape if dtype is None else None)
    row = compare_tensor(values, wanted, format, "ulp", limits, Identity(name="actual")).row
    return Report.of([row], standard="ulp", actual="array", expected="array")


def _format(dtype: object) -> Format:
    """The format a dtype stands for: a name of ours, or what numpy and ml_dtypes call it."""
    if isinstance(dtype, Format):
        return dtype
    if isinstance(dtype, str) and dtype in FORMATS:
        return FORMATS[dtype]
    try:
        return format_of(np.zeros(0, dtype))  # type: ignore[call-overload]  # anything a user calls a dtype
    except TypeError as error:
        raise PrecDiffError(f"dtype: found {dtype!r}, allowed are dtypes and {', '.join(FORMATS)}") from error


def _in_format(found: Array, format: Format) -> Array:
    """The values in the carrier of `format`, which has to hold them all: rounding them here would hide an error."""
    wide = carrier(found)
    if not np.all(held := is_representable(wide, format)):
        first = wide[~held].ravel()[0] if wide.ndim else wide
        message = (
            f"actual holds {first!r}, which {format} does not. Round it first, or leave out dtype={format.name!r}."
        )
        raise NotComparableError(message)
    return wide.astype(format.carrier)


def _expected(expected: object, format: Format, shape: tuple[int, ...] | None) -> Expected:
    """What to expect: an array of the same format, or real numbers (fp64, lists, mpmath, fractions)."""
    values = np.asarray(expected)
    given = values.dtype != np.dtype(object) and hasattr(expected, "dtype")
    if given and shape is not None and format_of(values) not in (format, FORMATS["fp64"]):
        message = f"actual is {format}, expected is {format_of(values)}: a ULP of one is none of the other."
        advice = f"Convert one of them, or pass dtype={format.name!r} to measure both in {format}."
        raise NotComparableError(f"{message} {advice}")
    if given and format_of(values) is format:
        return Expected.array(carrier(values), format)
    return Expected.reals(carrier(values) if given else values)
