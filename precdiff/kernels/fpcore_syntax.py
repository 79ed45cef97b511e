"""The syntax of FPCore: a text read into Nodes, each with its place. It knows no machine and runs nothing.

Source: FPCore 2.0 (fpbench.org/spec/fpcore-2.0.html). n-ary + and * are nested to the left.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn

from precdiff.errors import KernelError
from precdiff.kernels.expression import MAX_NUMBER, functions, operands
from precdiff.kernels.symbolic import CONSTANTS, Atom, Form, Listing

#: FPCore's names of operations -> ours, where they differ
NAMES = {"pow": "power", "fabs": "abs", "nearbyint": "round", "-": "sub", "+": "add", "*": "mul", "/": "div"}
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
TRUTHS = ("TRUE", "FALSE")
SPECIALS = {"INFINITY": "inf", "NAN": "nan"}
_FOLDED = ("+", "*")

#: levels of an expression; more would exhaust Python's stack
MAX_DEPTH = 200

#: of fp64, the widest format a constant is rounded to
_SMALLEST, _LARGEST = Fraction(1, 2**1074), 2**1024


@dataclass(frozen=True, eq=False)
class Node:
    """One place of the text. `op`: an operation's name, or number, name, let, let*, if, while, while*, array.

    `bindings`: (name, value) of a let, (name, start, update) of a loop, whose condition is the first argument.
    """

    op: str
    args: tuple[Node, ...] = ()
    at: int = 0
    text: str = ""
    bindings: tuple[tuple[Any, ...], ...] = ()

    @property
    def operation(self) -> bool:
        """Whether it is an operation, and so a node of the tree that labels speak of."""
        return self.op not in ("number", "name", "let", "let*", "while", "while*", "array")


@dataclass(frozen=True)
class Written:
    """What a text holds: the name, the inputs, the body."""

    name: str
    inputs: tuple[str, ...]
    body: Node


def written(form: Form, inputs: Sequence[str] | None = None, name: str = "fpcore") -> Written:
    """What one form holds: a whole `(FPCore ...)`, or a body of the given inputs."""
    try:
        return _written(form, inputs, name)
    except RecursionError:
        refuse(form.at, "it is nested too deeply", f"allowed are {MAX_DEPTH} levels")


def _written(form: Form, inputs: Sequence[str] | None, name: str) -> Written:
    if isinstance(form, Listing) and form.head == "FPCore":
        return _whole(form, name)
    if inputs is None:
        refuse(form.at, "found a body without inputs", "allowed is (FPCore (x ...) body)")
    return Written(name, tuple(inputs), _node(form, frozenset(inputs)))


def _whole(form: Listing, name: str) -> Written:
    rest = list(form.items[1:])
    if rest and isinstance(rest[0], Atom):
        name = rest.pop(0).text  # type: ignore[union-attr]  # an Atom
    if not rest or not isinstance(rest[0], Listing):
        refuse(form.at, "found no list of inputs", "allowed is (FPCore (x ...) body)")
    inputs = [_input(item) for item in rest.pop(0).items]  # type: ignore[union-attr]  # a Listing
    while len(rest) > 2 and isinstance(rest[0], Atom) and rest[0].text.startswith(":"):
        name = rest[1].text if rest[0].text == ":name" and isinstance(rest[1], Atom) else name
        rest = rest[2:]
    if len(rest) != 1:
        refuse(form.at, f"found {len(rest)} bodies", "allowed is one, behind the properties")
    return Written(name.strip('"'), tuple(inputs), _node(rest[0], frozenset(inputs)))


def _input(item: Form) -> str:
    if isinstance(item, Listing):
        refuse(item.at, "found an input with annotations or dimensions", "allowed are names of scalars")
    return item.text


def _node(form: Form, names: frozenset[str]) -> Node:
    if isinstance(form, Atom):
        return _atom(form, names)
    match form.head:
        case "let" | "let*" | "while" | "while*":
            return _binding(form, names)
        case "!" | "cast" | "tensor" | "tensor*" | "for" | "for*" | "ref" | "dim" | "size" | "digits":
            refuse(form.at, f"found {form.head!r}", "allowed are scalars in the run's own format")
        case "array":
            return Node("array", tuple(_node(item, names) for item in form.items[1:]), form.at)
    return _applied(form.head, form, [_node(item, names) for item in form.items[1:]])


def _atom(form: Atom, names: frozenset[str]) -> Node:
    if form.text in names:
        return Node("name", at=form.at, text=form.text)
    known = {**CONSTANTS, **SPECIALS, **{truth: truth for truth in TRUTHS}}
    if form.text in known:
        return Node("number", at=form.at, text=known[form.text])
    if re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?|[-+]?\d+/0*[1-9]\d*", form.text):
        return Node("number", at=form.at, text=_plain(form))
    return refuse(form.at, f"unknown name {form.text!r}", f"known are {', '.join(sorted(names))} and constants")


def _plain(form: Atom) -> str:
    """The exact ratio; a zero keeps its sign."""
    if len(form.text) > MAX_NUMBER:
        refuse(form.at, f"found a number of {len(form.text)} characters", f"allowed are {MAX_NUMBER}")
    value = Fraction(form.text)
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        refuse(form.at, f"found {form.text!r}", "allowed are 0 and magnitudes from 5e-324 to 1.8e308")
    return str(value) if value else ("-0.0" if form.text.startswith("-") else "0.0")


def _applied(op: str, form: Listing, args: list[Node]) -> Node:
    known = {*functions(), *NAMES, *COMPARISONS, "if", "and", "or", "not"}
    if op not in known:
        refuse(form.at, f"unknown operation {op!r}", f"known are {', '.join(sorted(known))}")
    if op in _FOLDED and len(args) > 2:
        return _nested(op, form, args)
    if op in COMPARISONS and len(args) > 2:
        pairs = [Node(op, pair, form.at) for pair in itertools.pairwise(args)]
        return reduce(lambda one, two: Node("and", (one, two), form.at), pairs)
    wanted = _arity(op)
    if len(args) not in wanted:
        refuse(form.at, f"{op} has {len(args)} arguments", f"it takes {' or '.join(map(str, wanted))}")
    return Node(op, tuple(args), form.at)


def _nested(op: str, form: Listing, args: list[Node]) -> Node:
    """(+ a b c) as (+ (+ a b) c); an outer one stands where its last argument does."""
    inner = Node(op, (args[0], args[1]), form.at)
    for item, argument in zip(form.items[3:], args[2:], strict=True):
        inner = Node(op, (inner, argument), item.at - 1)
    return inner


def _arity(op: str) -> tuple[int, ...]:
    fixed = {"-": (1, 2), "+": (2,), "*": (2,), "/": (2,), "if": (3,), "and": (2,), "or": (2,), "not": (1,)}
    if op in fixed:
        return fixed[op]
    return (2,) if op in COMPARISONS else (operands(functions()[NAMES.get(op, op)]),)


def _binding(form: Listing, names: frozenset[str]) -> Node:
    loop, star = form.head.startswith("while"), form.head.endswith("*")
    wanted = 4 if loop else 3
    if len(form.items) != wanted or not isinstance(form.items[-2], Listing):
        refuse(form.at, f"{form.head} has {len(form.items) - 1} parts", f"it takes {wanted - 1}")
    inner, found = names, []
    rows = [_row(item, 3 if loop else 2) for item in form.items[-2].items]
    every = names | {row[0] for row in rows}
    for row in rows:
        start = _node(row[1], inner if star else names)
        found.append((row[0], start, _node(row[2], every)) if loop else (row[0], start))
        inner = inner | {row[0]}
    condition = (_node(form.items[1], every),) if loop else ()
    return Node(form.head, (*condition, _node(form.items[-1], every)), form.at, bindings=tuple(found))


def _row(form: Form, length: int) -> tuple[Any, ...]:
    if not isinstance(form, Listing) or len(form.items) != length or not isinstance(form.items[0], Atom):
        refuse(form.at, "found a binding of another form", f"allowed are a name and {length - 1} expressions")
    return form.items[0].text, *form.items[1:]


def refuse(at: int, found: str, allowed: str) -> NoReturn:
    """Raise the error of a place in the text."""
    raise KernelError(f"FPCore, at character {at + 1}: {found}; {allowed}.")
