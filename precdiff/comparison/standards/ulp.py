"""Standard `ulp`: every element within max_ulp ULP of the expected value (0 = equal, 1/2 = correctly rounded).

An element beyond it is excused, and counted so, where |expected| and |error| are both at most zero_atol, or where
|error| <= atol + rtol |expected| if either was asked for.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, decide
from precdiff.formats import Array, Format

#: ULP, where neither the caller nor the kernel states a limit (DESIGN 4)
DEFAULT = 4.0


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    stated = f"error <= {_limit(limits):.6g} ULP of {format}"
    if limits.zero_atol:
        stated += f", excused where |expected| and |error| <= {limits.zero_atol:.6g}"
    if limits.atol is not None or limits.rtol is not None:
        stated += f", excused within {limits.atol or 0.0:.6g} + {limits.rtol or 0.0:.6g} |expected|"
    if limits.allow_fraction:
        stated += f", but for {limits.allow_fraction:.4%} of the elements"
    return stated


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    judgement = decide(elements.distance, _limit(limits), elements.slack)
    if not (limits.zero_atol or limits.atol or limits.rtol) or not (judgement.over.any() or judgement.maybe.any()):
        return judgement
    return judgement.excuse(_excusable(elements, limits))


def _limit(limits: Limits) -> float:
    return DEFAULT if limits.max_ulp is None else limits.max_ulp


def _excusable(elements: Elements, limits: Limits) -> Array:
    size = np.abs(elements.truth)
    error = np.abs(elements.error) + (0.0 if elements.radius is None else elements.radius)
    near_zero = (size <= limits.zero_atol) & (error <= limits.zero_atol)
    if limits.atol is None and limits.rtol is None:
        return near_zero
    return near_zero | (error <= (limits.atol or 0.0) + (limits.rtol or 0.0) * size)


ACCOUNT = Account(
    "every element within --max-ulp ULP of the expected value",
    "--max-ulp; 4 without one",
    "ULP as JAX documents it (docs/accuracy.md): the exponent not below the smallest normal",
    "near an expected 0 correct sums are far off in ULP (--zero-atol, counted as excused)",
)
STANDARDS.add("ulp", Standard("ulp", rule, judge, ACCOUNT))
