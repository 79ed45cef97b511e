"""boundary: where the domain ends, where results leave the format's range, the format's own ends, and ties.

Of an elementwise kernel the edges are found by running it (edges.py): for pow those of y ln x at 11.09 in fp16 and at
88.7 in fp32 are among them. Any other kernel is scaled until a step leaves the range.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from precdiff.formats import Array, get_format, next_down, next_up, quantum
from precdiff.generate.cases import Draft, row
from precdiff.generate.edges import CHANGES, edges
from precdiff.generate.filling import combinations, filled
from precdiff.generate.subject import Subject
from precdiff.machine.realarray import FINITE

IEEE = "IEEE 754-2019, 3.3, 7.4 and 7.5"
FOUND = "found by bisection on the kernel itself"
TIES = "IEEE 754-2019, 4.3.1; Lefevre and Muller 2001, worst cases for correct rounding"

#: edges of one sort, each with its points on both sides
_MOST = 128
#: hardest points kept, of so many tried
_HARDEST, _TRIED = 64, 20_000
_TRIED_IN_FP64 = 1000
#: how far down, in eighths of a binary digit, a scale is sought at which nothing is lost
_BACK = -64


@row(FOUND)
def edge(subject: Subject) -> Iterator[Draft]:
    """Neighbouring inputs between which a step, the result first of all, changes its kind:"""
    if subject.is_elementwise and subject.common.is_float:
        found = edges(subject)
        for change, meaning in CHANGES.items():
            for draft in filled(subject, found.of(change, _MOST), meaning):
                yield dataclasses.replace(draft, part="-".join(filter(None, [change, draft.part])))


@row(IEEE)
def ends(subject: Subject) -> Iterator[Draft]:
    """The format's largest, smallest normal and smallest numbers, 1, and the neighbours of each."""
    format = subject.common
    if not format.is_float:
        low, high = format.integer_range
        found = np.unique([low, low + 1, -1 if format.signed else 0, 0, 1, high - 1, high]).astype(np.float64)
    else:
        middle = np.array([format.min_normal, 1.0, format.max_finite], format.carrier)
        around = np.unique([next_down(middle, format), middle, next_up(middle, format)]).astype(np.float64)
        found = np.concatenate([[format.min_subnormal], around[np.isfinite(around)]])
        found = np.concatenate([found, -found])
    if subject.is_elementwise:
        yield from filled(subject, combinations(list(subject.shapes), found))
        return
    for name in subject.main:
        pool = subject.rng("ends", name).choice(found, subject.shapes[name])
        yield Draft({name: pool}, name)


@row(IEEE)
def scaled(subject: Subject) -> Iterator[Draft]:
    """Typical data scaled to where a step first overflows, and to where one first vanishes, just before and after."""
    if subject.is_elementwise or not subject.common.is_float:
        return
    for name in subject.main:
        for end, sign in (("large", 1), ("small", -1)):
            found = _last_scale(subject, name, sign)
            for side, exponent in (("before", found), ("after", found + sign / 8)):
                values = _scaled(subject, name, exponent)
                yield Draft({name: values}, f"{name}-{end}-{side}", f"{name} times 2^{exponent:g}.")


@row(TIES)
def ties(subject: Subject) -> Iterator[Draft]:
    """Inputs whose ideal result lies on, or nearest to, the middle between two numbers of the format."""
    if not subject.common.is_float:
        return
    if not subject.is_elementwise:
        yield Draft({name: _half_ulps(subject, name) for name in subject.main}, remark="1, then halves of its ulp.")
        return
    points = {n: _near_typical(subject, n) for n in subject.shapes}
    hardest = np.argsort(_from_a_tie(subject, points), kind="stable")[:_HARDEST]
    yield from filled(subject, {n: values[hardest] for n, values in points.items()})


def _scaled(subject: Subject, name: str, exponent: float) -> Array:
    """The typical values times 2^exponent; its whole part by ldexp, which reaches as far as fp64 does."""
    whole = int(np.floor(exponent))
    return np.asarray(np.ldexp(np.asarray(subject.typical[name], np.float64) * 2.0 ** (exponent - whole), whole))


def _last_scale(subject: Subject, name: str, sign: int) -> float:
    """The last exponent, in eighths, before some step has more infinities or NaNs (sign 1) or zeros (sign -1)."""

    def lost(eighths: int) -> int:
        values = {**subject.typical, name: subject.rounded(name, _scaled(subject, name, sign * eighths / 8))}
        return _lost(subject, values, sign)

    # an example may overflow as it stands
    low = next((start for start in range(0, _BACK, -8) if not lost(start)), 0)
    before, high = lost(low), 8 * (subject.common.emax - subject.common.emin)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if lost(middle) <= before else (low, middle)
    return sign * low / 8


def _lost(subject: Subject, values: dict[str, Array], sign: int) -> int:
    trace = subject.run(values).trace
    made = [np.asarray(trace.values[s.id], np.float64) for s in trace.steps if get_format(s.format).is_float]
    return sum(int(np.count_nonzero(~np.isfinite(v) if sign > 0 else v == 0)) for v in made)


def _near_typical(subject: Subject, name: str) -> Array:
    """Typical values and others of their magnitudes, with random last bits."""
    rng, count = subject.rng("ties", name), _TRIED if subject.common.p <= 24 else _TRIED_IN_FP64
    values = np.asarray(rng.choice(subject.typical[name].ravel(), count), np.float64)
    return subject.rounded(name, values * rng.uniform(0.5, 2.0, count))


def _from_a_tie(subject: Subject, points: dict[str, Array]) -> Array:
    """The distance of the ideal results from the middle of two neighbours, in ulps; inf where there is none."""
    found, formats = [], subject.output_formats()
    for name, exact in subject.ideal(points).items():
        format = formats[name]
        size = quantum(np.where(exact.kind == FINITE, exact.hi, 0.0), format) if format.is_float else np.ones(())
        place = np.abs(exact.hi) / size
        inside = (exact.kind == FINITE) & (np.abs(exact.hi) < format.max_finite) & (place > 0.5)
        found.append(np.where(inside, np.abs(place - np.floor(place) - 0.5), np.inf))
    return np.asarray(np.min(np.broadcast_arrays(*found), axis=0))


def _half_ulps(subject: Subject, name: str) -> Array:
    """1 first in every row, then u = half its ulp: every partial sum from there on is a tie."""
    array = np.full(subject.shapes[name], subject.common.u)
    if array.ndim:
        array[..., 0] = 1.0
    return array
