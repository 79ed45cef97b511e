"""An arithmetic expression as a kernel: `exp(y * log(x))`, with its names as inputs.

The text is read with Python's own parser; anything but numbers, names, + - * / **, unary minus and calls of known
functions is refused, so nothing of Python can be reached. It is compiled anew, node by node: a step's file is
"expression" and its line number the column it is written at, counted from 1.

Numbers keep their exact decimal (`Literal.text`): a machine rounds it once, and the reference takes it as it stands.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.kernels.kernel import Kernel
from precdiff.ops import OPS, Elementwise

FILE = "expression"
MAX_TEXT = 10_000
MAX_DEPTH = 200
MAX_NUMBER = 400

_OPERATORS: Mapping[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_ALIASES = {"pow": "power", "min": "minimum", "max": "maximum", "ln": "log", "fabs": "abs"}
_COMPOSITES = ("sigmoid", "silu", "gelu", "softplus")
_ALLOWED = "allowed are numbers, names, + - * / **, unary minus, parentheses and calls of functions"
_ADVICE = {
    ast.BitXor: "for a power write **", ast.FloorDiv: "write floor(a / b)", ast.MatMult: "write a kernel for matrices",
    ast.Compare: "comparisons need a kernel in a file", ast.IfExp: "choices need a kernel in a file",
    ast.Attribute: "names have no parts", ast.Subscript: "inputs are used whole",
}  # fmt: skip


class Literal(float):
    """A number as it is written: `text` is its exact decimal or ratio."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, Fraction(text))
        number.text = text
        return number


def functions() -> dict[str, Callable[..., Any]]:
    """The functions an expression may call, by every name they have."""
    found: dict[str, Callable[..., Any]] = {
        name: op for name, op in OPS.items() if isinstance(op, Elementwise) and not op.result
    }
    found |= {name: getattr(ops, name) for name in _COMPOSITES}
    return found | {alias: found[name] for alias, name in _ALIASES.items()}


def expression_kernel(text: str) -> Kernel:
    """The kernel of an expression; its inputs are the names in it, in the order they appear.

    >>> list(expression_kernel("exp(y * log(x)) + 0.1").inputs)
    ['y', 'x']
    """
    return Kernel(_Compiler(text).function(), FILE)


def pieces(text: str) -> dict[int, str]:
    """The text of the sub-expression each step stands for, by the column the step is recorded at."""
    compiler = _Compiler(text)
    compiler.function()
    return compiler.pieces


