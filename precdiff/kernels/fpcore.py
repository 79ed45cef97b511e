"""FPCore 2.0, the benchmark language of FPBench (fpbench.org/spec/fpcore-2.0.html), read and run as a kernel.

`(FPCore (x) :pre (< 0 x) (- (sqrt (+ x 1)) (sqrt x)))`, or its body alone with the names of its inputs. Scalars,
let, let*, if, while, while*, array as a list of outputs; annotations that change the format inside are refused, since
the run's format says what everything is rounded to. Numbers and named constants are exact in the reference.

The tree a label speaks of is the unfolded one: let-bound names replaced by their definitions, n-ary + and * nested to
the left. `FPCore.paths` gives every place of a node in it (child indices from the root).
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from precdiff import ops
from precdiff.errors import FileError, KernelError
from precdiff.formats import get_format
from precdiff.kernels.expression import Literal, functions
from precdiff.kernels.fpcore_syntax import COMPARISONS, MAX_DEPTH, NAMES, SPECIALS, TRUTHS, Node, refuse, written
from precdiff.kernels.kernel import Kernel
from precdiff.kernels.symbolic import Form, read_forms
from precdiff.machine import Tensor
from precdiff.ops.decisions import while_loop
from precdiff.trace import Source, Trace

MAX_PATHS = 10_000

SUFFIX = ".fpcore"

#: the input of an expression that has none: a kernel has a machine and a format from its inputs
NO_INPUT = "_"


@dataclass
class FPCore:
    """An expression of inputs; `made` says which step came from which node once `kernel` has run under a recorder."""

    inputs: tuple[str, ...]
    body: Node
    name: str = "fpcore"
    made: dict[str, Node] = field(default_factory=dict)
    file: str = "fpcore"
    text: str = ""

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

    def place(self, trace: Trace) -> None:
        """Give the steps that were made their place: the line of the text, and the name they were bound to."""
        names = dict(_bound(self.body))
        for i, step in enumerate(trace.steps):
            node = self.made.get(step.id)
            if node is not None:
                line = self.text.count("\n", 0, node.at) + 1
                trace.steps[i] = replace(step, source=Source(self.file, line, names.get(node, "")))

    @cached_property
    def paths(self) -> dict[Node, list[tuple[int, ...]]]:
        """Every place of each operation in the unfolded tree."""
        found: dict[Node, list[tuple[int, ...]]] = {}
        for count, (node, path) in enumerate(_unfolded(self.body, (), {})):
            if count == MAX_PATHS:
                break
            found.setdefault(node, []).append(path)
        return found


def _bound(node: Node) -> Iterator[tuple[Node, str]]:
    """Every node that is the whole value of a name."""
    for name, *values in node.bindings:
        for value in values:
            yield value, name
            yield from _bound(value)
    for child in node.args:
        yield from _bound(child)


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
            refuse(node.at, "it is nested too deeply", f"allowed are {MAX_DEPTH} levels")
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
        if text in TRUTHS:
            return self.first.machine.constant(float(text == "TRUE"), get_format("bool"))
        special = text in SPECIALS.values() or Fraction(text) == 0
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
    if node.op in COMPARISONS:
        return COMPARISONS[node.op]
    if node.op in ("and", "or", "not"):
        return getattr(ops, f"logical_{node.op}")
    if node.op == "-" and len(node.args) == 1:
        return ops.neg
    return functions()[NAMES.get(node.op, node.op)]


def parse(text: str, inputs: Sequence[str] | None = None, name: str = "fpcore") -> FPCore:
    """The FPCore of a text: a whole `(FPCore ...)`, or a body with `inputs` named beside it."""
    forms = read_forms(text)
    if len(forms) != 1:
        raise KernelError(f"FPCore: found {len(forms)} expressions; allowed is one.")
    return core(forms[0], inputs, name)


def core(form: Form, inputs: Sequence[str] | None = None, name: str = "fpcore") -> FPCore:
    """The FPCore of one form."""
    made = written(form, inputs, name)
    return FPCore(made.inputs, made.body, made.name)


def read_core(place: str) -> FPCore:
    """The FPCore of FILE.fpcore, or FILE.fpcore:NAME where the file holds several."""
    file, _, name = place.partition(f"{SUFFIX}:")
    path = Path(file if file.endswith(SUFFIX) else file + SUFFIX)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    cores = [core(form, name=f"{path.stem}#{i}") for i, form in enumerate(read_forms(text))]
    found = [c for c in cores if name in ("", c.name)]
    if len(found) != 1:
        names = ", ".join(c.name for c in cores) or "none"
        raise KernelError(f"{path} holds {len(cores)} expressions ({names}); name one, as in {path}:NAME")
    found[0].file, found[0].text = str(path), text
    return found[0]
