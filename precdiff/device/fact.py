"""A fact about a device: a value, where it is written down, and how far it can be trusted.

This file knows nothing of devices. A fact is

    documented   the maker says so
    measured     somebody observed it on the hardware
    assumed      nobody published it; `candidates` are the other plausible values, and verdicts become an envelope
    user         the user said so (`--profile-set`), so there is nothing left to vary
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, get_args

from precdiff.errors import PrecDiffError, UnknownNameError

T = TypeVar("T")
Confidence = Literal["documented", "measured", "assumed", "user"]


@dataclass(frozen=True)
class Fact(Generic[T]):
    """A value with its source; only what is assumed has candidates.

    >>> Fact("keep", "vendor manual 3.1", "documented").value
    'keep'
    """

    value: T
    source: str
    confidence: Confidence
    candidates: tuple[T, ...] = ()

    def __post_init__(self) -> None:
        if self.confidence not in get_args(Confidence):
            raise UnknownNameError("confidence", self.confidence, get_args(Confidence))
        if not self.source.strip():
            raise PrecDiffError(f"a fact needs a source: {self.value!r} has none")
        if self.candidates and self.confidence != "assumed":
            raise PrecDiffError(f"{self.value!r} is {self.confidence}; only an assumed value has candidates")


def documented(value: T, source: str) -> Fact[T]:
    """A value the maker states.

    >>> documented(16, "vendor manual 3.1").confidence
    'documented'
    """
    return Fact(value, source, "documented")


def measured(value: T, source: str) -> Fact[T]:
    """A value somebody observed on the hardware."""
    return Fact(value, source, "measured")


def assumed(value: T, source: str, candidates: tuple[T, ...] = ()) -> Fact[T]:
    """A value nobody published; `candidates` are the other plausible ones."""
    return Fact(value, source, "assumed", candidates)