class _Compiler:
    """One expression while it is read: what was found on the way, and the namespace it will run in."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"\s", " ", text).strip()
        self.functions = functions()
        self.namespace: dict[str, Any] = {"__builtins__": {}}
        self.pieces: dict[int, str] = {}
        self.inputs: list[str] = []

    def function(self) -> Callable[..., Any]:
        tree = self._parsed()
        self.inputs = self._names(tree)
        body = self._node(tree, 0)
        if not self.inputs:
            advice = "give a number a name, as in 'a + b' a=0.1 b=0.2"
            raise KernelError(f"expression {self.text!r}: found no input; {advice}.")
        parameters = ast.arguments([], [_at(ast.arg(name), 1) for name in self.inputs], None, [], [], None, [])
        made = _at(ast.Lambda(parameters, body), 1)
        code = compile(ast.Expression(made), FILE, "eval")
        function: Callable[..., Any] = eval(code, self.namespace)  # noqa: S307 - built from the nodes allowed above
        return function

    def _parsed(self) -> ast.expr:
        if len(self.text) > MAX_TEXT:
            raise KernelError(f"expression: found {len(self.text):,} characters; allowed are {MAX_TEXT:,}")
        foreign = re.search(r"[^ -~]", self.text)
        if foreign:
            self._refuse(foreign.start(), f"found {foreign[0]!r}", "allowed are ASCII characters: + - * / **")
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            offset = (error.offset or 0) - 1
            if not 0 <= offset < len(self.text):
                self._refuse(len(self.text), "it ends too early", _ALLOWED)
            self._refuse(offset, error.msg.replace("invalid syntax", "this cannot be read"), _ALLOWED)
        except (ValueError, RecursionError, MemoryError):
            self._refuse(0, "the expression is nested too deeply", f"allowed are {MAX_DEPTH} levels")

    def _names(self, tree: ast.expr) -> list[str]:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
        return list(dict.fromkeys(node.id for node in sorted(names, key=lambda node: node.col_offset)))

    def _node(self, node: ast.expr, depth: int) -> ast.expr:
        """The node to be compiled for a node that was read."""
        if depth > MAX_DEPTH:
            self._refuse(node.col_offset, "the expression is nested too deeply", f"allowed are {MAX_DEPTH} levels")
        match node:
            case ast.Constant():
                return self._number(node, _source(self.text, node))
            case ast.UnaryOp(ast.USub(), ast.Constant() as number):
                return self._number(number, "-" + _source(self.text, number), node.col_offset)
            case ast.UnaryOp(ast.USub(), operand):
                inner = self._node(operand, depth + 1)
                return self._step(node, node.col_offset, ast.UnaryOp(ast.USub(), inner))
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                sides = self._node(left, depth + 1), self._node(right, depth + 1)
                return self._step(node, self._operator(node), ast.BinOp(sides[0], operator, sides[1]))
            case ast.Call():
                return self._call(node, depth)
            case ast.Name(name):
                return self._name(node, name)
        return self._foreign(node)

    def _step(self, node: ast.expr, offset: int, made: ast.expr) -> ast.expr:
        self.pieces[offset + 1] = _source(self.text, node)
        return _at(made, offset + 1)

    def _operator(self, node: ast.BinOp) -> int:
        """Where the operator stands: between the operands, with only parentheses and blanks beside it."""
        assert node.left.end_col_offset is not None
        return self.text.index(_OPERATORS[type(node.op)], node.left.end_col_offset)

    def _number(self, node: ast.Constant, text: str, offset: int | None = None) -> ast.expr:
        """A constant step of the first input's machine and format, with the exact decimal."""
        column = node.col_offset if offset is None else offset
        problem = _number_problem(text)
        if problem:
            self._refuse(column, f"found {text[:40]}", problem)
        name = f"number {len(self.namespace)}"
        self.namespace[name] = Literal(text)
        first = _name(self.inputs[0] if self.inputs else "", column)
        machine, format = (_at(ast.Attribute(first, part, ast.Load()), column + 1) for part in ("machine", "format"))
        constant = _at(ast.Attribute(machine, "constant", ast.Load()), column + 1)
        self.pieces[column + 1] = text
        return _at(ast.Call(constant, [_name(name, column), format], []), column + 1)

    def _call(self, node: ast.Call, depth: int) -> ast.expr:
        if not isinstance(node.func, ast.Name):
            called = _source(self.text, node.func)
            self._refuse(node.col_offset, f"found a call of {called!r}", "allowed are calls of functions by name")
        name = node.func.id
        if name not in self.functions:
            hint = _near(name, self.functions)
            self._refuse(node.col_offset, f"unknown function {name!r}", f"{hint}known are {', '.join(self.functions)}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            self._refuse(node.col_offset, f"{name} is called with named or starred arguments", "allowed are plain ones")
        wanted = operands(self.functions[name])
        if len(node.args) != wanted:
            self._refuse(node.col_offset, f"{name} has {len(node.args)} arguments", f"it takes {wanted}")
        self.namespace[name] = self.functions[name]
        arguments = [self._node(arg, depth + 1) for arg in node.args]
        return self._step(node, node.col_offset, ast.Call(_name(name, node.col_offset), arguments, []))

    def _name(self, node: ast.Name, name: str) -> ast.expr:
        if name in self.functions:
            self._refuse(node.col_offset, f"{name!r} is a function", f"call it, as in {name}(x), or rename the input")
        return _name(name, node.col_offset)

    def _foreign(self, node: ast.expr) -> NoReturn:
        kind: type[ast.AST] = type(node.op) if isinstance(node, ast.BinOp) else type(node)
        advice = f"; {_ADVICE[kind]}" if kind in _ADVICE else ""
        self._refuse(node.col_offset, f"found {_source(self.text, node)!r}", f"{_ALLOWED}{advice}")

    def _refuse(self, offset: int, found: str, allowed: str) -> NoReturn:
        shown = self.text if len(self.text) <= 200 else f"{self.text[:200]}..."
        raise KernelError(f"expression {shown!r}: {found} at column {offset + 1}; {allowed}.")


def _number_problem(text: str) -> str:
    """What is wrong with a number; empty where nothing is."""
    if not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) or len(text) > MAX_NUMBER:
        return f"allowed are plain decimals of up to {MAX_NUMBER} characters, as 2, 0.1 and 1e-3"
    size, digits = abs(float(text)), re.split("[eE]", text)[0]
    if math.isinf(size) or (size == 0.0 and re.search("[1-9]", digits)):
        return "allowed are 0 and magnitudes from 5e-324 to 1.8e308"
    return ""


def _at(node: Any, line: int) -> Any:
    """The node with its place: the column of the text is the line of the code."""
    node.lineno = node.end_lineno = line
    node.col_offset = node.end_col_offset = 0
    return node


def _name(name: str, offset: int) -> ast.expr:
    made: ast.expr = _at(ast.Name(name, ast.Load()), offset + 1)
    return made


def _source(text: str, node: ast.expr) -> str:
    return text[node.col_offset : node.end_col_offset]


def operands(function: Callable[..., Any]) -> int:
    """How many operands a function takes."""
    host = function.host if isinstance(function, Elementwise) else function
    return host.nin if isinstance(host, np.ufunc) else len(inspect.signature(host).parameters)


def _near(name: str, allowed: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""
