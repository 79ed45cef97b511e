"""Standard `backward`: the componentwise backward error of a sum or contraction, apart from rounding its result.

    |a - r| <= limit * sum_i |t_i| + ulp(r) / 2     t_i the terms: elements, or products of a matmul (Higham 2002, 3.5)

It does not blame a kernel for cancellation in its data, as a limit in ULP would. Sums and limit reach it as data.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, decide, required
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


ACCOUNT = Account(
    "error at most a share of the sum of |terms|, apart from rounding the result",
    "the kernel's backward(n): n unit roundoffs",
    "Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.5",
    "a result that cancels may have no correct digit and pass: that is the data's doing",
)
STANDARDS.add("backward", Standard("backward", rule, judge, ACCOUNT))
