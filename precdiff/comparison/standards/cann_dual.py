"""Standards `cann-dual-l0`, `-l1`, `-l2`: errors held against those of a peer on the same inputs.

    where |r| >= small:   MARE, MERE and RMSE, each  own / max(peer's, small) <= the level's ratio
    where |r| <  small:   how many |a - r| > tiny,   own / max(peer's, 1) <= 2

with RE = |a - r| / (|r| + 1e-7). A case beyond a ratio is checked again over inputs of many seeds: it fails where the
95 % lower bound of the median ratio (2,000 resamples) is above 1, or where there are fewer than 200 runs. Levels, small
and tiny are those of CANN's operator accuracy standard; msprobe's standard_config.py and CANN's test kit
(`cross_check`) have the same ratios and the same floor under the peer's error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import STANDARDS, Account, Judgement, Limits, Standard, numbers_for, stated
from precdiff.comparison.whole import Counts, Decision, Outcome, Span, Whole, all_of, of_tensor
from precdiff.errors import NotComparableError
from precdiff.formats import Array, Format

#: level -> largest ratio of MARE, MERE, RMSE, and of the number of errors of small values
LEVELS = {"l0": (10.0, 2.0, 2.0, 2.0), "l1": (5.0, 1.5, 1.5, 2.0), "l2": (2.0, 1.2, 1.2, 2.0)}
NAMES = ("MARE", "MERE", "RMSE", "small values")
#: format -> (below which |expected| is small, error from which a small value counts)
SMALL = {
    "fp16": (2.0**-11, 2.0**-16),
    "bf16": (2.0**-8, 2.0**-16),
    "fp32": (2.0**-14, 2.0**-30),
    "hf32": (2.0**-12, 2.0**-28),
}
TINY = 1e-7
RUNS, ASKED, RESAMPLES = 200, 1000, 2000


def rule(limits: Limits, format: Format, level: str) -> str:
    """Say the rule."""
    ratios = ", ".join(f"{name} <= {limit:g}" for name, limit in zip(NAMES, LEVELS[level], strict=True))
    return f"errors in units of the peer's: {ratios}"


def judge(elements: Elements, limits: Limits) -> Judgement:
    """Mark the elements further off than the peer's; small ones also have to be off by more than counts."""
    small, tiny = numbers_for(SMALL, elements.format, "cann-dual")
    error, peers = np.abs(elements.error), np.abs(_known(elements.peer).error)
    allowed = np.where(np.abs(elements.truth) < small, np.maximum(peers, tiny), peers)
    return Judgement.of(error > allowed, error, allowed)


def _known(peer: Elements | None) -> Elements:
    """The peer's chunk, whose presence was checked before the first."""
    assert peer is not None
    return peer


class _Side:
    """Sums and maxima of one side's errors, a row a run, from low to high."""

    def __init__(self, runs: int) -> None:
        self._worst, self._sum, self._square, self._missed = (np.zeros((2, runs)) for _ in range(4))
        self._count = np.zeros(runs)

    def add(self, run: Array, truth: Array, error: Array, radius: Array, small: float, tiny: float) -> None:
        """Take elements into account; `run` says which run each is of, in ascending order."""
        size, large = np.abs(truth), np.abs(truth) >= small
        ids, starts = _segments(run[large])
        few, firsts = _segments(run[~large])
        self._count[ids] += np.diff(np.append(starts, np.count_nonzero(large)))
        for end, way in enumerate((-1.0, 1.0)):
            off = np.maximum(np.abs(error) + way * radius, 0.0)
            relative = off[large] / (np.maximum(size - way * radius, 0.0)[large] + TINY)
            if ids.size:
                self._worst[end, ids] = np.maximum(self._worst[end, ids], np.maximum.reduceat(relative, starts))
                self._sum[end, ids] += np.add.reduceat(relative, starts)
                with np.errstate(over="ignore"):  # a reference that knows nothing
                    self._square[end, ids] += np.add.reduceat(off[large] ** 2, starts)
            if few.size:
                self._missed[end, few] += np.add.reduceat((off[~large] > tiny).astype(np.float64), firsts)

    def figures(self) -> Array:
        """MARE, MERE, RMSE and the errors of small values: (2 ends, 4 figures, runs)."""
        count = np.maximum(self._count, 1.0)
        return np.stack([self._worst, self._sum / count, np.sqrt(self._square / count), self._missed], axis=1)


def _segments(run: Array) -> tuple[Array, Array]:
    """The runs that occur in an ascending row, and where each starts."""
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    return run[starts], starts


