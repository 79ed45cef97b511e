"""extreme: whole arrays that accumulations, normalisations and tiles stumble over.

Outliers as CANN's commercial standard has them: max(1, n/1000) random elements times 1000. Then rows without variance,
masked rows, an offset far beyond the spread (E[x^2] - E[x]^2 cancels), sorted rows (the order of a sum matters most),
signs that alternate (terms that cancel), and lengths beside powers of two and beside 32-byte blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from precdiff.formats import Array
from precdiff.generate.cases import Draft, row
from precdiff.generate.subject import Shape, Subject

COMMERCIAL = "CANN commercial operator precision standard: outliers"
OPEN = "CANN opbase, experimental operator precision standard: sizes 2^n and 2^n - 1"
BLOCK = "Ascend C: data moves in blocks of 32 bytes; a tail is what no block holds"
CHAN = "Chan, Golub, LeVeque 1983, Algorithms for computing the sample variance"
HIGHAM = "Higham 2002, Accuracy and Stability of Numerical Algorithms, 4"

_BLOCK_BYTES = 32
#: lengths of the last axis
_SIZES = (1, 127, 128)
#: offset over deviation: the squares' sum then loses about twice as many bits, 2 log2 of it
_OFFSET = 100.0


@row(COMMERCIAL)
def outliers(subject: Subject) -> Iterator[Draft]:
    """Every thousandth element, at least one, times 1000."""
    made = {}
    for name in subject.main:
        array = np.array(subject.typical[name], np.float64)
        count = max(1, array.size // 1000)
        chosen = subject.rng("outliers", name).choice(array.size, min(count, array.size), replace=False)
        array.flat[chosen] *= 1000.0
        made[name] = array
    yield Draft(made)


@row(CHAN)
def constant_rows(subject: Subject) -> Iterator[Draft]:
    """Rows of one value each: their variance is 0."""
    yield Draft({n: np.broadcast_to(_first(subject.typical[n]), subject.shapes[n]) for n in subject.main})


@row(CHAN)
def constant(subject: Subject) -> Iterator[Draft]:
    """0.1 everywhere: no variance at all, and a sum that grows by one value."""
    yield Draft({name: np.full(subject.shapes[name], 0.1) for name in subject.main})


@row("attention masks: what is masked is -inf before softmax")
def masked_rows(subject: Subject) -> Iterator[Draft]:
    """-inf in the second half of the rows, and in all of the first row."""
    if subject.is_elementwise or not subject.common.has_inf:
        return
    for name in subject.main:
        array = np.array(subject.typical[name], np.float64)
        if array.ndim > 1:
            array[..., array.shape[-1] // 2 :] = -np.inf
            array[0] = -np.inf
            yield Draft({name: array}, name)


@row(CHAN)
def offset(subject: Subject) -> Iterator[Draft]:
    """An offset of 100 deviations."""
    yield Draft({n: _shifted(np.asarray(subject.typical[n], np.float64)) for n in subject.main})


@row(HIGHAM)
def ascending(subject: Subject) -> Iterator[Draft]:
    """Rows sorted upwards."""
    yield Draft({n: np.sort(_wide(subject, n)) for n in subject.main if subject.shapes[n]})


@row(HIGHAM)
def descending(subject: Subject) -> Iterator[Draft]:
    """Rows sorted downwards."""
    yield Draft({n: np.sort(_wide(subject, n))[..., ::-1] for n in subject.main if subject.shapes[n]})


@row(HIGHAM)
def alternating(subject: Subject) -> Iterator[Draft]:
    """Neighbours of opposite sign that nearly cancel."""
    made = {}
    for name in subject.main:
        array = _wide(subject, name)
        even = array[..., ::2]
        if array.ndim and array.shape[-1] > 1:
            array[..., 1::2] = -even[..., : array.shape[-1] // 2] * (1 + 4 * subject.common.u)
        made[name] = array
    yield Draft(made)


@row(OPEN)
def sizes(subject: Subject) -> Iterator[Draft]:
    """A last axis of 1, 2^n - 1 and 2^n."""
    yield from _resized(subject, _SIZES)


@row(BLOCK)
def tails(subject: Subject) -> Iterator[Draft]:
    """A last axis one element short of, and one beyond, whole blocks of 32 bytes."""
    block = _BLOCK_BYTES * 8 // subject.common.bits
    yield from _resized(subject, (2 * block - 1, 2 * block + 1))


def _first(array: Array) -> Array:
    return np.asarray(array[..., :1] if array.ndim else array)


def _wide(subject: Subject, name: str) -> Array:
    return np.array(subject.typical[name], np.float64)


def _shifted(array: Array) -> Array:
    finite = array[np.isfinite(array)]
    spread = float(finite.std()) if finite.size > 1 else 1.0
    return np.asarray(array + _OFFSET * (spread or 1.0))


def _resized(subject: Subject, lengths: tuple[int, ...]) -> Iterator[Draft]:
    """The typical data with another last axis: axes of equal length change alike; what the kernel refuses is left."""
    if not subject.main or not subject.shapes[subject.main[0]]:
        return
    before = subject.shapes[subject.main[0]][-1]
    for length in lengths:
        shapes = {name: _with(shape, before, length) for name, shape in subject.shapes.items()}
        other = dataclasses.replace(subject, shapes=shapes)
        if other.runs(other.typical):
            yield Draft({}, str(length), subject=other)


def _with(shape: Shape, before: int, after: int) -> Shape:
    return tuple(after if n == before else n for n in shape)
