"""Assertions: values are as close as asked, or the failure says where, by how much and what would pass.

`assert_ulp_close` asks two arrays to agree to within so many ULP; `assert_precise` asks whatever a standard asks, of
arrays, runs and dumps, against expected values or against the truth a kernel states. Both end in one Report, which the
error carries and its message is made from.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from precdiff import api
from precdiff.comparison import (
    Conventions,
    Identity,
    Limits,
    TensorComparison,
    check_limits,
    compare_tensor,
    pair,
    require_compared,
)
from precdiff.diagnose.settings import Settings
from precdiff.dump import Dump
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.kernels import Kernel, Run
from precdiff.report import Report, assertion
from precdiff.testing.values import both
from precdiff.trace import Trace

P = ParamSpec("P")
T = TypeVar("T")
#: the limits of a tensor from its name and format
LimitsOf = Callable[[str, str], Limits]

#: seconds a failing `assert_precise` looks for the cause, where none are given
BUDGET = 10.0


class PrecisionError(AssertionError):
    """Values differ by more than was allowed; `report` holds everything the message is made of."""

    def __init__(self, report: Report, msg: str | None = None) -> None:
        self.report, self.msg = report, msg
        super().__init__(f"{msg}\n{assertion(report)}" if msg else assertion(report))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report, self.msg)


def briefly(stated: Callable[P, T]) -> Callable[P, T]:
    """An assertion whose errors end in the line that asked: what lies below is no business of a test."""

    @functools.wraps(stated)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return stated(*args, **kwargs)
        except (PrecDiffError, PrecisionError) as error:
            raise error.with_traceback(None) from None

    return asked


@briefly
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

    Both are arrays of numpy, ml_dtypes or torch, of any library with `__array__` or DLPack, or lists; `expected` may
    also be exact: fp64, longdouble, mpmath, fractions. Shapes must be equal, and formats unless expected is exact.
    Beyond max_ulp an element passes where |expected| and |error| are at most zero_atol, or where |error| <= atol + rtol
    |expected|; it is counted as excused. `allow_fraction` lets that share of the elements fail. A value that is not
    finite where the expected one is, or the reverse, always fails. Arrays that hold no elements, or nothing but NaN on
    both sides, raise NotComparableError.

    >>> import numpy as np
    >>> assert_ulp_close(np.float16([1.0]), np.float16([1.001]), max_ulp=1)
    >>> assert_ulp_close(np.float16([0.3333]), [1 / 3], max_ulp=0.5)
    """
    limits = ulp_limits(
        max_ulp=max_ulp, zero_atol=zero_atol, atol=atol, rtol=rtol, equal_nan=equal_nan, allow_fraction=allow_fraction
    )
    require(arrays_report({"actual": actual}, {"actual": expected}, "ulp", lambda *_: limits, dtype), msg)


@briefly
def assert_precise(  # noqa: PLR0913  (what is judged, by what, and how: each by keyword)
    actual: object,
    expected: object = None,
    standard: str = "auto",
    *,
    kernel: Any = None,
    inputs: Mapping[str, Any] | None = None,
    profile: Any = None,
    format: Any = None,
    options: Mapping[str, Any] | None = None,
    dtype: object = None,
    budget: float = BUDGET,
    msg: str | None = None,
    **settings: Any,
) -> None:
    """Assert that `actual` is within a standard: of `expected`, of a kernel's true values, or of its own.

    With `expected` (arrays, a mapping of arrays, a Run or a dump) the two are compared. With `kernel` and its `inputs`
    `actual` is what a device gave for the kernel's output (for several: a mapping of all of them), and the certified
    reference on those inputs says what it should be. With neither, `actual` is a Run or a dump, judged against the
    reference of its own steps.

    `settings` are those of precdiff.compare: max_ulp, rtol, atol, zero_atol, ... `dtype` is as in assert_ulp_close,
    for arrays. Where a run or kernel fails, the cause is looked for, for `budget` seconds a problem (0: not at all).

    >>> import numpy as np
    >>> x = np.float16([[0, 1, 2]])
    >>> weights = np.exp(x.astype(float))
    >>> assert_precise((weights / weights.sum()).astype(np.float16), kernel="softmax", inputs={"x": x})
    """
    check_limits(budget=budget)
    expected, kernel = (None, expected) if kernel is None and isinstance(expected, Kernel) else (expected, kernel)
    asked = {**settings, "standard": standard}
    if kernel is not None:
        given = {"inputs": inputs, "profile": profile or "ieee", "format": format, "options": options}
        report = kernel_report(actual, expected, api.run(kernel, **given), asked, budget)
    else:
        _refuse_without_kernel(inputs=inputs, format=format, options=options, profile=profile)
        report = precise_report(actual, expected, asked, dtype, budget)
    require(report, msg)


