"""Standard `backward`: error / sum of |terms| <= limit, the componentwise backward error of a sum or contraction.

    |a - r| <= limit * sum_i |t_i|      t_i the terms summed: elements, or products of a matmul  (Higham 2002, 3.1, 3.5)

It does not blame a kernel for cancellation in its data, as a limit in ULP would. Sums and limit reach it as data.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Judgement, Limits, Standard, decide, required
from precdiff.formats import Format


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"error / sum of |terms| <= {float(required(limits.backward, 'backward', 'backward')):.6g}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    limit = required(limits.backward, "backward", "backward")
    terms = required(limits.terms, "terms", "backward")
    return decide(np.abs(elements.error), limit * terms, 0.0 if elements.radius is None else elements.radius)


STANDARDS.add("backward", Standard("backward", rule, judge))
