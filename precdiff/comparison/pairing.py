"""Which tensor is compared with which: by exact name, else by position where each side has a single one.

What finds no partner is listed, never dropped. This file must not know what the tensors hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from precdiff.errors import NotComparableError

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Pair(Generic[T, U]):
    """Two tensors to compare, and how they were found to belong together."""

    name: str
    actual: T
    expected: U
    paired_by: str


@dataclass(frozen=True)
class Pairing(Generic[T, U]):
    """All pairs in the order of the actual side, and the names on either side without a partner."""

    pairs: tuple[Pair[T, U], ...]
    unmatched_actual: tuple[str, ...] = ()
    unmatched_expected: tuple[str, ...] = ()

    def unmatched(self) -> dict[str, list[str]]:
        """The report's `unmatched`."""
        return {"actual": list(self.unmatched_actual), "expected": list(self.unmatched_expected)}


def pair(actual: Mapping[str, T], expected: Mapping[str, U]) -> Pairing[T, U]:
    """Pair two sets of named tensors.

    >>> pair({"y": 1, "z": 2}, {"y": 3}).unmatched()
    {'actual': ['z'], 'expected': []}
    >>> pair({"out": 1}, {"golden": 2}).pairs[0].paired_by
    'position'
    """
    shared = tuple(Pair(name, actual[name], expected[name], "name") for name in actual if name in expected)
    if not shared and len(actual) == len(expected) == 1:
        ((name, found),), (wanted,) = actual.items(), expected.values()
        return Pairing((Pair(name, found, wanted, "position"),))
    return Pairing(
        shared,
        tuple(name for name in actual if name not in expected),
        tuple(name for name in expected if name not in actual),
    )


def check_shapes(name: str, actual: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Raise where two tensors differ in shape; nothing is broadcast, since that hides mistakes."""
    if tuple(actual) != tuple(expected):
        message = f"cannot compare {name!r}: actual has shape {tuple(actual)}, expected has shape {tuple(expected)}."
        raise NotComparableError(f"{message} Both must be equal; reshape or slice one of them first.")
