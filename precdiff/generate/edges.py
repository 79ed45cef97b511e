"""Edges: neighbouring numbers of a format between which a step of an elementwise kernel changes its kind of result.

Kinds are NaN, infinity, normal, subnormal and zero, each of either sign. Where log(x) becomes NaN is the edge of its
domain; where exp(y log x) becomes infinite is the edge of a power's range. Nothing is known of the functions: lines of
points are run, all inputs but one fixed, and where the kinds of two points on a line differ the edge between them is
bisected in ordinals, all edges at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from precdiff.formats import Array, Format, from_ordinal, get_format, ordinal
from precdiff.generate.subject import Subject
from precdiff.ops import Elementwise
from precdiff.ops.op import OPS

_NAN, _INFINITE, _NORMAL, _SUBNORMAL, _ZERO = range(5)

#: lines of points an input, and points on each; fp64, whose functions are a hundred times as slow, gets fewer
_LINES, _POINTS = 24, 300
_FEW_LINES, _FEW_POINTS = 4, 60
_AROUND_ONE = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Edges:
    """Pairs of points by input, `below` and `above` (carriers, equally long), and the kinds of results at both.

    The kinds are (results, edges); the last `outputs` of the results are the kernel's own.
    """

    below: dict[str, Array]
    above: dict[str, Array]
    low: Array
    high: Array
    outputs: int

    def of(self, change: str, most: int) -> dict[str, Array]:
        """Points on both sides of at most `most` edges of that sort: those of an output, then of inner steps."""
        changed = _changed(self.low, self.high, change)
        outer = changed[-self.outputs :].any(axis=0)
        found = _spread(np.flatnonzero(outer), most)
        inner = _spread(np.flatnonzero(changed.any(axis=0) & ~outer), most - found.size)
        found = np.concatenate([found, inner])
        return {name: np.concatenate([low[found], self.above[name][found]]) for name, low in self.below.items()}


#: sort of change -> what it says of the points
CHANGES: Mapping[str, str] = {
    "domain": "becomes NaN.",
    "overflow": "leaves the format's range at the top.",
    "underflow": "becomes subnormal or 0.",
    "zero": "changes its sign or is 0; where terms cancel.",
}


def edges(subject: Subject) -> Edges:
    """All edges on some lines along every input."""
    parts = [_along(subject, name) for name in subject.shapes]
    below, above = ({n: np.concatenate([p[side][n] for p in parts]) for n in subject.shapes} for side in (0, 1))
    outputs = len(subject.output_formats())
    return Edges(below, above, _kinds(subject, below), _kinds(subject, above), outputs)


def _spread(found: Array, most: int) -> Array:
    """At most so many of them, evenly."""
    return found if found.size <= most else found[np.linspace(0, found.size - 1, max(most, 0)).round().astype(int)]


def grid(format: Format, count: int) -> Array:
    """`count` ordinals from the smallest to the largest, infinities included; all of a small format."""
    last = int(ordinal(np.inf if format.has_inf else format.max_finite, format))
    if 2 * last + 1 <= count:
        return np.arange(-last, last + 1)
    return np.unique(np.linspace(-last, last, count).round().astype(np.int64))


def _along(subject: Subject, name: str) -> tuple[dict[str, Array], dict[str, Array]]:
    lines, points = _anchors(subject, name), grid(subject.common, _FEW_POINTS if _is_slow(subject) else _POINTS)
    places = {n: np.repeat(line[:, None], points.size, axis=1) for n, line in lines.items()}
    count = len(next(iter(lines.values()))) if lines else 1
    places[name] = np.repeat(points[None], count, axis=0)
    codes = _kinds(subject, _values(subject, places))
    line, at = np.nonzero((codes[:, :, 1:] != codes[:, :, :-1]).any(axis=0))
    fixed = {n: anchors[line] for n, anchors in lines.items()}
    low, high = _bisected(subject, name, fixed, points[at], points[at + 1])
    return _values(subject, {**fixed, name: low}), _values(subject, {**fixed, name: high})


def _anchors(subject: Subject, name: str) -> dict[str, Array]:
    """Where the lines lie: ordinals of the other inputs, typical values and a few around 1."""
    found = {}
    for other in subject.shapes:
        if other != name:
            drawn = np.resize(subject.typical[other].ravel(), _FEW_LINES if _is_slow(subject) else _LINES)
            chosen = np.concatenate([drawn, subject.rounded(other, np.array(_AROUND_ONE))])
            found[other] = subject.rng("edges", other).permutation(ordinal(chosen, subject.common))
    return found


def _is_slow(subject: Subject) -> bool:
    return subject.common.p > 24


def _bisected(subject: Subject, name: str, fixed: dict[str, Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Neighbouring ordinals around the first change between low and high, edge by edge."""
    start = _kinds(subject, _values(subject, {**fixed, name: low}))
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        same = (_kinds(subject, _values(subject, {**fixed, name: middle})) == start).all(axis=0)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low, high


def _values(subject: Subject, places: dict[str, Array]) -> dict[str, Array]:
    return {name: from_ordinal(places[name], subject.common) for name in subject.shapes}


def _kinds(subject: Subject, points: dict[str, Array]) -> Array:
    """The kinds of every arithmetic step's results, (steps, *points): outputs last."""
    trace = subject.run(points).trace
    shape = np.broadcast_shapes(*(a.shape for a in points.values()))
    steps = [s for s in trace.steps if isinstance(OPS[s.op], Elementwise) and get_format(s.format).is_float]
    made = [_kind(trace.values[s.id], get_format(s.format)) for s in steps]
    made += [_kind(trace.values[id], get_format(trace.formats[id])) for id in trace.outputs.values()]
    return np.stack([np.broadcast_to(kind, shape) for kind in made])


def _kind(values: Array, format: Format) -> Array:
    if not format.is_float:
        return np.asarray(values != 0).astype(np.int8) * _NORMAL
    size = np.abs(np.asarray(values, np.float64))
    ranges = [np.isnan(size), np.isinf(size), size >= format.min_normal, size > 0]
    kind = np.select(ranges, [_NAN, _INFINITE, _NORMAL, _SUBNORMAL], _ZERO).astype(np.int8)
    return np.where(np.signbit(values) & ~np.isnan(size), -1 - kind, kind).astype(np.int8)


def _changed(low: Array, high: Array, change: str) -> Array:
    """Where a result changes that way, (results, edges)."""
    a, b = (np.where(kinds < 0, -1 - kinds, kinds) for kinds in (low, high))
    match change:
        case "domain":
            found = (a == _NAN) != (b == _NAN)
        case "overflow":
            found = ((a == _INFINITE) != (b == _INFINITE)) & (a != _NAN) & (b != _NAN)
        case "underflow":
            found = ((a == _NORMAL) & (b == _SUBNORMAL)) | ((a == _SUBNORMAL) & (b == _NORMAL)) | _vanishes(a, b)
        case _:
            found = ((low < 0) != (high < 0)) & (a != _NAN) & (b != _NAN) | ((a == _ZERO) != (b == _ZERO))
    return np.asarray(found)


def _vanishes(a: Array, b: Array) -> Array:
    return np.asarray(((a == _ZERO) & (b == _SUBNORMAL)) | ((a == _SUBNORMAL) & (b == _ZERO)))
