"""Standard `torch`: torch.testing.assert_close, |a - r| <= atol + rtol |r| with its tolerances for the format.

The numbers are the `_DTYPE_PRECISIONS` of torch/testing/_comparison.py (PyTorch 2.13); a format it does not list has to
be equal. NaN does not equal NaN there unless asked for, and not here. torch computes both sides in the tensor's own
format, which rounds them; here they are exact.
"""

from __future__ import annotations

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, near
from precdiff.formats import Format

#: format -> (rtol, atol)
TOLERANCES = {"fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "fp32": (1.3e-6, 1e-5), "fp64": (1e-7, 1e-7)}


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    rtol, atol = TOLERANCES.get(format.name, (0.0, 0.0))
    return f"|error| <= {atol:g} + {rtol:g} |expected|, as torch.testing.assert_close has it for {format}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    rtol, atol = TOLERANCES.get(elements.format.name, (0.0, 0.0))
    return near(elements, atol, rtol)


ACCOUNT = Account(
    "every element |error| <= atol + rtol |expected|; NaN is not equal to NaN",
    "fp16 1e-05 + 0.001, bf16 1e-05 + 0.016, fp32 1e-05 + 1.3e-06, fp64 1e-07 + 1e-07, others equal",
    "PyTorch 2.13, torch/testing/_comparison.py",
    "atol passes everything below 1e-5, whatever its relative error; 0.016 is four bf16 roundings, so a narrow "
    "intermediate passes",
)
STANDARDS.add("torch", Standard("torch", rule, judge, ACCOUNT, floats_only=True, takes=(), nan_differs=True))
