"""Where a recorded tensor came from, told by its bits: calls between the recorded ones only move, cast or add up.

    same    the codes of an earlier tensor, in whatever shape
    cast    an earlier tensor of a wider format, rounded once
    sum     two or three earlier gradients of its size added up, each sum rounded once: what autograd does
    parts   every value is among those of one earlier tensor: a slice, a head, a transpose
    handed  what a call made is what it was given: whether it should be is not known

An origin is a reproduction of bits, so it cannot be told of a tensor that something wrote over. The tensors are
looked at in the order of the steps; of several origins the latest made is taken. What a known call made is judged by
its formula: only equality is of interest there. This file must not judge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from precdiff.diagnose.recorded.contents import Contents
from precdiff.diagnose.recorded.truths import is_known
from precdiff.formats import Format
from precdiff.reference.calls import Operand
from precdiff.rounding import Rounding, round_array

Kind = Literal["same", "cast", "sum", "parts", "handed"]

#: earlier tensors that are looked at for what is more than equality, and distinct values that are no coincidence
RECENT, DISTINCT = 24, 8
_GRADIENTS = 6


@dataclass(frozen=True)
class Origin:
    """How a tensor follows from earlier ones, `sources` by id."""

    kind: Kind
    sources: tuple[str, ...]

    def __str__(self) -> str:
        said = {"same": "the values of", "cast": "rounded from", "sum": "the sum of", "parts": "parts of",
                "handed": "handed on:"}[self.kind]  # fmt: skip
        return f"{said} {' + '.join(self.sources)}"


def origins(contents: Contents) -> dict[str, Origin]:
    """The origin of every tensor that has one; what a call made has one only where it is an earlier one's value."""
    found: dict[str, Origin] = {}
    search = _Search(contents)
    for step in contents.dump.steps:
        for _, id in step.inputs:
            search.look(id, found, forward=step.phase != "backward")
        made, given = [id for _, id in step.outputs], {contents.digest(id): id for _, id in step.inputs}
        for id in made:
            digest = contents.digest(id)
            if digest is not None and digest in given:
                found[id] = Origin("handed", (given[digest],))
                continue
            search.look(id, found, forward=step.phase != "backward", equal_only=is_known(step))
        search.made(made)
    return found


class _Search:
    """What was seen so far."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._latest: dict[bytes, str] = {}
        self._given: dict[bytes, str] = {}
        self._recent: deque[str] = deque(maxlen=RECENT)
        #: tensors that a call made: read again under the same id they are themselves
        self._made: set[str] = set()

    def look(self, id: str, found: dict[str, Origin], *, forward: bool, equal_only: bool = False) -> None:
        """Find the origin of a tensor."""
        digest = self._contents.digest(id)
        if digest is None or id in found or (id in self._made and not equal_only):
            return
        source = self._latest.get(digest) or self._given.get(digest)
        if source is not None and source != id:
            found[id] = Origin("same", (source,))
        elif not equal_only:
            origin = self._rebuilt(id, forward=forward)
            if origin is not None:
                found[id] = origin
            else:
                self._given.setdefault(digest, id)

    def made(self, ids: list[str]) -> None:
        """Tell of tensors that a call made."""
        self._made.update(ids)
        for id in ids:
            digest = self._contents.digest(id)
            if digest is not None:
                self._latest[digest] = id
                self._recent.append(id)

    def _rebuilt(self, id: str, *, forward: bool) -> Origin | None:
        operand = self._contents.operand(id)
        if not operand.format.is_float:
            return None
        for origin in self._candidates(id, forward=forward):
            if agrees(origin, operand, {s: self._contents.operand(s) for s in origin.sources}):
                return origin
        return None

    def _candidates(self, id: str, *, forward: bool) -> Iterator[Origin]:
        row = self._contents.row(id)
        rows = [(other, self._contents.row(other)) for other in reversed(self._recent)]
        alike = [other for other, r in rows if r.size == row.size]
        yield from (Origin("cast", (other,)) for other in alike if self._contents.row(other).format != row.format)
        if not forward:
            grads = [other for other in alike if self._contents.row(other).format == row.format][:_GRADIENTS]
            yield from (Origin("sum", pair) for pair in combinations(reversed(grads), 2))
            yield from (Origin("sum", three) for three in combinations(reversed(grads), 3))
        yield from (Origin("parts", (o,)) for o, r in rows if r.size >= row.size and r.format == row.format)


def agrees(origin: Origin, operand: Operand, sources: Mapping[str, Operand]) -> bool:
    """Whether the tensor is, bit for bit, what the origin says."""
    values, few = operand.values.reshape(-1), slice(0, 8 * DISTINCT)
    if origin.kind == "parts":
        source = sources[origin.sources[0]].values
        several = np.unique(values[few]).size >= DISTINCT
        return several and bool(np.isin(values[few], source).all() and np.isin(values, source).all())
    made = [np.reshape(sources[s].values, -1) for s in origin.sources]
    if any(m.size != values.size for m in made):
        return False
    return _equal(rebuilt(origin, [m[few] for m in made], operand.format), values[few]) and _equal(
        rebuilt(origin, made, operand.format), values
    )


def rebuilt(origin: Origin, sources: list[np.ndarray], format: Format) -> np.ndarray:
    """The values of same, cast and sum."""
    total = np.asarray(sources[0], np.float64) if format.is_float else sources[0]
    for more in sources[1:]:
        total = round_array(total + np.asarray(more, np.float64), Rounding(format)).astype(np.float64)
    if origin.kind == "cast":
        total = round_array(total, Rounding(format))
    return np.asarray(total, format.carrier)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
