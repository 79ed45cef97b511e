"""Framework calls: what `torch.nn.functional.linear` and its like compute, written once over ops.

A recorded call names what it computed; with its inputs and attributes that is a kernel, and its true value follows
from its own recorded inputs. One row a call in apis/, with torch's argument names, order and defaults (PyTorch 2.13,
torch.nn.functional, torch.Tensor and native_functions.yaml). This file must not know how calls were recorded.

`allowance` is the error in ULP that a device of unknown profile may show beyond the noise of the call's own formula
(DESIGN 4, foreign dumps): 0 for what only moves elements, 1/2 where it may put a number of the source among them, 1 for
+ - * / sqrt, 4 for functions and composites.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from precdiff.registry import Registry

MOVES, FILLS, ROUNDS, COMPUTES = 0.0, 0.5, 1.0, 4.0


@dataclass(frozen=True)
class Api:
    """A call: `function` over Tensors and plain values; a Tensor or a tuple of them comes back."""

    name: str
    function: Callable[..., Any]
    allowance: float
    #: the same function as devices are known to compute it, where that is noisier
    noisy: Callable[..., Any] | None = None
    #: whether devices are known to keep the formula's steps in the data's own format; else they compute in fp32
    narrow: bool = False
    #: (cotangent, output, further arguments) -> gradient, as frameworks compute it from the stored output
    saved: Callable[..., Any] | None = None
    #: whether the gradient at equal elements is a matter of convention
    ties: bool = False
    #: whether a framework computes it as several nodes of its graph, of which a hook on the result sees the last
    composite: bool = False
    #: what that last node computes, of the same arguments
    last: Callable[..., Any] | None = None

    @property
    def last_row(self) -> Api:
        """The last node as a call."""
        assert self.last is not None
        return replace(self, function=self.last, noisy=None, saved=None, last=None)

    def bound(self, positional: Sequence[Any], keywords: Mapping[str, Any]) -> inspect.BoundArguments:
        """The arguments by name; TypeError where they do not fit: then it is another call of that name."""
        return inspect.signature(self.function).bind(*positional, **keywords)


APIS: Registry[Api] = Registry("framework call", "precdiff.kernels.apis")


def api(
    *names: str, allowance: float = COMPUTES, **row: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """Register a function as what the calls of these names compute; `row` are further fields of Api."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            APIS.add(name, Api(name, function, allowance, **row))
        return function

    return register


#: classes of modules whose forward is one call on the input and the module's parameters; False where it also depends on
#: attributes that are not in a record (their defaults are tried: what fits is right)
MODULES = {
    "Linear": ("linear", True), "Embedding": ("embedding", True), "SiLU": ("silu", True), "ReLU": ("relu", True),
    "Sigmoid": ("sigmoid", True), "Tanh": ("tanh", True), "Identity": ("clone", True), "GELU": ("gelu", False),
    "Softplus": ("softplus", False), "LeakyReLU": ("leaky_relu", False), "Softmax": ("softmax", False),
}  # fmt: skip
_INPLACE = re.compile(r"(?P<name>[a-z]\w*[a-z0-9])_|__i(?P<operator>[a-z]+)__")
_OPERATOR = re.compile(r"__r?(?P<name>[a-z]+)__")
_OPERATORS = {"truediv": "div", "and": "bitwise_and", "or": "bitwise_or"}


def is_inplace(call: str) -> bool:
    """Whether a call writes over its first input: add_, __iadd__.

    >>> is_inplace("Tensor.add_"), is_inplace("Tensor.__iadd__"), is_inplace("Tensor.__add__")
    (True, True, False)
    """
    return _INPLACE.fullmatch(_last(call)) is not None


def known_api(call: str) -> Api | None:
    """The row of a recorded call, None where it is not known: never a guess.

    >>> known_api("Functional.linear").name, known_api("Tensor.__rmul__").name, known_api("aten.addmm.default").name
    ('linear', 'mul', 'addmm')
    >>> known_api("Distributed.all_reduce")
    """
    if call.partition(".")[0] in ("Distributed", "MintDistributed", "Module", "Cell"):
        return None
    name = _plain(_last(call))
    own = f"aten.{name}" if call.lower().startswith("aten.") else name
    return next((APIS[n] for n in (own, name) if n in APIS), None)


def known_module(cls: str) -> tuple[Api, bool] | None:
    """The row of a module of that class, and whether a record holds all that it depends on."""
    if cls not in MODULES:
        return None
    name, determined = MODULES[cls]
    return APIS[name], determined


def _last(call: str) -> str:
    """The name behind the prefix, without aten's overload."""
    parts = call.split(".")
    return parts[1] if parts[0].lower() == "aten" and len(parts) > 1 else parts[-1]


def _plain(name: str) -> str:
    """The name of the function an operator or an in-place call stands for."""
    for pattern in (_INPLACE, _OPERATOR):
        found = pattern.fullmatch(name)
        if found:
            inner = next(group for group in found.groups() if group)
            return _OPERATORS.get(inner, inner)
    return name
