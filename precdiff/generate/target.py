"""What data is made for: a kernel's name, a Kernel, an op or a function, as one Kernel whose inputs are all tensors.

An op has no kernel of its own; it becomes one with as many inputs as the op takes tensors. What an index or a condition
may be is a row here; an op that needs more than tensors (a shape, a format) is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from precdiff import ops
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.kernels import KERNELS, Kernel, get_kernel
from precdiff.kernels.kernel import kernel_of
from precdiff.ops import OPS, Elementwise, Op
from precdiff.ops.integers import FUNCTIONS, IntegerOp

_OPERANDS = ("x", "y", "z")

_ROWS, _PLACES = "normal(0,1,shape=(8,64))", {"indices": "i32"}
#: of ops whose operands differ: the formats of their own, and example SPECs of all
_CONSTRAINED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "where": ({"condition": "bool"}, {"condition": "uniform(-0.5,1.5,shape=(8,64))", "x": _ROWS, "y": _ROWS}),
    "take": (_PLACES, {"x": _ROWS, "indices": "uniform(0,7,shape=(16,))"}),
    "take_along": (_PLACES, {"x": _ROWS, "indices": "uniform(0,63,shape=(8,1))"}),
    "inv": ({}, {"a": "normal(0,1,shape=(4,4))"}),
    "solve": ({}, {"a": "normal(0,1,shape=(4,4))", "b": "normal(0,1,shape=(4,2))"}),
    **dict.fromkeys(
        ("scatter", "scatter_add"),
        (_PLACES, {"x": _ROWS, "indices": "uniform(0,7,shape=(4,))", "values": "normal(0,1,shape=(4,64))"}),
    ),
}
#: parameters that are no tensors, though the signature cannot say so
_NO_TENSORS = ("to", "index", "condition")


def target_kernel(target: str | Kernel | Op | Callable[..., Any]) -> Kernel:
    """The kernel to make data for.

    >>> list(target_kernel("fma").inputs), list(target_kernel("log").inputs)
    (['x', 'y', 'z'], ['x'])
    """
    if isinstance(target, Op):
        return _of_op(target)
    if isinstance(target, str) and ".py" not in target and target not in KERNELS:
        return _of_name(target)
    if inspect.isfunction(target) and (target.__module__ or "").startswith("precdiff.ops."):
        return _of_function(target.__name__.rstrip("_"), target)
    return get_kernel(target)


def _of_name(name: str) -> Kernel:
    function = getattr(ops, name, None) or getattr(ops, f"{name}_", None)
    if isinstance(function, Op) or (function is None and name in OPS):
        return _of_op(function or OPS[name])
    if not callable(function) or inspect.isclass(function):
        raise UnknownNameError("kernel or op", name, [*KERNELS, *OPS])
    return _of_function(name, function)


def _of_op(op: Op) -> Kernel:
    match op:
        case Elementwise():
            return _wrapped(op.name, op, _OPERANDS[: _arity(op.host)])
        case IntegerOp():
            return _wrapped(op.name, op, _OPERANDS[: _arity(FUNCTIONS[op.name].exact)])
    if op.name in _functions():
        return _of_function(op.name, _functions()[op.name])
    if op.name in _CONSTRAINED:
        return _wrapped(op.name, op, tuple(_CONSTRAINED[op.name][1]))
    raise _too_much(op.name)


def _too_much(name: str) -> PrecDiffError:
    return PrecDiffError(f"op {name}: it needs more than tensors; write a kernel around it, and give that")


def _functions() -> dict[str, Callable[..., Any]]:
    return {name.rstrip("_"): getattr(ops, name) for name in ops.__all__ if inspect.isfunction(getattr(ops, name))}


def _of_function(name: str, function: Callable[..., Any]) -> Kernel:
    """A function of ops/ with the parameters it cannot do without as inputs."""
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is inspect.Parameter.empty]
    if any(p.annotation != "Any" or p.name in _NO_TENSORS for p in needed):
        raise _too_much(name)
    return _wrapped(name, function, tuple(p.name for p in needed))


def _wrapped(name: str, function: Callable[..., Any], names: tuple[str, ...]) -> Kernel:
    def call(**tensors: Any) -> Any:
        return function(*(tensors[n] for n in names))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    formats, examples = _CONSTRAINED.get(name, ({}, {}))
    return kernel_of(call, name, formats=formats, examples=examples)


def _arity(host: Callable[..., Any]) -> int:
    return host.nin if isinstance(host, np.ufunc) else len(inspect.signature(host).parameters)
