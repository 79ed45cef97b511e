"""What a comparison says about one tensor: the row `tensors[]` of precdiff.report/1.

Plain data, no behaviour: metrics fill it, standards read it and set the verdict, the report prints it. All statistics
are computed in fp64. Non-finite numbers stay floats here; the JSON writer turns them into "nan", "inf", "-inf".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["pass", "fail", "undecided", "not_compared"]


@dataclass(frozen=True)
class Worst:
    """One element among the worst: flat numpy index tuple, both values, the actual's bits in hex, its ULP error."""

    index: tuple[int, ...]
    actual: float
    actual_bits: str
    expected: float
    ulp: float


@dataclass(frozen=True)
class ReferenceInfo:
    """How expected values were made: rung (`interval` ... `mpmath`, `array`), bits, status, widest radius in ULP."""

    backend: str
    bits: int
    status: Literal["certified", "estimated", "undecided", "given"]
    max_radius_ulp: float
    spot_checked: int


@dataclass(frozen=True)
class Errors:
    """Largest ULP error of each kind (docs/definitions): None where it was not asked for or cannot be known."""

    total: float | None = None
    storage: float | None = None
    local: float | None = None
    inherited: float | None = None


@dataclass(frozen=True)
class Nonfinite:
    """Counts of NaN and infinities in actual and expected, and of places where they do not agree."""

    actual: int = 0
    expected: int = 0
    mismatched: int = 0


@dataclass(frozen=True)
class Waived:
    """The waiver under which a tensor that does not pass was accepted; `source` says where it stands."""

    source: str
    reason: str
    author: str
    expires: str
    max_ulp: float | None


@dataclass(frozen=True)
class TensorComparison:
    """One compared tensor; `ulp` fields are in ulps of the actual's format; see docs/definitions for each metric."""

    id: str
    name: str
    sha256: str
    layer: str
    op: str
    source: str
    iteration: int | None
    rank: int | None
    phase: str
    role: str
    format: str
    shape: tuple[int, ...]
    paired_by: str
    verdict: Verdict
    rule: str
    compared: int
    excused: int
    max_ulp: float
    mean_ulp: float
    mean_signed_ulp: float
    p50_ulp: float
    p99_ulp: float
    over_limit: int
    max_abs: float
    max_rel: float
    rmse: float
    cosine: float
    snr_db: float
    snr_loss_db: float
    unavoidable_ratio: float
    errors: Errors = field(default_factory=Errors)
    nonfinite: Nonfinite = field(default_factory=Nonfinite)
    ulp_histogram: Sequence[tuple[float, int]] = ()
    worst: Sequence[Worst] = ()
    reference: ReferenceInfo | None = None
    extra: Mapping[str, float] = field(default_factory=dict)
    waived: Waived | None = None


def worst_ulp(row: TensorComparison) -> float:
    """The largest ULP error that was not excused."""
    return row.worst[0].ulp if row.excused and row.worst else row.max_ulp
