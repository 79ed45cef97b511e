"""Standard `ascend-sample`: the verify_result.py of the Ascend operator samples.

    numpy.isclose(output, golden, rtol, atol, equal_nan=True) misses at most a share of the elements

The numbers are those of the samples' scripts (fp16: relative_tol 1e-3, absolute_tol 1e-5, error_tol 1e-3; fp32: all
three 1e-4; bf16: all three 1e-3). Projects edit these lines, so rtol, atol and the share may be given. A value that is
not finite where a number is expected fails here, where the script counts it as one miss.
"""

from __future__ import annotations

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, near, numbers_for
from precdiff.comparison.whole import Share, Whole
from precdiff.formats import Format

#: format -> (rtol, atol, share of the elements that may miss them)
TABLE = {"fp16": (1e-3, 1e-5, 1e-3), "bf16": (1e-3, 1e-3, 1e-3), "fp32": (1e-4, 1e-4, 1e-4)}


def tolerances(limits: Limits, format: Format) -> tuple[float, float, float]:
    """Return (rtol, atol, share): what was given, else the script's."""
    rows = (limits.rtol, limits.atol, limits.allow_fraction)
    if None not in rows:
        return rows  # type: ignore[return-value]  # none is None
    rtol, atol, share = (
        own if given is None else given
        for given, own in zip(rows, numbers_for(TABLE, format, "ascend-sample"), strict=True)
    )
    return rtol, atol, share


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    rtol, atol, share = tolerances(limits, format)
    return f"|error| <= {atol:g} + {rtol:g} |expected|, but for at most {share:.4%} of the elements"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Judge a chunk."""
    rtol, atol, _ = tolerances(limits, elements.format)
    return near(elements, atol, rtol)


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """The share decides."""
    return Share(tolerances(limits, format)[2], rule(limits, format))


ACCOUNT = Account(
    "|error| <= atol + rtol |expected|, but for a share of the elements",
    "fp16 1e-05 + 0.001, share 0.001; bf16 0.001 + 0.001, share 0.001; fp32 0.0001 + 0.0001, share 0.0001",
    "verify_result.py of the Ascend operator samples (rtol, atol, error_tol)",
    "the share: 64 stale elements of 65,536 (a tile) pass, and so does any single huge error",
)
STANDARDS.add(
    "ascend-sample",
    Standard("ascend-sample", rule, judge, ACCOUNT, whole, floats_only=True, takes=("atol", "rtol", "allow_fraction")),
)
