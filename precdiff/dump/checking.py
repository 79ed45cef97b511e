"""What can be wrong with a dump: what is missing, what cannot be read, what does not agree with its checksum.

This file knows rows and pieces of codes; the file itself was checked when it was opened (readers/). Nothing is repaired
here: salvage.py does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from precdiff.dump.h5types import stored_format
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.schema import DATA_KINDS
from precdiff.dump.statistics import UNCOUNTED, VALUE, checksum, kind_of, statistics_of
from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, Array, from_bits, get_format

#: a tensor's codes, piece by piece
Pieces = Callable[[str], Iterable[tuple[slice, Array]]]


@dataclass(frozen=True)
class Problem:
    """`where` is a tensor, a step, or the dump itself (empty)."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" if self.where else self.problem


def problems_of(
    attributes: Attributes, steps: Sequence[StepRow], tensors: Mapping[str, TensorRow], pieces: Pieces
) -> list[Problem]:
    """Every problem, the dump's own first."""
    found = [] if attributes.complete else [Problem("", "incomplete: the run did not come to its end")]
    return [*found, *_structure(attributes, steps, tensors), *_values(tensors, pieces)]


def _structure(attributes: Attributes, steps: Sequence[StepRow], tensors: Mapping[str, TensorRow]) -> Iterator[Problem]:
    seen: set[str] = set()
    waiting = {id for step in steps for _, id in step.outputs}
    for step in steps:
        where = f"step {step.id}"
        if step.id in seen:
            yield Problem(where, "recorded twice")
        seen.add(step.id)
        early = [id for _, id in step.inputs if id in waiting]
        yield from (Problem(where, f"takes tensor {id!r}, which no step before it makes") for id in early)
        waiting -= {id for _, id in step.outputs}
        lost = [id for _, id in (*step.inputs, *step.outputs) if id not in tensors]
        yield from (Problem(where, f"names tensor {id!r}, which is not in the dump") for id in lost)
    for kind in ("inputs", "outputs"):
        for name, id in getattr(attributes, kind).items():
            if id not in tensors:
                yield Problem("", f"{kind[:-1]} {name!r} is tensor {id!r}, which is not in the dump")


def _values(tensors: Mapping[str, TensorRow], pieces: Pieces) -> Iterator[Problem]:
    for id, row in tensors.items():
        problem = tensor_problem(row, pieces)
        if problem:
            yield Problem(f"tensor {id}", problem)


def tensor_problem(row: TensorRow, pieces: Pieces) -> str:
    """What is wrong with a tensor's row or values; empty when nothing is."""
    if row.data == "full" and not _holds(row.stored_format, row.format):
        return f"cannot be read: format {row.format!r}, stored as {row.stored_format!r}, is unknown"
    if row.note:
        return row.note
    if row.data not in DATA_KINDS:
        return f"keeps {row.data!r} of its values; allowed are {', '.join(DATA_KINDS)}"
    return _value_problem(row, pieces) if row.data == "full" else ""


def _holds(stored: str, format: str) -> bool:
    """Whether codes of `stored` may stand for values of `format`: its own, or those of a wider float."""
    if stored not in FORMATS or format not in FORMATS:
        return False
    own, wide = get_format(format), get_format(stored)
    return stored_format(own) is wide or (own.is_float and wide.is_float and wide.p >= own.p)


def _value_problem(row: TensorRow, pieces: Pieces) -> str:
    try:
        found = checksum((codes for _, codes in pieces(row.id)), kind_of(row.checksum))
        ours = row.statistics is not None and row.statistics.nan_count != UNCOUNTED
        recorded = row.checksum and not row.checksum.startswith(VALUE)
        if found != row.checksum and (recorded or ours):
            return f"its values have {found}, recorded was {row.checksum}"
        if not ours:
            return ""
        stored = get_format(row.stored_format)
        statistics = statistics_of(from_bits(codes, stored) for _, codes in pieces(row.id))
    except PrecDiffError as error:
        return f"cannot be read: {error}"
    # repr: equal NaNs must compare equal
    return "" if repr(statistics) == repr(row.statistics) else f"its statistics are {statistics}, not {row.statistics}"
