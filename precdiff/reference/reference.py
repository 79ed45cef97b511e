"""A reference: the reals a tensor should have held, each with a radius, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from precdiff.formats import Format
from precdiff.machine import RealArray
from precdiff.machine.realarray import FINITE, UNKNOWN

Status = Literal["certified", "estimated", "undecided"]

#: the radius may change the ULP figure by no more than this (DESIGN 3, "Certified")
TOLERATED_ULP = 0.01


@dataclass(frozen=True)
class Reference:
    """Values with radius; the highest rung used and its bits; `checked` outputs re-computed by mpmath."""

    values: RealArray
    backend: str
    bits: int
    status: Status
    checked: int = 0

    def with_checked(self, count: int) -> Reference:
        """The same with the number of spot checks made."""
        return Reference(self.values, self.backend, self.bits, self.status, count)


def undecided(values: RealArray, format: Format) -> np.ndarray:
    """Where the radius is too wide for the format: more than 0.01 ULP, or any doubt about an integer or a boolean."""
    if format.is_float:
        return np.asarray(values.radius_ulp(format) > TOLERATED_ULP)
    return np.asarray((values.kind == UNKNOWN) | ((values.kind == FINITE) & (values.radius > 0)))
