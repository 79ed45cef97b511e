"""A finding: cause, evidence, proof and remedy; the row `findings[]` of precdiff.report/1. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Standing = Literal["verified", "candidate", "insufficient"]


@dataclass(frozen=True)
class Counterfactual:
    """The proof: the same kernel replayed with only `change`; errors are the finding's statistic, before and after."""

    change: Mapping[str, Any]
    error_before: float
    error_after: float
    floor: float
    factor: float
    reproduces_bits: bool


@dataclass(frozen=True)
class Finding:
    """One explained cause (docs/definitions). `step` is the root of the smallest proven region."""

    id: str
    cause: str
    standing: Standing
    step: str
    source: str
    layer: str
    region: Sequence[str]
    born_at: Sequence[str]
    chain: Sequence[str]
    share: float
    statistic: str
    limit: float
    group: Literal["finite", "nonfinite"]
    elements: int
    evidence: Mapping[str, Any]
    counterfactual: Counterfactual | None
    remedy: str
    also: Sequence[str] = field(default_factory=tuple)
