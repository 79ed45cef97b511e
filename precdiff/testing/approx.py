"""`assert actual == ulp_approx(expected, max_ulp=2)`: a comparison as a value, for the operator, for dicts and mocks.

Says what `assert_ulp_close` says, by the same report. numpy, torch and others leave `==` to it, so the result is one
bool and no array.
"""

from __future__ import annotations

import reprlib
from typing import Any

from precdiff.comparison import require_compared
from precdiff.report import Report, assertion
from precdiff.testing.assertions import arrays_report, briefly, ulp_limits


class ulp_approx:  # noqa: N801  (used as a function, as pytest.approx is)
    """Values to be equal to within max_ulp ULP, in the format of what they are compared with (or of `dtype`).

    Equality follows assert_ulp_close: what cannot be compared raises. `report` is of the last comparison, None before.

    >>> import numpy as np
    >>> np.float16([1, 2.002]) == ulp_approx([1, 2], max_ulp=1)
    True
    >>> np.float16([1, 2.004]) == ulp_approx([1, 2], max_ulp=1)
    False
    """

    #: numpy's and torch's operators are not applied element by element
    __array_ufunc__ = None
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # equal to many values, which have many hashes

    def __init__(  # noqa: PLR0913  (the options of assert_ulp_close)
        self,
        expected: object,
        max_ulp: float,
        *,
        dtype: object = None,
        zero_atol: float = 0.0,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        allow_fraction: float = 0.0,
    ) -> None:
        self.expected, self.dtype = expected, dtype
        self.limits = ulp_limits(
            max_ulp=max_ulp,
            zero_atol=zero_atol,
            atol=atol,
            rtol=rtol,
            equal_nan=equal_nan,
            allow_fraction=allow_fraction,
        )
        self.report: Report | None = None

    @briefly
    def __eq__(self, actual: object) -> bool:
        self.report = arrays_report(
            {"actual": actual}, {"actual": self.expected}, "ulp", lambda *_: self.limits, self.dtype
        )
        require_compared(self.report.tensors)
        return self.report.verdict == "pass"

    def __bool__(self) -> bool:
        raise TypeError("ulp_approx alone says nothing; compare it: actual == ulp_approx(expected, max_ulp=...)")

    def __repr__(self) -> str:
        """What was asked; after a comparison that failed, its message's first line."""
        failed = self.report is not None and self.report.verdict != "pass"
        said = f": {assertion(self.report).splitlines()[0]}" if self.report is not None and failed else ""
        return f"ulp_approx({reprlib.repr(self.expected)}, max_ulp={self.limits.max_ulp:g}){said}"


def compared(operator: str, left: Any, right: Any) -> list[str] | None:
    """What pytest's hook `pytest_assertrepr_compare` shows of `left == right`; None where neither is an ulp_approx."""
    made = right if isinstance(right, ulp_approx) else left
    if operator != "==" or not isinstance(made, ulp_approx) or made.report is None:
        return None
    return [f"actual == ulp_approx(..., max_ulp={made.limits.max_ulp:g})", *assertion(made.report).splitlines()]