@dataclass
class Dual:
    """Both sides over one tensor, or over the runs along its first axis."""

    format: Format
    level: str
    shape: tuple[int, ...]
    runs: bool

    def __post_init__(self) -> None:
        if self.runs and not self.shape:
            raise NotComparableError("runs are counted along the first axis, found a scalar")
        self._runs = self.shape[0] if self.runs else 1
        self._small, self._tiny = numbers_for(SMALL, self.format, "cann-dual")
        self._own, self._peer = _Side(self._runs), _Side(self._runs)

    def add(self, elements: Elements) -> None:
        """Take a chunk into account: elements that are numbers on all sides."""
        peer = _known(elements.peer)
        keep = np.ones(len(elements), bool)
        for numbers in (elements.numbers, peer.numbers):
            keep &= True if numbers is None else numbers
        start, size = elements.chunk.start, max(1, int(np.prod(self.shape)) // max(self._runs, 1))
        run = ((start + np.arange(len(elements))) // size)[keep]
        radius = np.zeros(1) if elements.radius is None else elements.radius
        radius = np.broadcast_to(radius, keep.shape)[keep]
        for side, of in ((self._own, elements), (self._peer, peer)):
            side.add(run, elements.truth[keep], of.error[keep], radius, self._small, self._tiny)

    def ratios(self) -> tuple[Array, Array]:
        """Each figure over the peer's, from low to high: (4 figures, runs)."""
        own, peers = self._own.figures(), self._peer.figures()
        floor = np.array([self._small] * 3 + [1.0])[:, None]
        with np.errstate(over="ignore"):
            return own[0] / np.maximum(peers[1], floor), own[1] / np.maximum(peers[0], floor)

    def decide(self, counts: Counts) -> Decision:
        """By the ratios, and where a run is beyond them by the medians of all."""
        low, high = self.ratios()
        limits = np.array(LEVELS[self.level])
        outcome = _within(low, high, limits)
        found = ", ".join(
            f"{n} {Span(*e)}" for n, e in zip(NAMES, zip(low.max(1), high.max(1), strict=True), strict=True)
        )
        said = f"{rule(Limits(), self.format, self.level)}: {found}"
        if outcome != "pass":
            outcome, again = self._again(low, high, outcome)
            said += f"; {again}"
        return of_tensor(outcome, said, counts, float((high.max(1) / limits).max()))

    def _again(self, low: Array, high: Array, outcome: Outcome) -> tuple[Outcome, str]:
        """The second check, over the runs."""
        if not self.runs:
            return outcome, f"no second check: its {ASKED:,} runs were not given (--runs)"
        if self._runs < RUNS:
            return "fail", f"second check: {self._runs} runs, fewer than {RUNS} fail"
        bounds = [_lower_bounds(*ends) for ends in zip(low, high, strict=True)]
        stated = ", ".join(f"{name} {bound}" for name, bound in zip(NAMES, bounds, strict=True))
        return all_of(
            [b.within(1.0) for b in bounds]
        ), f"95 % lower bounds of the medians of {self._runs} runs: {stated}"


def _within(low: Array, high: Array, limits: Array) -> Outcome:
    """Whether every run is within every ratio."""
    if (high <= limits[:, None]).all():
        return "pass"
    return "undecided" if (low <= limits[:, None]).all() else "fail"


def _lower_bounds(low: Array, high: Array) -> Span:
    """Where the reference is exact the two ends are one."""
    first = lower_bound(low)
    return Span(first, first if np.array_equal(low, high) else lower_bound(high))


def lower_bound(ratios: Array) -> float:
    """The 2.5 % point of the medians of resamples with replacement.

    >>> lower_bound(np.full(200, 1.25))
    1.25
    """
    rng, size = np.random.default_rng(0), ratios.size
    medians = [np.median(ratios[rng.integers(0, size, size)]) for _ in range(RESAMPLES)]
    return float(np.percentile(medians, 2.5))


def _standard(level: str) -> Standard:
    def whole(limits: Limits, format: Format, shape: tuple[int, ...]) -> Whole:
        if limits.peer is None:
            raise NotComparableError(
                f"standard 'cann-dual-{level}' compares with what a peer gave on the same inputs, found none. Pass it: "
                "--peer FILE (peer= in Python), in the format and shape of ACTUAL"
            )
        return Dual(format, level, shape, limits.runs)

    def said(limits: Limits, format: Format) -> str:
        return rule(limits, format, level)

    mare, mere, rmse, _ = LEVELS[level]
    account = Account(
        "largest, mean and RMS error at most so many times a peer's on the same inputs (--peer), with a second check",
        f"MARE {mare:g}, MERE {mere:g}, RMSE {rmse:g} times, errors of small values 2 times; small: "
        + ", ".join(f"{name} {stated(small)}" for name, (small, _) in SMALL.items()),
        "CANN operator accuracy standard (commercial), levels L0 to L2",
        "the peer: what it gets wrong too passes; errors below the floor count as the floor",
    )
    return Standard(f"cann-dual-{level}", said, judge, account, whole, floats_only=True, takes=("peer", "runs"))


for _level in LEVELS:
    STANDARDS.add(f"cann-dual-{_level}", _standard(_level))
