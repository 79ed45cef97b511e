"""How many digits, where nobody lists the number: measured by halving.

A step kept in p digits moves the results twice as far as one in p + 1. So of the deviation's energy imitation leaves

    far more than all of it   where p is too few (5 times as much with one digit too few, were the errors independent),
    nothing                   where p is the device's,
    about all of it           where p is too many (5/4 with one digit too many, 1 where p moves nothing).

The smallest p that leaves no more than about all is sought by bisection. Few results may mislead it by a digit or two,
so its neighbours are tried as well, more of them where some of the energy is explained. It knows no cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from precdiff.diagnose.departure import Imitated
from precdiff.diagnose.rule import Changes, Digits

#: of the deviation's energy, more than what is left with too many digits, less than with too few
_MORE = 1.5
#: neighbours tried on either side: where the bisection's end explains nothing, and where it explains some
_FEW, _SOME = 2, 6

Trial = Callable[[Changes], Imitated | None]


def measured(digits: Digits, trial: Trial) -> tuple[Imitated | None, int]:
    """(the imitation in the number of digits that comes nearest, how many were replayed)."""
    tried = _Tried(digits, trial)
    low, high = digits.fewest, digits.most
    while low < high and not tried.found:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if tried.left(middle) > _MORE else (low, middle)
    around = _SOME if tried.left(low) < 1 else _FEW
    for p in sorted(range(low - around, low + around + 1), key=lambda p: abs(p - low)):
        if digits.fewest <= p <= digits.most and not tried.found:
            tried.left(p)
    return tried.nearest, len(tried.made)


@dataclass
class _Tried:
    """What came of each number of digits."""

    digits: Digits
    trial: Trial
    made: dict[int, Imitated | None] = field(default_factory=dict)

    def left(self, p: int) -> float:
        if p not in self.made:
            self.made[p] = self.trial(self.digits.at(p))
        one = self.made[p]
        return float("inf") if one is None else one.left

    @property
    def nearest(self) -> Imitated | None:
        known = (one for one in self.made.values() if one is not None)
        return min(known, key=lambda one: (one.differing > 0, one.left), default=None)

    @property
    def found(self) -> bool:
        return self.nearest is not None and self.nearest.differing == 0
