"""FPCore 2.0, the benchmark language of FPBench (fpbench.org/spec/fpcore-2.0.html), read and run as a kernel.

`(FPCore (x) :pre (< 0 x) (- (sqrt (+ x 1)) (sqrt x)))`, or its body alone with the names of its inputs. Scalars,
let, let*, if, while, while*, array as a list of outputs; annotations that change the format inside are refused, since
the run's format says what everything is rounded to. Numbers and named constants are exact in the reference.

The tree a label speaks of is the unfolded one: let-bound names replaced by their definitions, n-ary + and * nested to
the left. `FPCore.paths` gives every place of a node in it (child indices from the root).
"""

from __future__ import annotations

import inspect
import itertools
import keyword
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, NoReturn

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels.expression import Literal, functions
from precdiff.kernels.kernel import Kernel
from precdiff.kernels.symbolic import CONSTANTS, Atom, Form, Listing, read_forms
from precdiff.machine import Tensor
from precdiff.ops.decisions import while_loop

MAX_DEPTH = 200
MAX_PATHS = 10_000

#: the input of an expression that has none: a kernel has a machine and a format from its inputs
NO_INPUT = "_"

_NAMES = {"pow": "power", "fabs": "abs", "nearbyint": "round", "-": "sub", "+": "add", "*": "mul", "/": "div"}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_FOLDED = ("+", "*")
_TRUTHS = ("TRUE", "FALSE")
_SPECIALS = {"INFINITY": "inf", "NAN": "nan"}


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


