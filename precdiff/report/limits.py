"""What limit would let a tensor pass: for whoever has to decide whether a limit or a kernel is wrong."""

from __future__ import annotations

import math

from precdiff.comparison import TensorComparison
from precdiff.report import numbers


def would_pass(tensor: TensorComparison) -> str:
    """The smallest limit under which every element passes."""
    limit, factor = tensor.extra.get("needed_limit"), tensor.extra.get("needed_factor")
    if tensor.nonfinite.mismatched:
        return "at no limit: non-finite values do not match"
    if limit is not None:
        return f"at a limit of {numbers.at_least(limit)} ULP"
    if factor is not None and math.isinf(factor):
        return "only where nothing differs"
    if factor is None:
        return (
            "at every limit" if tensor.verdict == "pass" else "at no single factor: the rule is about the whole tensor"
        )
    return f"at {numbers.at_least(factor)} times the limit"
