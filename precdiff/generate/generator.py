"""What a generator is: a name, its numbers, and how values are drawn. It knows no text (spec.py) and no files.

A generator gives real numbers in fp64; they are rounded to a format afterwards, once (spec.py). All randomness comes
from the numpy Generator it is handed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from precdiff.formats import Array, Format
from precdiff.registry import Registry


@dataclass(frozen=True)
class Draw:
    """What is wanted: values of `shape` (None: the generator's own size), to be rounded to `format`."""

    rng: np.random.Generator
    shape: tuple[int, ...] | None
    format: Format


@dataclass(frozen=True)
class Generator:
    """One row: `draw(wanted, *numbers)` gives fp64 values; `default_shape` where a SPEC may leave the shape out."""

    name: str
    draw: Callable[..., Array]
    default_shape: tuple[int, ...] | None
    needs_shape: bool

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of its numbers, all of them required."""
        return tuple(inspect.signature(self.draw).parameters)[1:]

    def __str__(self) -> str:
        """How it is written."""
        shape = "shape=(n,)" if self.needs_shape else "[shape=(n,)]"
        return f"{self.name}({', '.join([*self.numbers, shape, '[as=FORMAT]'])})"

    @property
    def summary(self) -> str:
        """What it gives, in one line."""
        return (inspect.getdoc(self.draw) or "").splitlines()[0]


GENERATORS: Registry[Generator] = Registry("generator")


def generator(
    *, needs_shape: bool = True, default_shape: tuple[int, ...] | None = None
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register a function (wanted, *numbers) -> fp64 values under its name."""

    def register(draw: Callable[..., Array]) -> Callable[..., Array]:
        GENERATORS.add(draw.__name__, Generator(draw.__name__, draw, default_shape, needs_shape))
        return draw

    return register