@dataclass
class FPCore:
    """An expression of inputs; `made` says which step came from which node once `kernel` has run under a recorder."""

    inputs: tuple[str, ...]
    body: Node
    name: str = "fpcore"
    made: dict[str, Node] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The kernel's parameter for every input: Python's identifiers are fewer than FPCore's symbols."""
        found: dict[str, str] = {}
        for name in self.inputs or (NO_INPUT,):
            plain = re.sub(r"\W", "_", name)
            plain = plain if plain.isidentifier() and not keyword.iskeyword(plain) else f"_{plain}"
            while plain in found.values():
                plain += "_"
            found[name] = plain
        return found

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel; its parameters are `parameters`."""

        def function(**tensors: Tensor) -> Any:
            names = {name: tensors[parameter] for name, parameter in self.parameters.items()}
            return _Interpreter(self.made, next(iter(names.values()))).value(self.body, names, 0)

        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(p, kinds) for p in self.parameters.values()])
        function.__signature__ = signature  # type: ignore[attr-defined]  # what inspect.signature honours
        return Kernel(function, self.name)

    @cached_property
    def paths(self) -> dict[Node, list[tuple[int, ...]]]:
        """Every place of each operation in the unfolded tree."""
        found: dict[Node, list[tuple[int, ...]]] = {}
        for count, (node, path) in enumerate(_unfolded(self.body, (), {})):
            if count == MAX_PATHS:
                break
            found.setdefault(node, []).append(path)
        return found


def _unfolded(node: Node, path: tuple[int, ...], names: Mapping[str, Any]) -> Iterator[tuple[Node, tuple[int, ...]]]:
    """Every operation with its path; a name stands for (definition, names known where it was written)."""
    if node.op == "name":
        if node.text in names:
            yield from _unfolded(names[node.text][0], path, names[node.text][1])
    elif node.op in ("let", "let*"):
        inner = dict(names)
        for name, value in node.bindings:
            inner[name] = value, dict(inner) if node.op == "let*" else names
        yield from _unfolded(node.args[0], path, inner)
    elif node.operation:
        yield node, path
        for i, child in enumerate(node.args):
            yield from _unfolded(child, (*path, i), names)


class _Interpreter:
    """Runs nodes on the machine of `first`, in its format."""

    def __init__(self, made: dict[str, Node], first: Tensor) -> None:
        self.made = made
        self.first = first

    def value(self, node: Node, names: Mapping[str, Tensor], depth: int) -> Any:
        if depth > MAX_DEPTH:
            _refuse(node.at, "it is nested too deeply", f"allowed are {MAX_DEPTH} levels")
        match node.op:
            case "number":
                return self._kept(self._number(node.text), node)
            case "name":
                return names[node.text]
            case "let" | "let*":
                return self._let(node, names, depth)
            case "while" | "while*":
                return self._loop(node, names, depth)
            case "array":
                return [self.value(child, names, depth + 1) for child in node.args]
        operands = [self.value(child, names, depth + 1) for child in node.args]
        return self._kept(_operation(node)(*operands), node)

    def _number(self, text: str) -> Tensor:
        if text in _TRUTHS:
            return self.first.machine.constant(float(text == "TRUE"), get_format("bool"))
        special = text in _SPECIALS.values() or Fraction(text) == 0
        return self.first.machine.constant(float(text) if special else Literal(text), self.first.format)

    def _kept(self, tensor: Tensor, node: Node) -> Tensor:
        self.made[tensor.id] = node
        return tensor

    def _let(self, node: Node, names: Mapping[str, Tensor], depth: int) -> Any:
        inner = dict(names)
        for name, value in node.bindings:
            inner[name] = self.value(value, inner if node.op == "let*" else names, depth + 1)
        return self.value(node.args[0], inner, depth + 1)

    def _loop(self, node: Node, names: Mapping[str, Tensor], depth: int) -> Any:
        inner = dict(names)
        for name, start, _ in node.bindings:
            inner[name] = self.value(start, inner if node.op == "while*" else names, depth + 1)
        variables = [name for name, _, _ in node.bindings]

        def known(state: Sequence[Tensor]) -> dict[str, Tensor]:
            return {**inner, **dict(zip(variables, state, strict=True))}

        def body(*state: Tensor) -> tuple[Tensor, ...]:
            before, after = known(state), known(state)
            for name, _, update in node.bindings:
                after[name] = self.value(update, after if node.op == "while*" else before, depth + 1)
            return tuple(after[name] for name in variables)

        condition, result = node.args
        start = [inner[name] for name in variables]
        end = while_loop(lambda *state: self.value(condition, known(state), depth + 1), body, *start)
        return self.value(result, known(end), depth + 1)


def _operation(node: Node) -> Callable[..., Any]:
    if node.op == "if":
        return ops.where
    if node.op in _COMPARISONS:
        return _COMPARISONS[node.op]
    if node.op in ("and", "or", "not"):
        return getattr(ops, f"logical_{node.op}")
    if node.op == "-" and len(node.args) == 1:
        return ops.neg
    return functions()[_NAMES.get(node.op, node.op)]


def parse(text: str, inputs: Sequence[str] | None = None, name: str = "fpcore") -> FPCore:
    """The FPCore of a text: a whole `(FPCore ...)`, or a body with `inputs` named beside it."""
    forms = read_forms(text)
    if len(forms) != 1:
        _refuse(0, f"found {len(forms)} expressions", "allowed is one")
    return core(forms[0], inputs, name)


def core(form: Form, inputs: Sequence[str] | None = None, name: str = "fpcore") -> FPCore:
    """The FPCore of one form."""
    if isinstance(form, Listing) and form.head == "FPCore":
        return _whole(form, name)
    if inputs is None:
        _refuse(form.at, "found a body without inputs", "allowed is (FPCore (x ...) body)")
    return FPCore(tuple(inputs), _node(form, frozenset(inputs)), name)


def _whole(form: Listing, name: str) -> FPCore:
    rest = list(form.items[1:])
    if rest and isinstance(rest[0], Atom):
        name = rest.pop(0).text  # type: ignore[union-attr]  # an Atom
    if not rest or not isinstance(rest[0], Listing):
        _refuse(form.at, "found no list of inputs", "allowed is (FPCore (x ...) body)")
    inputs = [_input(item) for item in rest.pop(0).items]  # type: ignore[union-attr]  # a Listing
    while len(rest) > 2 and isinstance(rest[0], Atom) and rest[0].text.startswith(":"):
        name = rest[1].text if rest[0].text == ":name" and isinstance(rest[1], Atom) else name
        rest = rest[2:]
    if len(rest) != 1:
        _refuse(form.at, f"found {len(rest)} bodies", "allowed is one, behind the properties")
    return FPCore(tuple(inputs), _node(rest[0], frozenset(inputs)), name.strip('"'))


def _input(item: Form) -> str:
    if isinstance(item, Listing):
        _refuse(item.at, "found an input with annotations or dimensions", "allowed are names of scalars")
    return item.text


def _node(form: Form, names: frozenset[str]) -> Node:
    if isinstance(form, Atom):
        return _atom(form, names)
    match form.head:
        case "let" | "let*" | "while" | "while*":
            return _binding(form, names)
        case "!" | "cast" | "tensor" | "tensor*" | "for" | "for*" | "ref" | "dim" | "size" | "digits":
            _refuse(form.at, f"found {form.head!r}", "allowed are scalars in the run's own format")
        case "array":
            return Node("array", tuple(_node(item, names) for item in form.items[1:]), form.at)
    return _applied(form.head, form, [_node(item, names) for item in form.items[1:]])


def _atom(form: Atom, names: frozenset[str]) -> Node:
    if form.text in names:
        return Node("name", at=form.at, text=form.text)
    known = {**CONSTANTS, **_SPECIALS, **{truth: truth for truth in _TRUTHS}}
    if form.text in known:
        return Node("number", at=form.at, text=known[form.text])
    if re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?|[-+]?\d+/0*[1-9]\d*", form.text):
        return Node("number", at=form.at, text=_plain(form.text))
    return _refuse(form.at, f"unknown name {form.text!r}", f"known are {', '.join(sorted(names))} and constants")


def _plain(text: str) -> str:
    """The exact ratio; a zero keeps its sign."""
    value = Fraction(text)
    return str(value) if value else ("-0.0" if text.startswith("-") else "0.0")


def _applied(op: str, form: Listing, args: list[Node]) -> Node:
    known = {*functions(), *_NAMES, *_COMPARISONS, "if", "and", "or", "not"}
    if op not in known:
        _refuse(form.at, f"unknown operation {op!r}", f"known are {', '.join(sorted(known))}")
    if op in _FOLDED and len(args) > 2:
        return _nested(op, form, args)
    if op in _COMPARISONS and len(args) > 2:
        pairs = [Node(op, pair, form.at) for pair in itertools.pairwise(args)]
        return reduce(lambda one, two: Node("and", (one, two), form.at), pairs)
    wanted = _arity(op)
    if len(args) not in wanted:
        _refuse(form.at, f"{op} has {len(args)} arguments", f"it takes {' or '.join(map(str, wanted))}")
    return Node(op, tuple(args), form.at)


def _nested(op: str, form: Listing, args: list[Node]) -> Node:
    """(+ a b c) as (+ (+ a b) c); an outer one stands where its last argument does."""
    inner = Node(op, (args[0], args[1]), form.at)
    for item, argument in zip(form.items[3:], args[2:], strict=True):
        inner = Node(op, (inner, argument), item.at - 1)
    return inner


def _arity(op: str) -> tuple[int, ...]:
    from precdiff.kernels.expression import operands

    fixed = {"-": (1, 2), "+": (2,), "*": (2,), "/": (2,), "if": (3,), "and": (2,), "or": (2,), "not": (1,)}
    if op in fixed:
        return fixed[op]
    return (2,) if op in _COMPARISONS else (operands(functions()[_NAMES.get(op, op)]),)


def _binding(form: Listing, names: frozenset[str]) -> Node:
    loop, star = form.head.startswith("while"), form.head.endswith("*")
    wanted = 4 if loop else 3
    if len(form.items) != wanted or not isinstance(form.items[-2], Listing):
        _refuse(form.at, f"{form.head} has {len(form.items) - 1} parts", f"it takes {wanted - 1}")
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
        _refuse(form.at, "found a binding of another form", f"allowed are a name and {length - 1} expressions")
    return form.items[0].text, *form.items[1:]


def _refuse(at: int, found: str, allowed: str) -> NoReturn:
    raise KernelError(f"FPCore, at character {at + 1}: {found}; {allowed}.")
