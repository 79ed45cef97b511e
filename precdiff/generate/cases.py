"""Data that breaks kernels: `data_cases` gives, for a kernel or an op, named inputs of several data classes.

A data class is a file of classes/; a row of it is a function of the subject that yields drafts. A row or a class more
touches that one file. Values are drawn in fp64 and rounded once to each input's format; every row and input has a
random stream of its own, made of the seed and its names, so that a row more does not change the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from precdiff.errors import UnknownNameError
from precdiff.formats import Array, Format, get_format
from precdiff.generate.subject import Shape, Subject, subject_of
from precdiff.generate.target import target_kernel
from precdiff.registry import Registry


@dataclass(frozen=True)
class DataCase:
    """Inputs by name in the ecosystem's dtypes; `name` is unique among the cases of a call, `note` says what and why.

    `data_class` is typical, boundary, special or extreme.
    """

    name: str
    data_class: str
    inputs: Mapping[str, np.ndarray]
    note: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Draft:
    """What a row yields: fp64 values of some inputs (the others are typical), what sets it apart, and a remark."""

    values: Mapping[str, Array]
    part: str = ""
    remark: str = ""
    #: of the inputs, where it is not the subject's
    subject: Subject | None = None


Make: TypeAlias = Callable[[Subject], Iterable[Draft]]


@dataclass(frozen=True)
class DataRow:
    """One row: what it makes for a subject, and the source of the rule."""

    name: str
    data_class: str
    source: str
    make: Make

    @property
    def summary(self) -> str:
        """What it holds, in one line."""
        return (self.make.__doc__ or "").partition("\n")[0]


#: the class of what a search found (search.py)
HUNTED = "adversarial"

DATA_ROWS: Registry[DataRow] = Registry("data row", "precdiff.generate.classes")


def row(source: str) -> Callable[[Make], Make]:
    """Register a function of the subject; its file names the class, its own name the row."""

    def register(make: Make) -> Make:
        data_class, name = make.__module__.rpartition(".")[2], make.__name__.replace("_", "-")
        DATA_ROWS.add(f"{data_class}/{name}", DataRow(name, data_class, source, make))
        return make

    return register


def data_classes() -> list[str]:
    """The names of the classes, most ordinary data first."""
    known = {found.data_class for _, found in DATA_ROWS.items()}
    order = ("typical", "boundary", "special", "extreme")
    return sorted(known, key=lambda name: (order.index(name) if name in order else len(order), name))


def data_cases(
    target: Any, *, format: str | Format = "fp16", classes: str | Sequence[str] | None = None, seed: int = 0,
    shape: Shape | Mapping[str, Shape] | None = None, options: Mapping[str, Any] | None = None,
) -> list[DataCase]:  # fmt: skip
    """The inputs to try a kernel on, by data class.

    `target` is a kernel's name, `file.py:function`, a Kernel, an op or its name, or a function over Tensors. `classes`
    (default: all) may be a comma-separated text. `shape` is that of the first input, or of each by name; without it the
    kernel's examples say. The same arguments give the same values.

    >>> [case.name for case in data_cases("exp", classes="typical", shape=(16,))][:2]
    ['typical-uniform', 'typical-normal']
    """
    chosen = _classes(classes)
    subject = subject_of(target_kernel(target), get_format(format), shape, seed=seed, options=options or {})
    rows = [found for _, found in DATA_ROWS.items() if found.data_class in chosen]
    ordered = sorted(rows, key=lambda found: chosen.index(found.data_class))
    with np.errstate(all="ignore"):
        return [case for found in ordered for case in _cases(found, subject)]


def _classes(asked: str | Sequence[str] | None) -> list[str]:
    names = asked.split(",") if isinstance(asked, str) else data_classes() if asked is None else list(asked)
    names = [str(name).strip() for name in names]
    unknown = next((name for name in names if name not in data_classes()), None)
    if unknown is not None or not names:
        raise UnknownNameError("data class", unknown or "", data_classes())
    return list(dict.fromkeys(names))


def _cases(found: DataRow, subject: Subject) -> Iterator[DataCase]:
    for draft in found.make(subject):
        name = "-".join(part for part in (found.data_class, found.name, draft.part) if part)
        note = f"{found.summary} {draft.remark}".strip() + f" [{found.source}]"
        yield DataCase(name, found.data_class, (draft.subject or subject).completed(draft.values), note)
