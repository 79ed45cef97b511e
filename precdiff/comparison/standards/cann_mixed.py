"""Standard `cann-mixed`: the mixed tolerance of the open CANN operators.

    |a - r| <= atol + rtol |r| for at least 99 % of the elements, and every |a - r| <= max(limit, 32 ulp(r))

The numbers are those of opbase, "mixed tolerance standard" (generative-AI operators, 2026). Its checker takes the ULP
at 1.0 for the second clause, its BLAS tests that of the expected value, which is meant here: at 1.0 the clause would
fail correctly rounded results above 200 in fp16. A later revision of the page states smaller tolerances
(fp16 2^-10 + 2^-10, bf16 2^-7 + 2^-7, fp32 2^-13 + 2^-13).
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, numbers_for, stated
from precdiff.comparison.whole import Beyond, Counts, Decision, Sizes, Whole, Worst, all_of, of_tensor
from precdiff.formats import Array, Format, quantum

#: format -> (rtol, atol, largest absolute error)
TABLE = {
    "fp16": (2.0**-9, 2.0**-9, 0.1),
    "bf16": (2.0**-6, 2.0**-6, 1.0),
    "fp32": (2.0**-10, 2.0**-16, 0.01),
    "hf32": (2.0**-9, 2.0**-10, 0.1),
}
#: share of the elements that may miss the first clause
MISSED = 0.01
#: ULP of the expected value, where that is more than the absolute limit
ULPS = 32.0


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    rtol, atol, most = numbers_for(TABLE, format, "cann-mixed")
    return (
        f"{1.0 - MISSED:.0%} of the elements |error| <= {stated(atol)} + {stated(rtol)} |expected|, "
        f"none beyond {most:g} and {ULPS:g} ULP"
    )


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements beyond either tolerance."""
    rtol, atol, most = numbers_for(TABLE, elements.format, "cann-mixed")
    error = np.abs(elements.error)
    allowed = np.minimum(atol + rtol * np.abs(elements.truth), _cap(elements.truth, elements.format, most))
    return Judgement.of(error > allowed, error, allowed)


def _cap(truth: Array, format: Format, most: float) -> Array:
    return np.maximum(most, ULPS * quantum(truth, format))


class Mixed:
    """Both clauses over one tensor."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._rtol, self._atol, self._most = numbers_for(TABLE, format, "cann-mixed")
        self._missed, self._far, self._worst = Beyond(), Beyond(), Worst()

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        sizes = Sizes.of(elements)
        near = (self._atol + self._rtol * truth for truth in (sizes.truth, sizes.truth_high))
        self._missed.add(sizes.error, sizes.error_high, *near)
        cap = (_cap(truth, self._format, self._most) for truth in (sizes.truth, sizes.truth_high))
        self._far.add(sizes.error, sizes.error_high, *cap)
        self._worst.add(sizes.error, sizes.error_high)

    def decide(self, counts: Counts) -> Decision:
        """Both have to hold."""
        missed, far = self._missed.share(), self._far.count()
        outcome = all_of([missed.within(MISSED), far.within(0.0)])
        found = f"{missed.high:.4%} miss the first, {far} the second; largest error {self._worst.span()}"
        return of_tensor(outcome, f"{rule(Limits(), self._format)}: {found}", counts)


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """Both clauses decide."""
    return Mixed(format)


ACCOUNT = Account(
    "|error| <= atol + rtol |expected| for 99 % of the elements, and no error beyond an absolute limit or 32 ULP",
    "fp16 2^-9 + 2^-9, 0.1; bf16 2^-6 + 2^-6, 1; fp32 2^-16 + 2^-10, 0.01; hf32 2^-10 + 2^-9, 0.1",
    "CANN opbase, mixed tolerance standard (2026)",
    "1 % of the elements may be off by anything below the limit: a tile, all small elements, a whole head",
)
STANDARDS.add("cann-mixed", Standard("cann-mixed", rule, judge, ACCOUNT, whole, floats_only=True, takes=()))
