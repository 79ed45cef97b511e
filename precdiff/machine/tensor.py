"""Tensor: values in one machine's number system, immutable, with numpy's operators.

It knows its planes (the machine's representation: one array for emulated values, (lo, hi) for intervals ...), its
declared format and its machine; it must not know how anything is rounded. Operators call ops, ops ask the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.formats import Format

_CHOOSE = "Use where(condition, a, b), or decide(condition) for a single one."
_ADVICE = "use the functions of precdiff.ops, which every machine knows"

#: numpy's ufunc of each operator
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "add": ops.add, "subtract": ops.sub, "multiply": ops.mul, "divide": ops.div, "power": ops.power,
    "matmul": ops.matmul, "equal": ops.eq, "not_equal": ops.ne, "less": ops.lt, "less_equal": ops.le,
    "greater": ops.gt, "greater_equal": ops.ge,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tensor:
    """`planes`: equal-shaped arrays; `id`: the tensor's name in a trace, empty outside one."""

    planes: tuple[np.ndarray, ...]
    format: Format
    machine: Any
    id: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as numpy's."""
        return self.planes[0].shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.planes[0].ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.planes[0].size

    @property
    def T(self) -> Tensor:  # noqa: N802 - numpy's name
        """The transpose."""
        return self.transpose()

    def __repr__(self) -> str:
        return f"Tensor({self.id or '-'}, {self.format.name}, shape={self.shape})"

    def __len__(self) -> int:
        if not self.shape:
            raise KernelError("len() of a tensor without axes")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise KernelError(
            "a kernel branched on a tensor: its value differs between number systems, so one source would take "
            f"different paths. {_CHOOSE}"
        )

    def __float__(self) -> NoReturn:
        raise KernelError(
            "a kernel took a tensor for a number: its value differs between number systems. Functions of math are in "
            f"precdiff.ops, too. {_CHOOSE}"
        )

    def __int__(self) -> NoReturn:
        self.__float__()

    def __index__(self) -> NoReturn:  # noqa: PLE0305 - it never returns
        self.__float__()

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise KernelError(f"numpy was called on a Tensor; {_ADVICE}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        # an operator with a numpy scalar or array on its left arrives here
        op = _OPERATORS.get(ufunc.__name__)
        if op is None or method != "__call__" or kwargs:
            raise KernelError(f"numpy.{ufunc.__name__} was called on a Tensor; {_ADVICE}")
        # numpy makes its own scalars arrays without axes
        return op(*(i[()] if isinstance(i, np.ndarray) and i.ndim == 0 else i for i in inputs))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise KernelError("tensors are immutable; write x = ops.update(x, index, value)")

    def __getitem__(self, index: Any) -> Tensor:
        return _tensor(ops.getitem(self, index))

    def __add__(self, other: Any) -> Tensor:
        return _tensor(ops.add(self, other))

    def __radd__(self, other: Any) -> Tensor:
        return _tensor(ops.add(other, self))

    def __sub__(self, other: Any) -> Tensor:
        return _tensor(ops.sub(self, other))

    def __rsub__(self, other: Any) -> Tensor:
        return _tensor(ops.sub(other, self))

    def __mul__(self, other: Any) -> Tensor:
        return _tensor(ops.mul(self, other))

    def __rmul__(self, other: Any) -> Tensor:
        return _tensor(ops.mul(other, self))

    def __truediv__(self, other: Any) -> Tensor:
        return _tensor(ops.div(self, other))

    def __rtruediv__(self, other: Any) -> Tensor:
        return _tensor(ops.div(other, self))

    def __pow__(self, other: Any) -> Tensor:
        return _tensor(ops.power(self, other))

    def __rpow__(self, other: Any) -> Tensor:
        return _tensor(ops.power(other, self))

    def __matmul__(self, other: Any) -> Tensor:
        return _tensor(ops.matmul(self, other))

    def __neg__(self) -> Tensor:
        return _tensor(ops.neg(self))

    def __abs__(self) -> Tensor:
        return _tensor(ops.abs_(self))

    def __and__(self, other: Any) -> Tensor:
        return _both("and", self, other)

    def __or__(self, other: Any) -> Tensor:
        return _both("or", self, other)

    def __xor__(self, other: Any) -> Tensor:
        return _both("xor", self, other)

    def __invert__(self) -> Tensor:
        return _both("not", self)

    def __lt__(self, other: Any) -> Tensor:
        return _tensor(ops.lt(self, other))

    def __le__(self, other: Any) -> Tensor:
        return _tensor(ops.le(self, other))

    def __gt__(self, other: Any) -> Tensor:
        return _tensor(ops.gt(self, other))

    def __ge__(self, other: Any) -> Tensor:
        return _tensor(ops.ge(self, other))

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as numpy's
        return _tensor(ops.eq(self, other))

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as numpy's
        return _tensor(ops.ne(self, other))

    __hash__ = object.__hash__

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape."""
        return _tensor(ops.reshape(self, shape[0] if isinstance(shape[0], list | tuple) else shape))

    def transpose(self, *axes: int) -> Tensor:
        """The axes permuted, reversed by default."""
        return _tensor(ops.transpose(self, axes or None))

    def astype(self, to: str) -> Tensor:
        """The values cast to another format."""
        return _tensor(ops.cast(self, to))


def _tensor(value: Any) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _both(name: str, x: Tensor, *others: Any) -> Tensor:
    """The logical operation on bools, the bitwise one on integers."""
    kind = "logical" if x.format.kind == "bool" else "bitwise"
    return _tensor(getattr(ops, f"{kind}_{name}")(x, *others))
