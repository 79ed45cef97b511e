"""Standard `auto`: what fits the tensor, chosen from its format, its role and the limits that are known.

Integers and bool: bitwise. A kernel's output: its kernel's limit, backward where that is stated, else ulp. Any other
tensor with a bound: its op's own. Nothing known: ulp, 4 ULP.
"""

from __future__ import annotations

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard
from precdiff.formats import Format


def choose(limits: Limits, format: Format) -> Standard:
    """Return the standard that `auto` stands for."""
    if not format.is_float:
        return STANDARDS["bitwise"]
    if limits.bound is not None and limits.role != "output":
        return STANDARDS["bound"]
    if limits.backward is not None and limits.max_ulp is None:
        return STANDARDS["backward"]
    if limits.max_ulp is None and limits.bound is not None:
        return STANDARDS["bound"]
    return STANDARDS["ulp"]


def rule(limits: Limits, format: Format) -> str:
    """Say the chosen standard's rule, and that it is a default where it is."""
    chosen = choose(limits, format)
    stated = chosen.rule(limits, format)
    return f"{stated} (default: no limit known)" if chosen.name == "ulp" and limits.max_ulp is None else stated


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk by the chosen standard."""
    return choose(limits, elements.format).judge(elements, limits)


ACCOUNT = Account(
    "what fits the tensor: integers bitwise, a step its op's bound, an output its kernel's limit, else ulp",
    "the bound or limit that is known; 4 ULP where none is",
    "docs/definitions.md: steps and outputs, two questions",
    "an output without a kernel's limit is held to 4 ULP whatever the computation; cancellation in the data counts",
)
STANDARDS.add("auto", Standard("auto", rule, judge, ACCOUNT))
