"""Adversarial search: the inputs on which a kernel is most wrong, by evolution in ordinal space.

In ordinals (the numbers of a format counted in order) a step of 1 is the next number, a step of 2^(p-1) the next power
of two: one mutation serves all magnitudes. An archive keeps the worst point of each niche (signs and magnitudes), so
that one bad region does not crowd out the others; children are copies of archived points with a few values moved,
swapped, equated or negated. A kernel whose points can all be tried within the budget is searched exhaustively, and the
answer says so.

The search starts from the data classes. It climbs certain lower bounds (scoring.py); the worst points it ends with are
judged by the certified reference.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.diagnose.judgement import Judgement
from precdiff.errors import PrecDiffError
from precdiff.formats import Array, Format, carrier, get_format, native, ulp_error
from precdiff.generate.cases import HUNTED, DataCase, data_cases
from precdiff.generate.mutation import Space, children
from precdiff.generate.scoring import Scorer, Scores, scorer_of, typical_points
from precdiff.generate.subject import Shape, subject_of
from precdiff.generate.target import target_kernel
from precdiff.machine.realarray import FINITE

#: evaluations without a budget
EVALUATIONS = 200_000
#: elements of one batch, and of points at least so many
_BATCH, _LEAST = 65_536, 64
#: of the budget, the share for the data classes and for random points
_SEEDS, _RANDOM = 0.1, 0.1
_ARCHIVE = 512
_KEPT = 64


@dataclass(frozen=True)
class Hunt:
    """What a search found: points (count, *shape) by input in the ecosystem's dtypes, the worst first.

    `ulp` is the certified error of each. `nonfinite` are points with a result that is infinite or NaN where the rounded
    ideal is not, or the other way round; `nonfinite_count` of `evaluations` were. `exhaustive`: nothing is left to try.
    """

    worst: Mapping[str, np.ndarray]
    ulp: np.ndarray
    nonfinite: Mapping[str, np.ndarray]
    nonfinite_count: int
    evaluations: int
    seconds: float
    exhaustive: bool
    #: whether the points stand side by side in one input, as the kernel takes them
    together: bool = True

    @property
    def max_ulp(self) -> float:
        """The largest certified error; 0 where no result was finite."""
        return float(self.ulp[0]) if self.ulp.size else 0.0


def hunt(  # noqa: PLR0913 - a target, how long, and where
    target: Any, *, format: str | Format = "fp16", evaluations: int | None = None, seconds: float | None = None,
    seed: int = 0, shape: Shape | Mapping[str, Shape] | None = None, options: Mapping[str, Any] | None = None,
    profile: str | DeviceProfile = "ieee",
) -> Hunt:  # fmt: skip
    """Search for the inputs with the largest ULP error, for so many evaluations or seconds (default: 200,000).

    The same evaluations and seed give the same answer; seconds depend on the machine. `target`, `shape`: `data_cases`.

    >>> hunt("exp", format="e5m2").exhaustive
    True
    """
    _check(evaluations, seconds)
    kernel, row = target_kernel(target), get_format(format)
    if not row.is_float:
        raise PrecDiffError(f"hunt: found the format {row.name}; allowed are float formats, whose errors have an ulp")
    subject = subject_of(kernel, row, shape, seed=seed, options=options or {}, profile=profile)
    limit = evaluations if evaluations is not None else EVALUATIONS if seconds is None else None
    return _Search(scorer_of(subject), limit, math.inf if seconds is None else seconds).run()


def hunted_cases(found: Hunt) -> list[DataCase]:
    """What a search found, as cases of a class of their own: the worst points, and those wrongly infinite or NaN."""
    worst = f"the worst of {found.evaluations:,} inputs tried, up to {found.max_ulp:.4g} ULP"
    wrong = (
        f"a result is infinite or NaN where it should not be, or the other way round: {found.nonfinite_count:,} found"
    )
    rows = [*_as_cases("worst", found.worst, worst, found.together)]
    return [*rows, *_as_cases("nonfinite", found.nonfinite, wrong, found.together)]


def _as_cases(name: str, points: Mapping[str, np.ndarray], note: str, together: bool) -> Iterator[DataCase]:
    count = max(map(len, points.values()), default=0)
    if together and count:
        yield DataCase(f"{HUNTED}-{name}", HUNTED, points, note)
    for number in range(0 if together else count):
        yield DataCase(f"{HUNTED}-{name}-{number}", HUNTED, {n: a[number] for n, a in points.items()}, note)


def _check(evaluations: Any, seconds: Any) -> None:
    if evaluations is not None and (type(evaluations) is not int or evaluations < 1):
        raise PrecDiffError(f"evaluations: found {evaluations!r}; allowed is a whole number of at least 1")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        raise PrecDiffError(f"seconds: found {seconds!r}; allowed is a finite number above 0")


@dataclass
class _Search:
    """One search while it goes on; points are rows of ordinals (mutation.Space)."""

    scorer: Scorer
    limit: int | None
    seconds: float
    started: float = field(default_factory=time.monotonic)
    bad: list[Array] = field(default_factory=list)
    bad_count: int = 0

    def __post_init__(self) -> None:
        subject = self.scorer.subject
        varied = {n: s for n, s in self.scorer.shapes.items() if subject.formats[n].is_float}
        self.space = Space(varied, {n: subject.formats[n] for n in varied})
        typical = typical_points(subject, self.scorer.shapes, 1, "fixed")
        self.fixed = {name: values for name, values in typical.items() if name not in varied}
        self.rng = subject.rng("hunt")
        self.points, self.ulp = np.zeros((0, self.space.width), np.int64), np.zeros(0)
        self.batch = max(_LEAST, _BATCH // max(self.space.width, 1)) if self.scorer.batched else _LEAST

    def run(self) -> Hunt:
        """Search until the budget is spent."""
        every = self.space.every(self.limit or EVALUATIONS)
        if every is not None:
            self._try_all(every)
            return self._found(exhaustive=not self._spent())
        self._try_all(self._seeds())
        self._try_all(self._random(self._share(_RANDOM)))
        while not self._spent():
            self._try(children(self.space, self.points, self.batch, self.rng))
        return self._found(exhaustive=False)

    def _spent(self) -> bool:
        done = self.limit is not None and self.scorer.evaluations >= self.limit
        return done or time.monotonic() - self.started > self.seconds

    def _share(self, share: float) -> int:
        return max(int(share * (self.limit or EVALUATIONS)), 1)

    def _seeds(self) -> Array:
        subject = self.scorer.subject
        cases = data_cases(
            subject.kernel, format=subject.common, seed=subject.seed, shape=subject.shapes, options=subject.options
        )
        rows = [self.space.rows({n: carrier(c.inputs[n]) for n in self.space.shapes}) for c in cases]
        found = np.unique(np.concatenate([r for r in rows if r is not None]), axis=0)
        return self.rng.permutation(found)[: self._share(_SEEDS)]

    def _random(self, count: int) -> Array:
        """Half of them as the examples have them, half of random magnitudes."""
        subject, scorer = self.scorer.subject, self.scorer
        typical = typical_points(subject, scorer.shapes, max(count // 2, 1), "typical")
        drawn = self.space.rows({n: typical[n] for n in self.space.shapes})
        assert drawn is not None  # they have the shape of points
        return np.concatenate([drawn, self.space.random(count - count // 2, self.rng)])

    def _try_all(self, points: Array) -> None:
        for start in range(0, len(points), self.batch):
            if self._spent():
                return
            self._try(points[start : start + self.batch])

    def _try(self, points: Array) -> None:
        room = len(points) if self.limit is None else self.limit - self.scorer.evaluations
        points = points[: max(room, 0)]
        scores = self.scorer(self._values(points))
        self._note_nonfinite(points, scores)
        self._archive(points, scores.ulp)

    def _values(self, points: Array) -> dict[str, Array]:
        held = {n: np.repeat(a, len(points), axis=0) for n, a in self.fixed.items()}
        return {**self.space.values(points), **held}

    def _note_nonfinite(self, points: Array, scores: Scores) -> None:
        self.bad_count += int(np.count_nonzero(scores.nonfinite))
        if sum(map(len, self.bad)) < _KEPT:
            self.bad.append(points[scores.nonfinite][:_KEPT])

    def _archive(self, points: Array, ulp: Array) -> None:
        """Keep the worst point of each niche, and of the niches the worst."""
        points, ulp = np.concatenate([self.points, points]), np.concatenate([self.ulp, ulp])
        order = np.argsort(-ulp, kind="stable")
        _, first = np.unique(self.space.niches(points[order]), return_index=True)
        chosen = order[np.sort(first)[:_ARCHIVE]]
        self.points, self.ulp = points[chosen], ulp[chosen]

    def _found(self, exhaustive: bool) -> Hunt:
        some = self.points[self.ulp > 0][:_KEPT]
        certified = np.array([self._certified(row) for row in some])
        order = np.argsort(-certified, kind="stable")
        bad = np.concatenate([*self.bad, np.zeros((0, self.space.width), np.int64)])[:_KEPT]
        return Hunt(
            self._native(some[order]), certified[order], self._native(bad), self.bad_count, self.scorer.evaluations,
            time.monotonic() - self.started, exhaustive, self.scorer.batched,
        )  # fmt: skip

    def _native(self, points: Array) -> dict[str, Array]:
        return {n: native(a, self.scorer.subject.formats[n]) for n, a in self._values(points).items()}

    def _certified(self, point: Array) -> float:
        """The largest ULP error of one point against the certified reference."""
        run = self.scorer.subject.run(self.scorer.at(self._values(point[None]), 0))
        found = [0.0]
        for id, made in Judgement(run.trace, run.kernel).intended.items():
            exact, values = made.values, run.trace.values[id]
            usable = (exact.kind == FINITE) & np.isfinite(np.asarray(values, np.float64))
            if usable.any() and get_format(run.trace.formats[id]).is_float:
                pair = exact.hi[usable], exact.lo[usable]
                found.append(float(np.max(ulp_error(values[usable], pair, run.trace.formats[id]))))
        return max(found)
