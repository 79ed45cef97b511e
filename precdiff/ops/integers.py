"""Integer arithmetic: what ops mean on i8 ... u64, and the ops that only integers have.

    add sub mul neg abs minimum maximum sign clip, comparisons   as on reals
    floor ceil round trunc                                       the integer itself
    floor_divide floor_mod                                       floor(x / y) and x - y floor(x / y), the sign of y, as
                                                                 numpy's and torch's // and %; 0 where y = 0
    bitwise_and bitwise_or bitwise_xor bitwise_not               on two's complement
    shift_left shift_right                                       x 2^y and floor(x / 2^y); a count below 0 or beyond the
                                                                 width moves every bit out, as in numpy

Results are exact integers, wrapped modulo 2^bits (two's complement). A device saturates instead where its profile says
`overflow` saturate and names the format among `saturated_formats`: the reference then still wraps, and the comparison
shows the difference. All other ops are refused on integers; integers and floats meet by `cast` only.

A reference's operand that is not known exactly leaves the result anywhere in the format's range.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format
from precdiff.ops.op import Planes, Structural, common_format

#: shifts from this count on leave no bit of any format
_ALL_BITS = 64


@dataclass(frozen=True)
class IntegerFunction:
    """`exact` on Python integers is the definition; `host` the numpy function that gives it wrapped."""

    exact: Callable[..., int]
    host: Callable[..., Any]


@dataclass(frozen=True)
class IntegerOp(Structural):
    """An op of integers only."""

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The operands' format, which is an integer's."""
        common = common_format(self.name, formats)
        if common.kind != "int":
            raise KernelError(f"{self.name}: found {common.name}; allowed are i8 ... u64. Use cast(x, 'i32').")
        return common


def _floor_divide(x: int, y: int) -> int:
    return x // y if y else 0


def _floor_mod(x: int, y: int) -> int:
    return x % y if y else 0


def _shift_left(x: int, y: int) -> int:
    return x << y if 0 <= y < _ALL_BITS else 0


def _shift_right(x: int, y: int) -> int:
    return x >> (y if 0 <= y < _ALL_BITS else _ALL_BITS)


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def _clip(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def _same(x: Any) -> Any:
    return x


FUNCTIONS: Mapping[str, IntegerFunction] = {
    "add": IntegerFunction(operator.add, np.add),
    "sub": IntegerFunction(operator.sub, np.subtract),
    "mul": IntegerFunction(operator.mul, np.multiply),
    "neg": IntegerFunction(operator.neg, np.negative),
    "abs": IntegerFunction(abs, np.abs),
    "minimum": IntegerFunction(min, np.minimum),
    "maximum": IntegerFunction(max, np.maximum),
    "sign": IntegerFunction(_sign, np.sign),
    "clip": IntegerFunction(_clip, lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), IntegerFunction(_same, _same)),
    "floor_divide": IntegerFunction(_floor_divide, np.floor_divide),
    "floor_mod": IntegerFunction(_floor_mod, np.remainder),
    "bitwise_and": IntegerFunction(operator.and_, np.bitwise_and),
    "bitwise_or": IntegerFunction(operator.or_, np.bitwise_or),
    "bitwise_xor": IntegerFunction(operator.xor, np.bitwise_xor),
    "bitwise_not": IntegerFunction(operator.invert, np.bitwise_not),
    "shift_left": IntegerFunction(_shift_left, np.left_shift),
    "shift_right": IntegerFunction(_shift_right, np.right_shift),
}


def function(name: str, format: Format) -> IntegerFunction:
    """What the op means on integers; refused where it means nothing."""
    if name not in FUNCTIONS:
        raise KernelError(
            f"{name}: not defined for {format.name}; cast to a float format first. "
            f"Integers have {', '.join(FUNCTIONS)} and comparisons."
        )
    return FUNCTIONS[name]


def wrapped(name: str, arrays: Sequence[np.ndarray], format: Format) -> np.ndarray:
    """The function of arrays of the format, modulo 2^bits."""
    with np.errstate(all="ignore"):
        return np.asarray(function(name, format).host(*arrays)).astype(format.carrier, copy=False)


def saturated(name: str, arrays: Sequence[np.ndarray], format: Format) -> np.ndarray:
    """The function of arrays of the format, ending at the format's range."""
    exact = np.frompyfunc(function(name, format).exact, len(arrays), 1)(*(a.astype(object) for a in arrays))
    return np.asarray(np.clip(exact, *format.integer_range)).astype(format.carrier)


def _run(name: str) -> Callable[..., Planes]:
    def run(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
        planes: Planes = machine.integers(name, inputs, format)
        return planes

    return run


def _row(name: str) -> IntegerOp:
    return IntegerOp(name, run=_run(name))


floor_divide = _row("floor_divide")
floor_mod = _row("floor_mod")
bitwise_and = _row("bitwise_and")
bitwise_or = _row("bitwise_or")
bitwise_xor = _row("bitwise_xor")
bitwise_not = _row("bitwise_not")
shift_left = _row("shift_left")
shift_right = _row("shift_right")
