"""Logical operations on bool tensors, as choices: a and b is (b where a, else a), so every machine has them at once.

    logical_and(a, b) = where(a, b, a)    logical_or(a, b) = where(a, a, b)    logical_not(a) = where(a, false, true)

An operand a reference cannot decide leaves the result open only where it matters: false and anything is false.
"""

from __future__ import annotations

from typing import Any

from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.ops.composites import layered
from precdiff.ops.selection import where


def _check(name: str, *operands: Any) -> None:
    for x in operands:
        if getattr(getattr(x, "format", None), "name", type(x).__name__) != "bool":
            found = x.format.name if hasattr(x, "format") else type(x).__name__
            raise KernelError(f"{name}: found {found}; allowed are bool tensors, as x > 0 gives; for bits bitwise_and")


@layered("logical_and")
def logical_and(a: Any, b: Any) -> Any:
    """Where both hold."""
    _check("logical_and", a, b)
    return where(a, b, a)


@layered("logical_or")
def logical_or(a: Any, b: Any) -> Any:
    """Where at least one holds."""
    _check("logical_or", a, b)
    return where(a, a, b)


@layered("logical_not")
def logical_not(a: Any) -> Any:
    """Where it does not hold."""
    _check("logical_not", a)
    false, true = (a.machine.constant(float(v), get_format("bool")) for v in (False, True))
    return where(a, false, true)


@layered("logical_xor")
def logical_xor(a: Any, b: Any) -> Any:
    """Where exactly one holds."""
    _check("logical_xor", a, b)
    return where(a, logical_not(b), b)