def ulp_limits(*, equal_nan: bool = True, **numbers: float | None) -> Limits:
    """The limits of the standard `ulp`, each a number of at least 0."""
    check_limits(**numbers)
    return Limits(**numbers, conventions=Conventions(equal_nan=equal_nan))  # type: ignore[arg-type]  # names of its own


def require(report: Report, msg: str | None = None) -> None:
    """Raise unless the report passes: nothing compared is trouble, anything else a failure."""
    require_compared(report.tensors)
    if report.verdict != "pass":
        raise PrecisionError(report, msg)


def arrays_report(
    actual: Mapping[str, Any], expected: Mapping[str, Any], standard: str, limits: LimitsOf, dtype: object = None
) -> Report:
    """The Report of named arrays against named arrays, all of which must have a partner."""
    pairing = pair(actual, expected)
    if pairing.unmatched_actual or pairing.unmatched_expected or not pairing.pairs:
        lone = [f"only in {side}: {', '.join(names)}" for side, names in pairing.unmatched().items() if names]
        raise NotComparableError(
            f"some arrays have no partner, so they would not be compared: {'; '.join(lone) or 'there are none'}. "
            "Give both sides the same names."
        )
    rows = [_row(found.name, found.actual, found.expected, standard, limits, dtype) for found in pairing.pairs]
    return Report.of(rows, standard=standard, actual="array", expected="array", provenance=api.versions())


def _row(name: str, actual: Any, expected: Any, standard: str, limits: LimitsOf, dtype: object) -> TensorComparison:
    values, wanted, format = both(actual, expected, dtype, "" if name == "actual" else name)
    found = limits(name, format.name)
    return compare_tensor(values, wanted, format, standard, found, Identity(id=name, name=name)).row


def precise_report(actual: Any, expected: Any, asked: Mapping[str, Any], dtype: object, budget: float) -> Report:
    """The Report of a run or dump by its reference, or of values against values; with the cause, given time."""
    if expected is None:
        return _explained(api.compare(actual, **asked), budget, actual, asked)
    if _is_traced(actual) or _is_traced(expected):
        if dtype is not None:
            raise PrecDiffError("dtype goes with arrays; a run or a dump knows its formats. Leave it out")
        return api.compare(actual, expected, **asked)
    if "layer" in asked:
        raise PrecDiffError("layer goes with a run or a dump; arrays have no layers. Leave it out")
    chosen: Settings = api.settings_of(asked)
    return arrays_report(_named(actual), _named(expected), chosen.standard, functools.partial(_limits, chosen), dtype)


def _limits(chosen: Settings, name: str, format: str) -> Limits:
    return chosen.limits(role="output", peer=chosen.peer(name, format))


def _is_traced(side: Any) -> bool:
    return isinstance(side, Run | Trace | Dump | str | Path)


def _named(side: Any) -> Mapping[str, Any]:
    return side if isinstance(side, Mapping) else {"actual": side}


def kernel_report(actual: Any, expected: Any, declared: Run, asked: Mapping[str, Any], budget: float) -> Report:
    """The Report of a device's output as the kernel's one output; with the cause, given time."""
    if expected is not None:
        raise PrecDiffError("found expected and kernel; allowed is one of them: the kernel says what is expected")
    if _is_traced(actual):
        raise PrecDiffError("found kernel beside a run or a dump, which names its own; leave kernel and inputs out")
    return _explained(api.compare(actual, declared=declared, **asked), budget, actual, {**asked, "declared": declared})


def _explained(report: Report, budget: float, actual: Any, asked: Mapping[str, Any]) -> Report:
    """The report with its findings, where it does not pass and time was given."""
    if report.verdict == "pass" or not budget:
        return report
    made = api.explain(actual, budget=budget, **asked)
    return dataclasses.replace(report, findings=made.findings, provenance={**report.provenance, **made.provenance})


def _refuse_without_kernel(**given: Any) -> None:
    lone = [name for name, value in given.items() if value is not None]
    if lone:
        raise PrecDiffError(f"{', '.join(lone)}: found without a kernel, whose they are; pass kernel=... as well")
