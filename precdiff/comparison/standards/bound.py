"""Standard `bound`: is each element of a step within its op's own bound (question (a) of `auto`)?

The bound reaches it as data: a number, or an array of the tensor's shape, in ULP of the actual's format or absolute.
Whoever runs the ops knows what they promise; here the local error is only measured against it.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, decide, required
from precdiff.formats import Format


def rule(limits: Limits, format: Format) -> str:
    """Say the rule, with the range of the bounds where they differ."""
    bound = np.asarray(required(limits.bound, "bound", "bound"))
    unit = f"ULP of {format}" if limits.bound_unit == "ulp" else "absolute"
    low, high = float(bound.min(initial=np.inf)), float(bound.max(initial=-np.inf))
    value = f"{low:.6g}" if low >= high else f"{low:.6g} to {high:.6g}"
    return f"error of the step <= its op's bound ({value} {unit})"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    bound = required(limits.bound, "bound", "bound")
    if limits.bound_unit == "ulp":
        return decide(elements.distance, bound, elements.slack)
    return decide(np.abs(elements.error), bound, 0.0 if elements.radius is None else elements.radius)


ACCOUNT = Account(
    "every element of a step within its op's own bound, given as data",
    "1/2 ULP for what is rounded correctly, a profile's for its approximations, gamma_n u for sums",
    "docs/definitions.md: a-priori bounds",
    "faults smaller than the bound, which for long sums is wide",
)
STANDARDS.add("bound", Standard("bound", rule, judge, ACCOUNT))
