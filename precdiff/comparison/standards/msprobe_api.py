"""Standard `msprobe-api`: the verdict of msprobe's API accuracy check (acc_check), gate by gate.

    cosine <= 0.99                                                              error
    largest |error| < 0.001                                                     pass
    fp16, bf16: share of RE < 0.01 at most 99 %                                 error
                share of RE < 0.001 at most 99.9 %                              warning, else pass
    fp32, fp64: share of RE < 0.001 at most 99.9 %                              error
                share of RE < 0.0001 at most 99.99 %                            warning, else pass

RE = |error| / (|expected| + eps), eps that of the precision the expected values are computed in, one up: 2^-23 for
fp16, 2^-52 for fp32 and fp64, but 2^-8 for bf16. A warning is a pass that says so. Source: msprobe 26.2.0,
api_accuracy_checker/compare/compare.py and algorithm.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, numbers_for
from precdiff.comparison.standards.msprobe_compare import cosine_of
from precdiff.comparison.whole import Angle, Below, Counts, Decision, Outcome, Sizes, Span, Whole, Worst, of_tensor
from precdiff.formats import Format

COSINE = 0.99
#: largest absolute error that passes at once
ERROR = 0.001


class Row(NamedTuple):
    """Relative errors whose shares are an error and a warning, and what is added to |expected|."""

    error: float
    warning: float
    eps: float


TABLE = {
    "fp16": Row(0.01, 0.001, 2.0**-23),
    "bf16": Row(0.01, 0.001, 2.0**-8),
    "fp32": Row(0.001, 0.0001, 2.0**-52),
    "fp64": Row(0.001, 0.0001, 2.0**-52),
}


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    row = numbers_for(TABLE, format, "msprobe-api")
    return (
        f"cosine > {COSINE:g}; largest error < {ERROR:g}, or relative error < {row.error:g} in more than "
        f"{1.0 - row.error:g} of the elements"
    )


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements of a relative error that warns."""
    row = numbers_for(TABLE, elements.format, "msprobe-api")
    relative = np.abs(elements.error) / (np.abs(elements.truth) + row.eps)
    return Judgement.of(relative >= row.warning, relative, row.warning)


class Gates:
    """What the gates ask of one tensor."""

    def __init__(self, format: Format) -> None:
        self._format, self._row = format, numbers_for(TABLE, format, "msprobe-api")
        self._angle, self._worst = Angle(format), Worst()
        self._error, self._warning = Below(self._row.error), Below(self._row.warning)

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        sizes = Sizes.of(elements)
        self._angle.add(elements)
        self._worst.add(sizes.error, sizes.error_high)
        relative = sizes.relative(self._row.eps)
        self._error.add(*relative)
        self._warning.add(*relative)

    def decide(self, counts: Counts) -> Decision:
        """Gate by gate."""
        outcome, found, warning = self._gates(cosine_of(self._angle, counts))
        return of_tensor(outcome, f"{rule(Limits(), self._format)}: {found}", counts, warning=warning)

    def _gates(self, cosine: Span | None) -> tuple[Outcome, str, bool]:
        """The outcome, the gate that decided, and whether it warns."""
        worst, share = self._worst.span(), self._error.span()
        straight: Outcome = "pass" if cosine is None else cosine.above(COSINE)
        if straight != "pass":
            return straight, f"cosine {cosine}", False
        small = worst.within(ERROR, strict=True)
        if small == "pass":
            return small, f"largest error {worst}", False
        close = share.above(1.0 - self._row.error)
        if close != "pass":
            undecided = small == "undecided"
            return ("undecided" if undecided else close), f"{share} of the elements below {self._row.error:g}", False
        closer = self._warning.span()
        warns = closer.above(1.0 - self._row.warning) != "pass"
        said = f", a warning: only {closer} of the elements below {self._row.warning:g}" if warns else ""
        return "pass", f"{share} of the elements below {self._row.error:g}{said}", warns


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """The gates decide."""
    return Gates(format)


ACCOUNT = Account(
    "cosine, then largest error, then shares of elements by relative error; a warning passes",
    "cosine > 0.99; error < 0.001 passes; fp16, bf16: 99 % below 0.01 (warns: 99.9 % below 0.001); "
    "fp32, fp64: 99.9 % below 0.001 (warns: 99.99 % below 0.0001)",
    "msprobe 26.2.0, api_accuracy_checker/compare",
    "values below 0.001 pass whatever their error (six ULP of bf16 at 1e-4); 1 % of the elements may hold anything",
)
STANDARDS.add("msprobe-api", Standard("msprobe-api", rule, judge, ACCOUNT, whole, floats_only=True, takes=()))
