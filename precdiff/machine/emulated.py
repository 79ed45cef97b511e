"""EmulatedMachine: what the device gives. Values are carriers of their format; every rounding is the profile's.

One plane a tensor. Elementwise arithmetic is the exact result rounded once, elementary functions likewise or by the
profile's documented approximation, sums and matrix products in the profile's order and accumulator. Nothing here knows
a device: it asks the profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.errors import KernelError
from precdiff.formats import FORMATS, Format, get_format
from precdiff.machine.correct_rounding import correctly_rounded
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.realarray import RealArray, exactly
from precdiff.machine.tensor import Tensor
from precdiff.ops.integers import saturated, wrapped
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding import Rounding, arithmetic, round_array, round_exact, round_integer

#: operations on the sign bit alone, also of a NaN (IEEE 754-2019, 5.5.1)
_SIGN_BIT = ("neg", "abs", "copysign")


class EmulatedMachine(Machine):
    """The device `profile` describes; `rng` is needed for stochastic rounding only."""

    name = "emulated"
    ideal = False

    def __init__(self, profile: DeviceProfile, rng: np.random.Generator | None = None) -> None:
        self.profile = profile
        self.rng = rng

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        return (np.asarray(values, format.carrier),)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        value = round_exact(_number(params), Rounding(format)) if format.is_float else _whole(_number(params), format)
        return (np.asarray(value, format.carrier),)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        arrays = [self._read(t) for t in inputs]
        if op.exact:
            exact = self._exact(op, arrays, format)
            return (exact if op.name in _SIGN_BIT else _one_nan(exact),)
        _require_float(op.name, format)
        rounding = self.profile.rounding(format, op.name)
        if op.name == "fma" and not self.profile.fused_multiply_add.value:
            return (_one_nan(self._separate(arrays, rounding)),)
        if op.rounded is not None:
            return (_one_nan(op.rounded(*arrays, rounding, self.rng)),)
        return (_one_nan(self.function(op, arrays, [t.format for t in inputs], rounding)),)

    def integers(self, name: str, inputs: Sequence[Tensor], format: Format) -> Planes:
        arrays = [t.planes[0] for t in inputs]
        saturates = self.profile.rounding(format, name).overflow == "saturate"
        return ((saturated if saturates else wrapped)(name, arrays, format),)

    def _separate(self, arrays: Sequence[np.ndarray], rounding: Rounding) -> np.ndarray:
        """x y + z where the unit rounds the product before it adds."""
        product = arithmetic.multiply(arrays[0], arrays[1], rounding, self.rng)
        return arithmetic.add(product, arrays[2], rounding, self.rng)

    def function(
        self, op: Elementwise, arrays: Sequence[np.ndarray], formats: Sequence[Format], rounding: Rounding
    ) -> np.ndarray:
        """An elementary function of carriers of `formats`."""
        approximation = self.profile.approximations.value.get(op.name)
        if approximation is not None:
            return np.asarray(approximation(arrays, rounding))
        return correctly_rounded(op, arrays, formats, rounding, self.rng)

    def _exact(self, op: Elementwise, arrays: Sequence[np.ndarray], format: Format) -> np.ndarray:
        with np.errstate(all="ignore"):
            result = np.asarray(op.host(*arrays))
        if op.name == "ne" and self.profile.nan_compare_ne.value == "false":
            result = result & ~np.isnan(arrays[0]) & ~np.isnan(arrays[1])
        if op.name in ("maximum", "minimum") and self.profile.max_of_zeros.value == "first":
            result = np.where((arrays[0] == 0) & (arrays[1] == 0), arrays[0], result)
        return result.astype(format.carrier, copy=False)

    def _read(self, x: Tensor) -> np.ndarray:
        """The operand as the unit sees it: subnormal inputs may be flushed."""
        values = x.planes[0]
        if not x.format.is_float or self.profile.subnormal_inputs.value == "keep":
            return values
        return np.where(np.abs(values) < x.format.min_normal, np.copysign(0.0, values), values).astype(values.dtype)

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        return (np.where(condition[0], x[0], y[0]),)

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        values = self._read(x)
        if op.kind == "max":
            return (self._largest(values),)
        _require_float(op.name, x.format)
        accumulator = self._accumulator(params, "sum", x.format)
        terms = round_array(values, self.profile.rounding(accumulator, "cast"), self.rng)
        rounding = self.profile.rounding(accumulator, "sum")
        total = self.profile.sum_order.value.sum(terms, rounding, data=x.format, rng=self.rng)
        return (self._deliver(total, accumulator, format),)

    def _largest(self, values: np.ndarray) -> np.ndarray:
        """The maximum of every row; NaN propagates, and among zeros the row op's rule holds."""
        largest = np.max(values, axis=-1)
        zeros = values == 0
        if self.profile.max_of_zeros.value == "first":
            chosen = np.take_along_axis(values, np.argmax(zeros, axis=-1)[..., np.newaxis], axis=-1)[..., 0]
        else:
            chosen = np.where(np.any(zeros & ~np.signbit(values), axis=-1), np.abs(largest), largest)
        return _one_nan(np.where(largest == 0, chosen, largest).astype(values.dtype))

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        if inputs[0].format.kind == "int":
            return (_integer_product(inputs, get_format(params.get("acc") or "i32"), format),)
        _require_float("matmul", inputs[0].format)
        a, b = (self._read(t) for t in inputs[:2])
        accumulator = self._accumulator(params, "matmul", inputs[0].format)
        start = self._deliver(inputs[2].planes[0], inputs[2].format, accumulator) if len(inputs) == 3 else None
        columns = np.swapaxes(b, -1, -2)
        order = self.profile.matmul_order_for(inputs[0].format)
        product, rounding = self.profile.matmul_product.value, self.profile.rounding(accumulator, "matmul")
        rows, columns = a[..., :, None, :], columns[..., None, :, :]
        total = order.dot(rows, columns, rounding, product, c=start, data=inputs[0].format, rng=self.rng)
        return (self._deliver(total, accumulator, format),)

    def _accumulator(self, params: Mapping[str, Any], op: str, format: Format) -> Format:
        if not params.get("acc"):
            return self.profile.accumulator(op, format)
        named = get_format(params["acc"])
        if not named.is_float:
            allowed = ", ".join(name for name, row in FORMATS.items() if row.is_float)
            raise KernelError(f"{op} of {format.name}: acc is {named.name}; allowed are {allowed}")
        return named

    def _deliver(self, values: np.ndarray, format: Format, to: Format) -> np.ndarray:
        """Values on their way into or out of the accumulator."""
        return _one_nan(values if format == to else round_array(values, self.profile.rounding(to, "cast"), self.rng))

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        rounding = self.profile.rounding(format, "cast")
        if params.get("mode"):
            rounding = Rounding(format, params["mode"], rounding.overflow, rounding.subnormals, rounding.nan)
        values = x.planes[0]
        for stop in params.get("through", ()):
            values = round_array(values, self.profile.rounding(get_format(stop), "cast"), self.rng)
        if not format.is_float:
            return (round_integer(values, rounding, self.rng),)
        return (round_array(values, rounding, self.rng),)

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        return self.enter(np.asarray(lo), format)

    def reals(self, x: Tensor) -> RealArray:
        return exactly(x.planes[0])


