"""Sweep: the error of a kernel against the length of its sums, the format and the profile, and the law it follows.

error ~ c K^b: b from least squares of log error against log K. Rounding errors that average out give b = 1/2, those
that all go one way b = 1 (Higham and Mary 2019).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.comparison import overall
from precdiff.diagnose.judgement import Judgement

#: points a law needs
_POINTS = 3


@dataclass(frozen=True)
class Measured:
    """One run of a sweep: its settings, and the outputs' errors in ULP."""

    settings: Mapping[str, str]
    max_ulp: float
    rms_ulp: float
    unavoidable_ratio: float
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**self.settings, "max_ulp": self.max_ulp, "rms_ulp": self.rms_ulp,
                "unavoidable_ratio": self.unavoidable_ratio, "verdict": self.verdict}  # fmt: skip


def measured(judgement: Judgement, settings: Mapping[str, str]) -> Measured:
    """The row of a judged run."""
    rows = [compared.row for compared in judgement.outputs.values()]
    largest = max((row.max_ulp for row in rows), default=0.0)
    ratio = max((row.unavoidable_ratio for row in rows), default=math.nan)
    return Measured(settings, largest, _rms(judgement), ratio, overall(row.verdict for row in rows))


def _rms(judgement: Judgement) -> float:
    """RMS ULP error of all finite output elements."""
    from precdiff.formats import get_format, ulp_error
    from precdiff.machine.realarray import FINITE

    found = []
    for id, made in judgement.intended.items():
        values, exact = judgement.trace.values[id], made.values
        usable = (exact.kind == FINITE) & np.isfinite(np.asarray(values, np.float64))
        if get_format(judgement.trace.formats[id]).is_float and usable.any():
            found.append(ulp_error(values[usable], (exact.hi[usable], exact.lo[usable]), judgement.trace.formats[id]))
    return float(np.sqrt(np.mean(np.square(np.concatenate(found))))) if found else math.nan


def exponent(sizes: Sequence[float], errors: Sequence[float]) -> float | None:
    """b of error ~ c K^b; None of fewer than three different sizes with an error.

    >>> round(exponent([10, 100, 1000], [2.0, 2.0 * 10**0.5, 20.0]), 6)
    0.5
    """
    pairs = [(math.log(k), math.log(e)) for k, e in zip(sizes, errors, strict=True) if k > 0 and e > 0 and e < math.inf]
    if len({k for k, _ in pairs}) < _POINTS:
        return None
    slope, _ = np.polyfit([k for k, _ in pairs], [e for _, e in pairs], 1)
    return float(slope)
