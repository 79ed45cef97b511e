"""Standard `cann-threshold`: the older single-benchmark rule of the CANN operators.

    RE = |a - r| / (|r| + 1e-7)       mean RE (MERE) < T  and  largest RE (MARE) < 10 T

T by format is published with the open CANN operators (fp16 2^-10, bf16 2^-7, fp32 2^-13, HiFLOAT32 2^-11, FLOAT8 E4M3
2^-3, E5M2 2^-2).
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, numbers_for, stated
from precdiff.comparison.whole import Counts, Decision, Mean, Sizes, Whole, Worst, all_of, of_tensor
from precdiff.formats import Format

#: format -> T
TABLE = {
    "fp16": 2.0**-10,
    "bf16": 2.0**-7,
    "fp32": 2.0**-13,
    "hf32": 2.0**-11,
    "e4m3fn": 2.0**-3,
    "e5m2": 2.0**-2,
}
#: what keeps a relative error at an expected 0 finite
TINY = 1e-7
LARGEST = 10.0


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    mean = numbers_for(TABLE, format, "cann-threshold")
    return f"mean relative error < {stated(mean)}, largest < {LARGEST:g} times that"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements that are beyond what the mean may be."""
    most = numbers_for(TABLE, elements.format, "cann-threshold")
    relative = np.abs(elements.error) / (np.abs(elements.truth) + TINY)
    return Judgement.of(relative >= most, relative, most)


class Errors:
    """Mean and largest relative error of one tensor."""

    def __init__(self, format: Format) -> None:
        self._format, self._most = format, numbers_for(TABLE, format, "cann-threshold")
        self._mean, self._worst = Mean(), Worst()

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        low, high = Sizes.of(elements).relative(TINY)
        self._mean.add(low, high)
        self._worst.add(low, high)

    def decide(self, counts: Counts) -> Decision:
        """Both have to hold."""
        mean, worst = self._mean.span(), self._worst.span()
        outcome = all_of([mean.within(self._most, strict=True), worst.within(LARGEST * self._most, strict=True)])
        found = f"{rule(Limits(), self._format)}: mean {mean}, largest {worst}"
        return of_tensor(outcome, found, counts, max(mean.high, worst.high / LARGEST) / self._most)


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """Both errors decide."""
    return Errors(format)


ACCOUNT = Account(
    "mean relative error below T and the largest below 10 T, relative to |expected| + 1e-7",
    "T: fp16 2^-10, bf16 2^-7, fp32 2^-13, hf32 2^-11, e4m3fn 2^-3, e5m2 2^-2",
    "CANN open operators, single-benchmark standard (MERE, MARE)",
    "a bias of nearly 1 ULP in every element passes, and single errors of 10 ULP; near an expected 0 correct "
    "results fail",
)
STANDARDS.add("cann-threshold", Standard("cann-threshold", rule, judge, ACCOUNT, whole, floats_only=True, takes=()))
