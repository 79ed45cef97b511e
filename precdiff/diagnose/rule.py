"""A rule looks at the evidence and names hypotheses; each hypothesis comes with the Change that would prove it.

A cause may also have an imitation: what a device that has it would give, as Changes of the declared run, and how it is
recognised where none of them gives the very bits. `find` explains a run that is as declared; imitations explain a
device that departs from it.

One file a cause in rules/. Rules are definitions by measurable evidence, nothing is fitted. `rank` orders rules whose
proofs succeed alike: the more specific cause (fewer traces satisfy its evidence) comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Standing
from precdiff.registry import Registry
from precdiff.trace import Change, Region

Changes = Mapping[str | Region, Change]


@dataclass(frozen=True)
class Hypothesis:
    """`changes` are tried in order until one verifies; `step` is the region's root, or its reader with exit `wide`."""

    step: str
    region: Region
    born_at: Sequence[str]
    changes: Sequence[Changes]
    remedy: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    chain: Sequence[str] = ()
    #: what the rule measured itself, where no change can prove it
    standing: Standing = "insufficient"


@dataclass(frozen=True)
class CauseRule:
    """The rule of one cause."""

    cause: str
    rank: int
    groups: tuple[str, ...]
    definition: str
    #: tried only where no other rule is proven
    fallback: bool
    #: the step it blames is the root of the smallest proven region: were it further in, a smaller one would do
    at_root: bool
    #: a finding of it blames nobody, so no other is sought
    excuses: bool
    find: Callable[[Evidence], Iterable[Hypothesis]]


RULES: Registry[CauseRule] = Registry("cause", "precdiff.diagnose.rules")


def cause_rule(  # noqa: PLR0913 - the fields of a CauseRule
    cause: str, *, rank: int, groups: tuple[str, ...] = ("finite",), definition: str, fallback: bool = False,
    at_root: bool = False, excuses: bool = False,
) -> Callable[[Callable[[Evidence], Iterable[Hypothesis]]], CauseRule]:  # fmt: skip
    """Register the decorated function as the rule of `cause`."""

    def add(find: Callable[[Evidence], Iterable[Hypothesis]]) -> CauseRule:
        return RULES.add(cause, CauseRule(cause, rank, groups, definition, fallback, at_root, excuses, find))

    return add


#: a deviating step -> changes that would make the declared arithmetic give what the device gave, likeliest first
Imitating = Callable[[Deviation], Iterable[Changes]]


@dataclass(frozen=True)
class Digits:
    """Changes by a number of significand bits, `fewest` to `most`: none is listed, the number is measured."""

    at: Callable[[int], Changes]
    fewest: int
    most: int


#: a deviating step -> what of it may have a number of digits of its own
Measuring = Callable[[Deviation], Iterable[Digits]]


def _nothing(found: Deviation) -> Iterable[Digits]:
    return ()


@dataclass(frozen=True)
class Imitation:
    """What a device with this cause would give. `recognised`: why the evidence alone points to it, else empty;
    `digits`: changes whose number of digits is to be measured.
    """

    cause: str
    rank: int
    remedy: str
    changes: Imitating
    recognised: Callable[[Deviation], str]
    digits: Measuring = _nothing


IMITATIONS: Registry[Imitation] = Registry("imitation", "precdiff.diagnose.rules")


def imitation(
    cause: str, *, rank: int, remedy: str, recognised: Callable[[Deviation], str], digits: Measuring = _nothing
) -> Callable[[Imitating], Imitation]:
    """Register the decorated function as what `cause` does to a step."""

    def add(changes: Imitating) -> Imitation:
        return IMITATIONS.add(cause, Imitation(cause, rank, remedy, changes, recognised, digits))

    return add
