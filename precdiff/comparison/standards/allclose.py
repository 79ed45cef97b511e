"""Standard `allclose`: |a - r| <= atol + rtol |r|, as numpy and torch have it (r is the expected value).

Without tolerances those of torch.testing.assert_close apply (PyTorch 2.13, torch/testing/_comparison.py); float
formats it does not list take rtol 2u, about what it gives fp16, and its atol.
"""

from __future__ import annotations

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, near
from precdiff.comparison.standards.torch import TOLERANCES
from precdiff.formats import Format


def tolerances(limits: Limits, format: Format) -> tuple[float, float]:
    """Return (rtol, atol); a stated one makes the other 0 if that is not stated."""
    if limits.rtol is None and limits.atol is None:
        return TOLERANCES.get(format.name, (2.0 * format.u, 1e-5) if format.is_float else (0.0, 0.0))
    return limits.rtol or 0.0, limits.atol or 0.0


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    rtol, atol = tolerances(limits, format)
    said = f"|error| <= {atol:.6g} + {rtol:.6g} |expected|"
    given = limits.rtol is not None or limits.atol is not None
    return said if given or format.name not in TOLERANCES else f"{said} (torch's tolerances)"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    rtol, atol = tolerances(limits, elements.format)
    return near(elements, atol, rtol)


ACCOUNT = Account(
    "every element |error| <= atol + rtol |expected|",
    "--atol, --rtol; without them torch's: fp16 1e-05 + 0.001, bf16 1e-05 + 0.016, fp32 1e-05 + 1.3e-06",
    "numpy.allclose and torch.testing.assert_close (PyTorch 2.13)",
    "one atol for small and large values: too loose for the one, or too tight for the other",
)
STANDARDS.add("allclose", Standard("allclose", rule, judge, ACCOUNT))
