"""How wrong a kernel is on many independent inputs at once, fast: what the adversarial search climbs.

A point is one instance of the problem: a value an input where the kernel works by elements, a row an input where rows
do not touch one another, else whole arrays. Points stand side by side along a new first axis; that they do not touch
one another is tried, not assumed.

    score = (|a - r| - radius) / ulp(r)     the least error a can have, r enclosed by fp64 intervals

so that a wide enclosure never passes for a large error. A result that is finite where the rounded ideal is not, or the
other way round, has no error in ULP; it is told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from precdiff.diagnose.judgement import Judgement
from precdiff.errors import PrecDiffError
from precdiff.formats import Array, get_format, quantum
from precdiff.generate.subject import Shape, Subject
from precdiff.kernels import Run
from precdiff.machine import IntervalMachine, RealArray
from precdiff.machine.realarray import FINITE, UNKNOWN
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Trace, evaluate

Points = Mapping[str, Array]

#: points of the trial that shows they are independent
_TRIAL = 3


@dataclass(frozen=True)
class Scores:
    """For every point: its largest certain ULP error, and whether a result is non-finite where it should not be."""

    ulp: Array
    nonfinite: Array


@dataclass
class Scorer:
    """Scores points of a subject; `shapes` are those of one point's inputs, `batched` whether points go together."""

    subject: Subject
    shapes: Mapping[str, Shape]
    batched: bool
    evaluations: int = field(default=0)

    def __call__(self, points: Points) -> Scores:
        """The scores of points, (count, *shape) carriers by input."""
        count = len(next(iter(points.values())))
        self.evaluations += count
        with np.errstate(all="ignore"):
            if self.batched:
                return _scores(self.subject, self.subject.run(points), count)
            single = [_scores(self.subject, self.subject.run(self.at(points, i)), 1) for i in range(count)]
        return Scores(np.concatenate([s.ulp for s in single]), np.concatenate([s.nonfinite for s in single]))

    def at(self, points: Points, place: int) -> dict[str, Array]:
        """One point as the kernel takes it."""
        chosen = {n: a[place : place + 1] for n, a in points.items()}
        return chosen if self.batched else {n: a[0] for n, a in chosen.items()}


def scorer_of(subject: Subject) -> Scorer:
    """The scorer with the smallest points that are independent."""
    if subject.is_elementwise:
        return Scorer(subject, dict.fromkeys(subject.shapes, ()), True)
    rows = {n: s[1:] if n in subject.main else s for n, s in subject.shapes.items()}
    whole = dict(subject.shapes)
    most = max(map(len, rows.values()))
    for shapes in (rows, whole) if most else (whole,):
        if _independent(subject, shapes):
            return Scorer(subject, shapes, True)
    return Scorer(subject, whole, False)


def typical_points(subject: Subject, shapes: Mapping[str, Shape], count: int, stream: str) -> dict[str, Array]:
    """`count` points as the kernel's examples have them, in carriers."""
    spread = {n: (count, *shape) for n, shape in shapes.items()}
    return replace(subject, shapes=spread, seed=int(subject.rng(stream).integers(2**31))).typical


def _independent(subject: Subject, shapes: Mapping[str, Shape]) -> bool:
    """Whether each of a few points gives the bits it gives alone."""
    points = typical_points(subject, shapes, _TRIAL, "independent")
    try:
        together = subject.run(points).outputs
        alone = [subject.run({n: a[i : i + 1] for n, a in points.items()}).outputs for i in range(_TRIAL)]
    except PrecDiffError:
        return False
    return all(
        together[name].shape[:1] == (_TRIAL,)
        and together[name].tobytes() == b"".join(np.ascontiguousarray(one[name]).tobytes() for one in alone)
        for name in together
    )


def _scores(subject: Subject, run: Run, count: int) -> Scores:
    intended = Judgement(run.trace, subject.kernel).reference_trace() or run.trace
    ulp, nonfinite = np.zeros(count), np.zeros(count, bool)
    for name, id in run.trace.outputs.items():
        if get_format(run.trace.formats[id]).is_float:
            found = _of_output(run.trace.values[id], _enclosed(intended, name), run.trace.formats[id])
            ulp = np.maximum(ulp, found.ulp.reshape(count, -1).max(axis=1, initial=0.0))
            nonfinite |= found.nonfinite.reshape(count, -1).any(axis=1)
    return Scores(ulp, nonfinite)


def _enclosed(trace: Trace, output: str) -> RealArray:
    """The ideal values of an output, by intervals."""
    machine, tensor = IntervalMachine(), trace.outputs[output]
    return machine.reals(evaluate(trace, machine, [tensor])[tensor])


def _of_output(actual: Array, ideal: RealArray, format: str) -> Scores:
    row = get_format(format)
    values = np.asarray(actual, np.float64)
    wanted = round_array(ideal.values(), Rounding(row))
    known, both = ideal.kind != UNKNOWN, np.isfinite(values) & np.isfinite(wanted) & (ideal.kind == FINITE)
    least = np.abs((values - ideal.hi) - ideal.lo) - ideal.radius
    ulp = np.where(both, np.maximum(least, 0.0) / quantum(np.where(both, ideal.hi, 1.0), row), 0.0)
    same = (values == wanted) | (np.isnan(values) & np.isnan(wanted))
    return Scores(ulp, known & ~both & ~same)
