"""From points to arrays: an elementwise kernel takes any values side by side, so points fill its shape.

Points are rows of one value an input. They are repeated until the shape is full; more than it holds make more drafts,
so that none is lost.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from precdiff.formats import Array
from precdiff.generate.cases import Draft
from precdiff.generate.subject import Subject


def filled(subject: Subject, points: Mapping[str, Array], remark: str = "") -> Iterator[Draft]:
    """Drafts that hold all of the points (equally long arrays by input) at the subject's shape."""
    shape = next(iter(subject.shapes.values()))
    count, room = len(next(iter(points.values()))), math.prod(shape)
    if count == 0 or room == 0:
        return
    parts = -(-count // room)
    for part in range(parts):
        chosen = np.arange(part * room, (part + 1) * room) % count
        values = {name: np.asarray(array)[chosen].reshape(shape) for name, array in points.items()}
        yield Draft(values, str(part + 1) if parts > 1 else "", remark)


def combinations(names: Sequence[str], values: Array) -> dict[str, Array]:
    """Every value of every input with every value of the others, as points."""
    rows = np.array(list(itertools.product(np.asarray(values, np.float64), repeat=len(names))))
    return {name: rows[:, i] for i, name in enumerate(names)}
