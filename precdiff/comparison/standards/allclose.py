"""Standard `allclose`: |a - r| <= atol + rtol |r|, as numpy and torch have it (r is the expected value).

Without tolerances those of torch.testing.assert_close apply (PyTorch 2.13, torch/testing/_comparison.py); float
formats it does not list take rtol 2u, about what it gives fp16, and its atol.
"""

from __future__ import annotations

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Judgement, Limits, Standard, decide
from precdiff.formats import Format

#: format -> (rtol, atol)
TORCH = {"fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "fp32": (1.3e-6, 1e-5), "fp64": (1e-7, 1e-7)}


def tolerances(limits: Limits, format: Format) -> tuple[float, float]:
    """Return (rtol, atol); a stated one makes the other 0 if that is not stated."""
    if limits.rtol is None and limits.atol is None:
        return TORCH.get(format.name, (2.0 * format.u, 1e-5) if format.is_float else (0.0, 0.0))
    return limits.rtol or 0.0, limits.atol or 0.0


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    rtol, atol = tolerances(limits, format)
    default = " (torch's tolerances)" if limits.rtol is None and limits.atol is None and format.name in TORCH else ""
    return f"|error| <= {atol:.6g} + {rtol:.6g} |expected|{default}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    rtol, atol = tolerances(limits, elements.format)
    radius = 0.0 if elements.radius is None else elements.radius
    return decide(np.abs(elements.error), atol + rtol * np.abs(elements.truth), radius * (1.0 + rtol))


STANDARDS.add("allclose", Standard("allclose", rule, judge))