def _number(params: Mapping[str, Any]) -> Fraction | float:
    return Fraction(params["text"]) if params.get("text") else float(params["value"])


def _whole(value: Fraction | float, format: Format) -> int:
    low, high = format.integer_range
    if not low <= value <= high or value != int(value):
        raise KernelError(f"constant: found {value} beside {format.name}; allowed are whole numbers {low} to {high}")
    return int(value)


def _integer_product(inputs: Sequence[Tensor], accumulator: Format, format: Format) -> np.ndarray:
    """a @ b [+ c] modulo the accumulator's range: exact, whatever the order (numerics A8: int8 factors, int32 sums)."""
    a, b, *rest = (t.planes[0].astype(np.int64) for t in inputs)
    with np.errstate(over="ignore"):
        total = sum(rest, start=a @ b).astype(accumulator.carrier)
    if accumulator == format:
        return total
    return round_array(total.astype(np.float64), Rounding(format)) if format.is_float else total.astype(format.carrier)


def _one_nan(values: np.ndarray) -> np.ndarray:
    """NaN results have one code: their sign and payload are the host's choice (x86 sets the sign, ARM does not)."""
    values = np.asarray(values)
    nan = np.isnan(values)
    return np.where(nan, values.dtype.type(np.nan), values) if nan.any() else values


def _require_float(op: str, format: Format) -> None:
    if not format.is_float:
        raise KernelError(f"{op}: not defined for {format.name}; cast to a float format first")
