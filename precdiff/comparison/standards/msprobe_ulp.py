"""Standard `msprobe-ulp`: the ULP rule of msprobe's API accuracy checker.

    fp16, bf16: |error| > 1 ULP in less than 0.1 % of the elements
    fp32:       mean |error| < 64 ULP, or |error| > 32 ULP in less than 5 %
    either:     or the share is below a peer's, own / max(peer's, floor) < 1

Any one suffices. ULP as here, 2^(e - mantissa bits) at the expected value, the exponent not below the smallest normal;
but at an expected 0 msprobe takes e = 0.
Numbers: msprobe 26.2.0, precision_standard/standard_config.py and ulp_compare.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, numbers_for
from precdiff.comparison.whole import Beyond, Counts, Decision, Mean, Outcome, Span, Whole, any_of, of_tensor
from precdiff.formats import Array, Format


class Row(NamedTuple):
    """From how many ULP an element counts, which share may, what mean is enough, and the floor under a peer's share."""

    ulps: float
    share: float
    mean: float | None
    floor: float


TABLE = {
    "fp16": Row(1.0, 0.001, None, 2.0**-11),
    "bf16": Row(1.0, 0.001, None, 2.0**-8),
    "fp32": Row(32.0, 0.05, 64.0, 2.0**-14),
}


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    row = numbers_for(TABLE, format, "msprobe-ulp")
    mean = "" if row.mean is None else f"mean error < {row.mean:g} ULP, or "
    return f"{mean}more than {row.ulps:g} ULP in less than {row.share:g} of the elements"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements that count."""
    most = numbers_for(TABLE, elements.format, "msprobe-ulp").ulps
    error = np.where(elements.truth == 0.0, _at_zero(elements), elements.distance)
    return Judgement.of(error > most, error, most)


def _at_zero(elements: Elements) -> Array:
    """|error| in msprobe's ULP of an expected 0."""
    return np.abs(elements.error) * 2.0 ** (elements.format.p - 1)


def _ends(elements: Elements) -> tuple[Array, Array]:
    """|error| in ULP of the numbers, from low to high; an expected value that may be 0 has either ULP."""
    distance, radius = elements.distance, 0.0 if elements.radius is None else elements.radius
    low, high = (distance - elements.slack).clip(min=0.0), distance + elements.slack
    low = np.where(np.abs(elements.truth) <= radius, np.minimum(low, _at_zero(elements)), low)
    high = np.where((elements.truth == 0.0) & (radius == 0.0), _at_zero(elements), high)
    numbers = elements.numbers
    return (low, high) if numbers is None else (low[numbers], high[numbers])


class Shares:
    """Share and mean of one tensor, and the peer's share."""

    def __init__(self, format: Format, peer: bool) -> None:
        self._format, self._row = format, numbers_for(TABLE, format, "msprobe-ulp")
        self._mean, self._own = Mean(), Beyond()
        self._peers = Beyond() if peer else None

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        ends, most = _ends(elements), self._row.ulps
        self._mean.add(*ends)
        self._own.add(*ends, most, most)
        if self._peers is not None and elements.peer is not None:
            self._peers.add(*_ends(elements.peer), most, most)

    def decide(self, counts: Counts) -> Decision:
        """Any clause is enough."""
        share, mean = self._own.share(), self._mean.span()
        clauses: list[Outcome] = [share.within(self._row.share, strict=True)]
        found = f"share {share}, mean {mean} ULP"
        if self._row.mean is not None:
            clauses.append(mean.within(self._row.mean, strict=True))
        if self._peers is not None:
            ratio = self._ratio(share, self._peers.share())
            clauses.append(ratio.within(1.0, strict=True))
            found += f", {ratio} of the peer's share"
        return of_tensor(
            any_of(clauses), f"{rule(Limits(), self._format)}: {found}", counts, share.high / self._row.share
        )

    def _ratio(self, own: Span, peers: Span) -> Span:
        return Span(own.low / max(peers.high, self._row.floor), own.high / max(peers.low, self._row.floor))


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """The shares decide."""
    return Shares(format, limits.peer is not None)


ACCOUNT = Account(
    "a share of elements beyond some ULP; with --peer a share below the peer's is enough",
    "fp16, bf16: > 1 ULP in less than 0.001; fp32: mean < 64 ULP, or > 32 ULP in less than 0.05",
    "msprobe 26.2.0, api_accuracy_checker/precision_standard",
    "the size of what is beyond: 60 wrong values of 65,536 pass in fp16; every fp32 value off by 63 ULP passes",
)
STANDARDS.add("msprobe-ulp", Standard("msprobe-ulp", rule, judge, ACCOUNT, whole, floats_only=True, takes=("peer",)))
