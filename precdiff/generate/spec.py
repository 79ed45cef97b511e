"""SPEC: a seeded generator as text, `uniform(0.1, 10, shape=(4096,), as=fp16)`, and the array it stands for.

The text is read with Python's own parser and may hold literals only. `as` rounds to that format first, so the values
are representable there; then they are rounded to the format asked for, each time once. It must not know about files.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, Array, Format, get_format
from precdiff.generate.generator import GENERATORS, Draw, Generator
from precdiff.rounding import Rounding, round_array

MAX_TEXT = 1000
#: an fp64 array of as many elements takes 1 GiB
MAX_ELEMENTS = 2**27
MAX_AXES = 8

_NAMED_NUMBERS = {"inf": math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Spec:
    """A generator with its numbers; `shape` None is the generator's own, `as_format` None the format asked for."""

    generator: Generator
    numbers: tuple[float, ...]
    shape: tuple[int, ...] | None
    as_format: Format | None


def generate(spec: str | Spec, rng: np.random.Generator, format: str | Format) -> Array:
    """The values of a SPEC as a carrier array of `format`.

    >>> generate("linspace(0, 1, shape=(3,))", np.random.default_rng(0), "fp16").tolist()
    [0.0, 0.5, 1.0]
    """
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    target = get_format(format)
    first = spec.as_format or target
    values = spec.generator.draw(Draw(rng, spec.shape, first), *spec.numbers)
    rounded = round_array(values, Rounding(first))
    return rounded if first == target else round_array(rounded, Rounding(target))


def parse_spec(text: str) -> Spec:
    """Read a SPEC; whatever is not one is refused with the column and what is allowed."""
    return _Reader(text).spec()


class _Reader:
    """One text while it is read."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()

    def spec(self) -> Spec:
        call = self._call()
        generator = GENERATORS[self._name(call)]
        given = self._given(call, generator)
        missing = [n for n in generator.numbers if n not in given]
        if generator.needs_shape and "shape" not in given:
            missing.append("shape")
        if missing:
            self._refuse(None, f"{missing[0]} is missing", f"it is written {generator}")
        return Spec(
            generator, tuple(self._number(n, given[n]) for n in generator.numbers),
            self._shape(given["shape"]) if "shape" in given else generator.default_shape,
            self._format(given["as"]) if "as" in given else None,
        )  # fmt: skip

    def _call(self) -> ast.Call:
        if len(self.text) > MAX_TEXT:
            raise PrecDiffError(f"the SPEC has {len(self.text)} characters; allowed are {MAX_TEXT}")
        try:
            # `as` is a word of Python, and `As` is not; the columns stay
            tree = ast.parse(re.sub(r"\bas(?=\s*=)", "As", self.text), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            column = getattr(error, "offset", None) or 1
            self._refuse(column, "this cannot be read", "a SPEC is written NAME(numbers, shape=(n,), as=FORMAT)")
        if not isinstance(tree.body, ast.Call):
            self._refuse(1, "found no call", f"allowed are {_listed(GENERATORS)}")
        return tree.body

    def _name(self, call: ast.Call) -> str:
        if not isinstance(call.func, ast.Name):
            self._refuse(1, "the generator is not a name", f"known are {_listed(GENERATORS)}")
        if call.func.id not in GENERATORS:
            known = (
                _near(call.func.id, GENERATORS) + "known are " + "; ".join(str(row) for _, row in GENERATORS.items())
            )
            self._refuse(1, f"unknown generator {call.func.id!r}", known)
        return call.func.id

    def _given(self, call: ast.Call, generator: Generator) -> dict[str, ast.expr]:
        """Arguments by name, as in a Python call."""
        allowed = (*generator.numbers, "shape", "as")
        if len(call.args) > len(generator.numbers):
            extra = call.args[len(generator.numbers)]
            self._refuse(extra.col_offset + 1, "one number too many", f"it is written {generator}")
        given = dict(zip(generator.numbers, call.args, strict=False))
        for keyword in call.keywords:
            name = "as" if keyword.arg == "As" else str(keyword.arg)
            if name not in allowed:
                hint = _near(name, allowed)
                self._refuse(keyword.col_offset + 1, f"unknown argument {name!r}", f"{hint}it is written {generator}")
            if name in given:
                self._refuse(keyword.col_offset + 1, f"{name} is given twice", "give it once")
            given[name] = keyword.value
        return given

    def _number(self, name: str, node: ast.expr) -> float:
        value = _literal(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(node.col_offset + 1, f"{name} is {self._source(node)}", "allowed is a number, inf or nan")
        try:
            return float(value)
        except OverflowError:
            self._refuse(node.col_offset + 1, f"{name} is beyond binary64", "the largest number is 1.8e308")

    def _shape(self, node: ast.expr) -> tuple[int, ...]:
        value = _literal(node)
        sizes = value if isinstance(value, tuple) else (value,)
        column = node.col_offset + 1
        if not all(type(n) is int and n >= 0 for n in sizes) or len(sizes) > MAX_AXES:
            allowed = f"allowed are up to {MAX_AXES} whole numbers, as in shape=(8,64)"
            self._refuse(column, f"shape is {self._source(node)}", allowed)
        if math.prod(sizes) > MAX_ELEMENTS:
            self._refuse(column, f"shape has {math.prod(sizes):,} elements", f"allowed are {MAX_ELEMENTS:,}")
        return sizes

    def _format(self, node: ast.expr) -> Format:
        name = node.id if isinstance(node, ast.Name) else _literal(node)
        if name not in FORMATS:
            hint = _near(str(name), FORMATS)
            problem = f"as is {self._source(node)}, no format"
            self._refuse(node.col_offset + 1, problem, f"{hint}known are {_listed(FORMATS)}")
        return get_format(str(name))

    def _source(self, node: ast.expr) -> str:
        return ast.unparse(node)

    def _refuse(self, column: int | None, found: str, allowed: str) -> NoReturn:
        place = f" at column {column}" if column else ""
        raise PrecDiffError(f"SPEC {self.text!r}: {found}{place}; {allowed}.")


def _literal(node: ast.expr) -> Any:
    """A number, a sign before one, inf, nan, a string, or a tuple or list of those; None for anything else."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return _NAMED_NUMBERS.get(name)
        case ast.UnaryOp(ast.USub(), ast.Constant() | ast.Name() as inner):
            value = _literal(inner)
            return -value if isinstance(value, int | float) else None
        case ast.Tuple(items) | ast.List(items):
            return tuple(_literal(item) for item in items)
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _near(name: str, allowed: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""
