"""How a function unit departs from the correctly rounded value: a named row (none is public yet bit for bit).

A profile maps ops to these; where it does not, a function is correctly rounded. `evaluate` takes the operands and the
rounding of the result. Profiles store the name only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from precdiff.formats import Array
from precdiff.registry import Registry
from precdiff.rounding import Rounding

APPROXIMATIONS: Registry[Approximation] = Registry("approximation")


@dataclass(frozen=True)
class Approximation:
    """One unit's algorithm for one function, and where it is written down."""

    name: str
    source: str
    #: the error it declares, in ulps of the result: the bound its results are judged by
    ulps: float
    evaluate: Callable[[Sequence[Array], Rounding], Array] = field(compare=False)

    def __post_init__(self) -> None:
        APPROXIMATIONS.add(self.name, self)

    def __call__(self, operands: Sequence[Array], rounding: Rounding) -> Array:
        return self.evaluate(operands, rounding)
