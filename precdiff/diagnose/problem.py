"""A problem: elements of one tensor that are beyond the standard, and the statistic by which a proof is judged.

    statistic = RMS over the failing elements of the standard's own error, each capped at 2^p   (DESIGN 4)

in the standard's unit: ulps of the format, u sum |terms| for `backward`, the a-priori bound for question (a). The
floor is the statistic of the exact result rounded once. Finite and non-finite failing elements are separate problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from precdiff.errors import NotComparableError
from precdiff.formats import Format, get_format, signed_ulp_error, ulp, ulp_distance
from precdiff.machine import RealArray
from precdiff.machine.realarray import FINITE
from precdiff.rounding import Rounding
from precdiff.trace import Trace

Group = Literal["finite", "nonfinite"]

#: of the excess error, what a proof has to remove
_REMOVED = 0.75


@dataclass(frozen=True)
class Problem:
    """Failing elements `mask` of `tensor` in `trace`; `expected` are its reals, `unit` one unit of error (absolute)."""

    trace: Trace
    tensor: str
    expected: RealArray
    mask: np.ndarray
    group: Group
    limit: float
    unit_name: str
    unit: np.ndarray | None = None
    #: the steps of the kernel's reference, where it names one
    intended: Trace | None = None

    @property
    def format(self) -> Format:
        """The tensor's format."""
        return get_format(self.trace.formats[self.tensor])

    @property
    def elements(self) -> int:
        """How many elements fail."""
        return int(np.count_nonzero(self.mask))

    def errors(self, values: np.ndarray) -> np.ndarray:
        """The standard's error of the failing elements, in its unit, capped."""
        pair = self.expected.values()[self.mask], np.where(self._finite, self.expected.lo[self.mask], 0.0)
        reference = np.where(self._finite, self.expected.hi[self.mask], pair[0]), pair[1]
        error = np.abs(signed_ulp_error(values[self.mask], reference, self.format))
        if self.unit is not None:
            with np.errstate(all="ignore"):
                error = error * ulp(reference[0], self.format) / self.unit[self.mask]
        wrong = ~np.isfinite(values[self.mask]) & (values[self.mask] != pair[0]) & self._representable
        cap = 2.0**self.format.p
        return np.minimum(np.where(wrong | np.isnan(error), cap, error), cap)

    @cached_property
    def _finite(self) -> np.ndarray:
        return np.asarray(self.expected.kind[self.mask] == FINITE)

    @cached_property
    def _representable(self) -> np.ndarray:
        return np.isfinite(self._rounded[self.mask])

    @cached_property
    def _rounded(self) -> np.ndarray:
        return self.expected.rounded(Rounding(self.format))[0]

    def statistic(self, values: np.ndarray) -> float:
        """RMS of the errors."""
        errors = self.errors(values)
        return math.sqrt(float(np.mean(errors * errors))) if errors.size else 0.0

    def settles(self, after: float) -> bool:
        """Whether a change that leaves `after` of `before` is a proof (DESIGN 4, "Standing")."""
        enough = after <= max(self.limit / 2, 1.1 * self.floor)
        return enough and self.before - after >= _REMOVED * (self.before - self.floor)

    @cached_property
    def before(self) -> float:
        """The statistic as recorded."""
        return self.statistic(self.trace.values[self.tensor])

    @cached_property
    def floor(self) -> float:
        """The statistic of the exact result rounded once."""
        return self.statistic(self._rounded)


@dataclass(frozen=True)
class BitsProblem(Problem):
    """A problem measured in bits, log2(1 + floats between), as Herbie does; a NaN in place of a number counts all.

    Half the limit alone decides: that is the rule by which the labelled points of DESIGN 5, `eval --batch`, were made.
    """

    def errors(self, values: np.ndarray) -> np.ndarray:
        """The error of the failing elements in bits."""
        actual, wanted = values[self.mask], self._rounded[self.mask]
        lost = np.isnan(actual) != np.isnan(wanted)
        distance = np.asarray(ulp_distance(np.where(np.isnan(actual), wanted, actual), wanted, self.format))
        bits = np.log2(distance.astype(np.float64) + 1)
        return np.where(lost, float(self.format.bits), np.where(np.isnan(wanted), 0.0, bits))

    def settles(self, after: float) -> bool:
        """Whether `after` is at most half the limit."""
        return after <= self.limit / 2


@dataclass(frozen=True)
class IntegerProblem(Problem):
    """A problem of integers or bools, which are right or wrong: the error is the difference, a proof leaves none."""

    def errors(self, values: np.ndarray) -> np.ndarray:
        """|actual - expected| of the failing elements."""
        return np.abs(values[self.mask].astype(np.float64) - self.expected.hi[self.mask])

    def settles(self, after: float) -> bool:
        """Whether nothing is left."""
        return after == 0

    @cached_property
    def floor(self) -> float:
        """Integers can be right."""
        return 0.0


def require_same_shape(name: str, actual: np.ndarray, expected: np.ndarray) -> None:
    """A reference that gives another shape is not what the kernel should give."""
    if actual.shape != expected.shape:
        raise NotComparableError(
            f"output {name}: the kernel gives shape {actual.shape}, its reference {expected.shape}; allowed is one"
        )


def split(  # noqa: PLR0913 - a Problem's own fields
    trace: Trace,
    tensor: str,
    expected: RealArray,
    failing: np.ndarray,
    limit: float,
    unit_name: str,
    unit: np.ndarray | None = None,
    intended: Trace | None = None,
) -> list[Problem]:
    """The problems of a tensor: its finite and its non-finite failing elements, where there are any."""
    values = trace.values[tensor]
    if not get_format(trace.formats[tensor]).is_float:
        kind: Group = "finite"
        return [IntegerProblem(trace, tensor, expected, failing, kind, 0.0, "of 1", None, intended)]
    finite = np.isfinite(values) & (expected.kind == FINITE)
    groups: list[tuple[Group, np.ndarray]] = [("nonfinite", failing & ~finite), ("finite", failing & finite)]
    return [
        Problem(trace, tensor, expected, mask, group, limit, unit_name, unit, intended)
        for group, mask in groups
        if mask.any()
    ]
