"""typical: the distributions operators are accepted on, kept inside the kernel's domain where it works by elements.

CANN's open-source operator standard draws half of its data uniformly from [-5, 5] and half normally with a mean in
[-5, 5] and a deviation in [0.1, 2]; its commercial standard adds U[-0.001, 0.001] and means to +-100, deviations 1 ...
25. Their outliers are a row of `extreme`. A value for which an ideal elementwise result is not a finite number of the
format is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from precdiff.formats import Array
from precdiff.generate.cases import Draft, row
from precdiff.generate.subject import Shape, Subject
from precdiff.machine.realarray import FINITE

OPEN = "CANN opbase, experimental operator precision standard: test data"
COMMERCIAL = "CANN commercial operator precision standard: test data of levels L0-L2"

#: whole arrays drawn, each with its own mean and deviation; where fewer values lie in the domain, those are used again
_DRAWS = 16

_Source = Callable[[np.random.Generator, Shape], Array]


@row(OPEN)
def uniform(subject: Subject) -> Iterator[Draft]:
    """Uniform in [-5, 5]."""
    yield from _drawn(subject, "uniform", lambda rng, shape: rng.uniform(-5, 5, shape))


@row(OPEN)
def normal(subject: Subject) -> Iterator[Draft]:
    """Normal, mean in [-5, 5], deviation in [0.1, 2]."""
    yield from _drawn(subject, "normal", lambda rng, shape: _gauss(rng, shape, 5.0, (0.1, 2.0)))


@row(COMMERCIAL)
def small(subject: Subject) -> Iterator[Draft]:
    """Uniform in [-0.001, 0.001]."""
    yield from _drawn(subject, "small", lambda rng, shape: rng.uniform(-1e-3, 1e-3, shape))


@row(COMMERCIAL)
def wide(subject: Subject) -> Iterator[Draft]:
    """Normal, mean in [-100, 100], deviation in [1, 25]."""
    yield from _drawn(subject, "wide", lambda rng, shape: _gauss(rng, shape, 100.0, (1.0, 25.0)))


@row("the kernel's own examples")
def examples(subject: Subject) -> Iterator[Draft]:
    """What the kernel is for."""
    if subject.kernel.examples:
        yield Draft({})


def _gauss(rng: np.random.Generator, shape: Shape, mean: float, deviations: tuple[float, float]) -> Array:
    return np.asarray(rng.normal(rng.uniform(-mean, mean), rng.uniform(*deviations), shape))


def _drawn(subject: Subject, name: str, source: _Source) -> Iterator[Draft]:
    if not subject.is_elementwise:
        yield Draft({n: source(subject.rng(name, n), subject.shapes[n]) for n in subject.main})
        return
    shape = next(iter(subject.shapes.values()))
    size = int(np.prod(shape))
    drawn = {n: subject.rounded(n, _repeated(source, subject.rng(name, n), size)) for n in subject.shapes}
    inside = np.flatnonzero(in_domain(subject, drawn))
    if inside.size:
        chosen = np.resize(inside, size)
        yield Draft({n: values[chosen].reshape(shape) for n, values in drawn.items()})


def _repeated(source: _Source, rng: np.random.Generator, size: int) -> Array:
    return np.concatenate([source(rng, (size,)) for _ in range(_DRAWS)])


def in_domain(subject: Subject, points: dict[str, Array]) -> Array:
    """Where every ideal result of an elementwise subject is a finite number of its format."""
    kept, formats = np.ones(next(iter(points.values())).shape, bool), subject.output_formats()
    for name, exact in subject.ideal(points).items():
        kept &= (exact.kind == FINITE) & (np.abs(exact.hi) <= formats[name].max_finite)
    return kept
