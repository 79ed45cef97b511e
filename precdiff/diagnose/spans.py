"""Which elements of an operand a bad read may have touched: tiles and tails that explain where a step deviates.

Ops that move or map elements show it: every deviating result names the elements it was made of. A sum or a product of
matrices is linear in each operand, so what another content of a tile would have done to it is known without a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from precdiff.diagnose.deviation import Deviation
from precdiff.formats import get_format
from precdiff.machine import EmulatedMachine
from precdiff.ops import OPS, Elementwise, Layout, Selection
from precdiff.ops.reductions import axes_of

#: elements of a tile (a 32-byte block of fp16 has 16)
TILES = (16, 32, 64, 128, 8, 256)
#: of the deviation, what a linear prediction may leave unexplained
_LEFT = 0.1

#: elements read to judge every tile of an operand; of larger operands, the small tiles are left out
_WORK = 2**24

Span = tuple[int, int]


def touched(found: Deviation, number: int) -> np.ndarray | None:
    """Flat indices of operand `number` that the deviating results are made of; None where the op mixes elements."""
    step, op = found.step, OPS[found.step.op]
    operand = found.trace.values[step.inputs[number]]
    places = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
    if isinstance(op, Elementwise | Selection):
        return np.unique(np.broadcast_to(places, found.where.shape)[found.where])
    if isinstance(op, Layout) and len(step.inputs) == 1:
        machine, format = EmulatedMachine(found.trace.profile), get_format("i64")
        moved = machine.apply(op, (machine.tensor(places, format),), step.params, format).planes[0]
        return np.unique(moved[found.where])
    return None


def span(found: Deviation, number: int) -> Span | None:
    """The range of the operand the deviating results are made of."""
    indices = None if found.blind else touched(found, number)
    return (int(indices[0]), int(indices[-1]) + 1) if indices is not None and indices.size else None


def tails(found: Deviation, number: int) -> Iterator[Span]:
    """The touched range, and ranges at the operand's end."""
    yield from tiles(found, number)
    size = found.trace.values[found.step.inputs[number]].size
    for length in (*TILES, 1, 2, 4):
        if length < size:
            yield size - length, size


def tiles(found: Deviation, number: int) -> Iterator[Span]:
    """The touched range and the tiles it lies in; every tile where the op mixes elements."""
    size, known = found.trace.values[found.step.inputs[number]].size, span(found, number)
    lengths = [n for n in TILES if n < size]
    if known is None:
        lengths = [n for n in lengths if (n * 2 <= size <= n * 16 if found.blind else size // n * size <= _WORK)]
        yield from ((start, min(start + n, size)) for n in lengths for start in range(0, size, n))
        return
    around = [(known[0] // n * n, min(size, -(-known[1] // n) * n)) for n in lengths]
    yield from dict.fromkeys([known, *around])


def stale(found: Deviation, number: int, where: Span) -> Iterator[dict[str, Any]]:
    """What the range may have held instead: the tile before, the one after, the same range of an older tensor."""
    source = found.step.inputs[number]
    length, values = where[1] - where[0], found.trace.values
    for start in (where[0] - length, where[0] + length, 0):
        if start >= 0 and start + length <= values[source].size and start != where[0]:
            yield {"from": [start, start + length]}
    for other in found.versions:
        if other in values and other != source and values[other].shape == values[source].shape:
            yield {"version": other}


def plausible(found: Deviation, number: int, where: Span, version: Mapping[str, Any]) -> bool:
    """Whether that content of the range moves a sum as the device's was moved; True for ops that are no sums."""
    if found.blind or found.step.op not in ("sum", "matmul") or found.lost.any():
        return True
    operands = [np.asarray(found.trace.values[i], np.float64) for i in found.step.inputs[:2]]
    change = np.zeros(operands[number].size)
    change[slice(*where)] = _content(found, number, where, version) - operands[number].ravel()[slice(*where)]
    operands[number] = change.reshape(operands[number].shape)
    with np.errstate(all="ignore"):
        moved = operands[0] @ operands[1] if found.step.op == "matmul" else _summed(found, operands[0])
        wanted = found.actual.astype(np.float64) - found.exact.hi
    return bool(np.sum((moved.reshape(wanted.shape) - wanted) ** 2) <= _LEFT * np.sum(wanted**2))


def _summed(found: Deviation, x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(x, axis=axes_of(x.shape, found.step.params.get("axis"))))


def _content(found: Deviation, number: int, where: Span, version: Mapping[str, Any]) -> np.ndarray:
    name = version.get("version") or found.step.inputs[number]
    start = int(version.get("from", where)[0])
    return np.asarray(found.trace.values[name], np.float64).ravel()[start : start + where[1] - where[0]]
