"""Standard `onnx-backend`: the node tests of ONNX, numpy.testing.assert_allclose with rtol 1e-3 and atol 1e-7.

The numbers are the defaults of onnx/backend/test/loader (onnx 1.23.2, measured on all of its 1,884 node cases); they
hold for every format alike, integers too. The expected value is the one the tolerance is relative to.
"""

from __future__ import annotations

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, near
from precdiff.formats import Format

RTOL, ATOL = 1e-3, 1e-7


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"|error| <= {ATOL:g} + {RTOL:g} |expected|, as the ONNX backend tests have it"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    return near(elements, ATOL, RTOL)


ACCOUNT = Account(
    "every element |error| <= atol + rtol |expected|",
    "1e-07 + 0.001 in every format",
    "onnx 1.23.2, onnx/backend/test: defaults of the node cases",
    "one number for all formats: 8,000 ULP of fp32 pass, and bf16 rounded once (2^-9 = 0.00195) fails",
)
STANDARDS.add("onnx-backend", Standard("onnx-backend", rule, judge, ACCOUNT, takes=()))
