"""Standard `backward`: the componentwise backward error of a sum or contraction, apart from rounding its result.

    |a - r| <= limit * sum_i |t_i| + ulp(r) / 2     t_i the terms: elements, or products of a matmul (Higham 2002, 3.5)

It does not blame a kernel for cancellation in its data, as a limit in ULP would. Sums and limit reach it as data.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Judgement, Limits, Standard, decide, required
from precdiff.formats import Format


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    limit = float(required(limits.backward, "backward", "backward"))
    return f"error <= {limit:.6g} sum of |terms| + 1/2 ULP of {format}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    limit = required(limits.backward, "backward", "backward")
    terms = required(limits.terms, "terms", "backward")
    allowed = limit * terms + 0.5 * elements.spacing
    return decide(np.abs(elements.error), allowed, 0.0 if elements.radius is None else elements.radius)


STANDARDS.add("backward", Standard("backward", rule, judge))
