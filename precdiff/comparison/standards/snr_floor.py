"""Standard `snr-floor`: how far the signal-to-noise ratio lies below the best one the format allows.

    loss = 10 log10( sum e^2 / max( sum f^2, sum (0.29 ulp)^2 ) )      f what rounding the exact result once costs

0.29 ulp is the RMS of a rounding error (metrics/unavoidable.py), so the floor of values that are the format's own is
not zero. A loss above 20 dB fails, above 6 dB warns: PrecDiff's own numbers (a factor 10 and 2), no vendor states any.
"""

from __future__ import annotations

import math

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.metrics.unavoidable import EVEN_SPREAD
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard
from precdiff.comparison.whole import Counts, Decision, Energy, Sizes, Span, Whole, of_tensor
from precdiff.formats import Format

#: decibels
FAIL, WARN = 20.0, 6.0
_DB_AN_OCTAVE = 10.0 * math.log10(2.0)


def rule(limits: Limits, format: Format) -> str:
    """Say the rule."""
    return f"SNR at most {FAIL:g} dB below the best of {format}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements whose error is beyond what the loss allows on average."""
    most = 10.0 ** (FAIL / 20.0) * np.maximum(elements.floor, EVEN_SPREAD)
    return Judgement.of(elements.distance > most, elements.distance, most)


class Loss:
    """The loss of one tensor."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._noise, self._floor, self._even = Energy(), Energy(), Energy()

    def add(self, elements: Elements) -> None:
        """Take a chunk into account."""
        sizes = Sizes.of(elements)
        self._noise.add(sizes.error, sizes.error_high)
        spacing = np.broadcast_to(elements.spacing, elements.value.shape)
        even = EVEN_SPREAD * (spacing if elements.numbers is None else spacing[elements.numbers])
        floor = elements.floor * elements.spacing if elements.numbers is None else _rounding(elements)
        self._floor.add(floor, floor)
        self._even.add(even, even)

    def span(self) -> Span:
        """The loss in decibels, at least 0."""
        floor = max(self._floor.log2().low, self._even.log2().low)
        if floor == -math.inf:
            return Span(0.0, 0.0)
        low, high = (max(0.0, _DB_AN_OCTAVE * (noise - floor)) for noise in self._noise.log2())
        return Span(low, high)

    def decide(self, counts: Counts) -> Decision:
        """By the loss."""
        loss = self.span()
        warning = loss.high > WARN
        stated = f"{rule(Limits(), self._format)}: {loss} dB below" + (f", beyond the {WARN:g} dB that warn" * warning)
        return of_tensor(loss.within(FAIL), stated, counts, 10.0 ** ((loss.high - FAIL) / 20.0), warning)


def _rounding(elements: Elements) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray((elements.floor * elements.spacing)[elements.numbers])


def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
    """The loss decides."""
    return Loss(format)


ACCOUNT = Account(
    "signal-to-noise ratio, against that of the exact result rounded once",
    f"fails above {FAIL:g} dB below it, warns above {WARN:g} dB",
    "PrecDiff's own: a factor 10 and 2 in RMS error; a correctly rounded result has 73.5 dB in fp16, 55.5 in bf16, "
    "151.8 in fp32",
    "energy: small elements count for nothing beside large ones, and one wrong element in many costs little",
)
STANDARDS.add("snr-floor", Standard("snr-floor", rule, judge, ACCOUNT, whole, floats_only=True, takes=()))
