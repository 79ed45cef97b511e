"""What the user may say of a judgement: the standard, its limits, what a peer gave, the reference's backend.

A setting the standard does not read is an error: nobody should think it counted.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from precdiff.comparison import TOLERANCES, Limits, TensorLimit, check_taken, get_standard, limit_of
from precdiff.errors import NotComparableError, PrecDiffError


@dataclass(frozen=True)
class Settings:
    """What the user may override."""

    standard: str = "auto"
    max_ulp: float | None = None
    rtol: float | None = None
    atol: float | None = None
    zero_atol: float = 0.0
    allow_fraction: float | None = None
    #: the function computed, for standards with a limit by function; else a tensor's own op
    op: str = ""
    #: name of a tensor -> values and format; a single one without a name stands for every tensor
    peers: Mapping[str, tuple[np.ndarray, str]] = field(default_factory=dict)
    #: whether the first axis counts runs of one case
    runs: bool = False
    backend: str = "auto"
    #: limits of single tensors; where the settings themselves state one, that wins and these do not count
    tensor_limits: Sequence[TensorLimit] = ()

    def __post_init__(self) -> None:
        for name in TOLERANCES:
            given = getattr(self, name)
            if given is not None and not (isinstance(given, numbers.Real) and given >= 0):  # type: ignore[operator]
                raise PrecDiffError(f"{name}: found {given!r}; allowed is a number of at least 0")

        self._check_taken()

    def _check_taken(self) -> None:
        """Raise where something was given that the standard does not read."""
        given = {name: getattr(self, name) is not None for name in TOLERANCES}
        given |= {"zero_atol": self.zero_atol > 0.0, "op": bool(self.op), "runs": self.runs, "peer": bool(self.peers)}
        check_taken(get_standard(self.standard), **given)

    @property
    def stated(self) -> bool:
        """Whether standard or limits were given for all tensors; zero_atol excuses and is no limit."""
        return self.standard != "auto" or any(
            getattr(self, name) is not None for name in set(TOLERANCES) - {"zero_atol"}
        )

    def of(self, id: str, name: str, layer: str) -> Settings:
        """The settings that hold for one tensor."""
        row = None if self.stated else limit_of(self.tensor_limits, id, name, layer)
        if row is None:
            return self
        return replace(self, standard=row.standard or self.standard, max_ulp=row.max_ulp, tensor_limits=())

    def limits(self, **found: Any) -> Limits:
        """The limits of a tensor; what the user gave wins over what was found."""
        given = {name: getattr(self, name) for name in TOLERANCES if getattr(self, name) is not None}
        given |= {"runs": self.runs} | ({"op": self.op} if self.op else {})
        return Limits(**{**found, **given})

    def peer(self, name: str, format: str) -> np.ndarray | None:
        """What the peer gave for a tensor, in its format."""
        found = self.peers.get(name) or (self.peers.get("") if len(self.peers) == 1 else None)
        if found is None:
            return None
        values, given = found
        if given != format:
            raise NotComparableError(f"the peer of {name or 'the tensor'} is {given}, the actual values are {format}")
        return values
