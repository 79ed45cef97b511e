"""A Tensor in a kernel: operators as numpy's, and errors that say op, shapes, what is allowed and what to do."""

import math

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels import kernel, run_kernel
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine

IEEE = EmulatedMachine(get_profile("ieee"))
MACHINES = [IEEE, IntervalMachine(), DoubleDoubleMachine(), BallMachine(), MpMachine()]


def tensor(values, fmt="fp32", machine=IEEE):
    row = get_format(fmt)
    return machine.tensor(np.asarray(values, row.carrier), row)


A, B = np.array([[1.5, -2.0, 3.0]]), np.array([[4.0], [0.5]])


OPERATORS = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "-a": lambda a, b: -a,
    "abs(a)": lambda a, b: abs(a),
    "a**2": lambda a, b: a**2.0,
    "2**b": lambda a, b: 2.0 ** (2.0 * b),
    "b @ a": lambda a, b: b @ a,
    "1 - a": lambda a, b: 1.0 - a,
    "6 / a": lambda a, b: 6.0 / a[:, :2],
    "2 * a": lambda a, b: 2 * a,
    "a < b": lambda a, b: a < b,
    "a <= 1.5": lambda a, b: a <= 1.5,
    "a > b": lambda a, b: a > b,
    "a >= 1.5": lambda a, b: a >= 1.5,
    "a == 1.5": lambda a, b: a == 1.5,
    "a != 1.5": lambda a, b: a != 1.5,
    "a[0, 1:]": lambda a, b: a[0, 1:],
    "a.T": lambda a, b: a.T,
    "a.reshape(3, 1)": lambda a, b: a.reshape(3, 1),
    "a.reshape((3,))": lambda a, b: a.reshape((3,)),
    "a.transpose(1, 0)": lambda a, b: a.transpose(1, 0),
    "np.float64 * a": lambda a, b: np.float64(2.0) * a,
    "np.float32 < a": lambda a, b: np.float32(1.0) < a,
    "np.int64 + a": lambda a, b: np.int64(3) + a,
    "sum of rows": lambda a, b: sum(row for row in b),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_operators_are_numpys(machine, name):
    result = OPERATORS[name](tensor(A, "fp64", machine), tensor(B, "fp64", machine))
    assert result.machine is machine
    assert machine.reals(result).values().tolist() == np.asarray(OPERATORS[name](A, B), np.float64).tolist()


def test_unpacking():
    first, second = tensor(B)
    assert (first.planes[0].tolist(), second.planes[0].tolist()) == ([4.0], [0.5])


def raises(function, message, **inputs):
    with pytest.raises(KernelError, match=message):
        run_kernel(kernel(function), inputs)


X, ROW, M = np.float16([1.0, 2.0]), np.float16([1.0, 2.0, 3.0]), np.float16([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: x + y, r"add: .*shapes.*\(2,\), \(3,\)"),
        (lambda x, y: ops.where(x > 0.0, y, 1.0), r"where: .*\(2,\), \(3,\)"),
        (lambda x, y: x @ y, r"matmul: allowed are \(..., m, k\) @ \(..., k, n\); reshape vectors.*\(2,\), \(3,\)"),
        (lambda x, y: x.reshape(2, 1) @ y.reshape(3, 1), r"matmul: .*\(2, 1\), \(3, 1\)"),
        (lambda x, y: ops.matmul(x.reshape(2, 1), y.reshape(1, 3), y), None),
        (lambda x, y: ops.matmul(x.reshape(2, 1), y.reshape(1, 3), x), r"matmul: .*\(2, 1\), \(1, 3\), \(2,\)"),
        (lambda x, y: x.reshape(3, 5), r"reshape: .*\(2,\)"),
        (lambda x, y: ops.broadcast_to(x, (3,)), r"broadcast_to: .*\(2,\)"),
        (lambda x, y: ops.transpose(x, (1, 0)), r"transpose: .*\(2,\)"),
        (lambda x, y: ops.concatenate([x, y.reshape(3, 1)]), r"concatenate: .*\(2,\), \(3, 1\)"),
        (lambda x, y: ops.sum_(x, axis=1), r"(axis 1 is out of bounds|sum: .*axis)"),
        (lambda x, y: ops.max_(x[:0]), r"max: no elements along axes \[0\] of shape \(0,\)"),
        (lambda x, y: x[5], r"getitem: .*index 5.*\(2,\)"),
        (lambda x, y: x[0, 0], r"getitem: .*\(2,\)"),
        (lambda x, y: x[x > 0.0], r"index: found Tensor; allowed are integers, slices, ... and None"),
        (lambda x, y: x[[0, 1]], r"index: found list; allowed are integers, slices, ... and None"),
        (lambda x, y: ops.update(x, slice(0, 2), y), r"update: .*\(2,\), \(3,\)"),
        (lambda x, y: ops.where(x, y, y), r"where: the condition is fp16, allowed is bool; compare first"),
    ],
)  # fmt: skip
def test_shape_errors_name_op_and_shapes(function, message):
    if message is None:
        assert run_kernel(kernel(function), {"x": X, "y": ROW}).outputs["out"].shape == (2, 3)
    else:
        raises(function, message, x=X, y=ROW)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: x + y, r"add: operands have formats fp16, fp32; they must agree. Use cast\(x, 'fp16'\)"),
        (lambda x, y: x.reshape(1, 2) @ y.reshape(2, 1), r"matmul: operands have formats fp16, fp32.*cast"),
        (lambda x, y: ops.where(x > 0.0, x, y), r"where: operands have formats fp16, fp32.*cast"),
        (lambda x, y: ops.concatenate([x, y]), r"concatenate: operands have formats fp16, fp32.*cast"),
        (lambda x, y: ops.update(x, 0, y[0]), r"update: operands have formats fp16, fp32.*cast"),
        (lambda x, y: ops.maximum(y, x), r"maximum: operands have formats fp32, fp16.*cast"),
    ],
)
def test_mixed_formats_name_cast(function, message):
    raises(function, message, x=X, y=np.float32(X))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x[0] > 0.0 else -x, r"branched on a tensor.*Use where\(condition, a, b\)"),
        (lambda x: ops.exp(x) and x, r"branched on a tensor.*Use where\(condition, a, b\)"),
        (lambda x: max(x[0], x[1]), r"branched on a tensor"),
        (lambda x: np.exp(-x), r"numpy.exp was called on a Tensor; use the functions of precdiff.ops"),
        (lambda x: np.sum(-x), r"numpy.add was called on a Tensor; use the functions of precdiff.ops"),
        (lambda x: np.maximum(x, 0.0), r"numpy.maximum was called on a Tensor"),
        (lambda x: np.where(x > 0.0, x, x), r"numpy was called on a Tensor; use the functions of precdiff.ops"),
        (lambda x: np.asarray(-x), r"numpy was called on a Tensor"),
        (lambda x: math.exp(x[0]), r"took a tensor for a number.*precdiff.ops"),
        (lambda x: float(x[0]), r"took a tensor for a number.*where\(condition, a, b\)"),
        (lambda x: list(range(x[0])), r"took a tensor for a number"),
        (lambda x: np.ones(2) * x, r"mul: found an argument of type ndarray; allowed are Tensors and real numbers"),
        (lambda x: x * [1.0, 2.0], r"mul: found an argument of type list; allowed are Tensors and real numbers"),
        (lambda x: x * 1j, r"mul: found an argument of type complex"),
        (lambda x: x + "1", r"add: found an argument of type str"),
        (lambda x: x + None, r"add: found an argument of type NoneType"),
        (lambda x: x.__setitem__(0, 1.0), r"tensors are immutable; write x = ops.update\(x, index, value\)"),
        (lambda x: ops.exp(1.0), r"exp: no argument is a Tensor; found float"),
        (lambda x: len(x[0]), r"len\(\) of a tensor without axes"),
        (lambda x: ops.exp(ops.cast(x, "i32")), r"exp: not defined for i32"),
        (lambda x: ops.cast(x, "fp17"), r"unknown format 'fp17'. Did you mean 'fp1"),
        (lambda x: ops.cast(x, "fp16", mode="upp"), r"unknown direction 'upp'. Did you mean 'up'\?"),
        (lambda x: ops.sum_(x, acc="fp33"), r"unknown format 'fp33'. Did you mean 'fp32'\?"),
    ],
)  # fmt: skip
def test_what_a_kernel_may_not_do(function, message):
    raises(function, message, x=X)


def test_item_assignment():
    def assigning(x):
        x[0] = 1.0
        return x

    raises(assigning, r"tensors are immutable; write x = ops.update\(x, index, value\)", x=X)


def test_machines_do_not_mix():
    one, other = tensor([1.0]), tensor([1.0], machine=IntervalMachine())
    with pytest.raises(KernelError, match="add: its arguments live on different machines; run the whole kernel on one"):
        one + other


def test_repr_names_format_and_shape():
    assert repr(tensor(A, "bf16")) == "Tensor(-, bf16, shape=(1, 3))"


def test_numbers_take_the_operands_format():
    """Once, to nearest; the reference uses the binary64 value."""
    trace = run_kernel(kernel(lambda x: x * 0.1), {"x": X}).trace
    assert trace.steps[0].op == "constant"
    assert trace.steps[0].params["value"] == 0.1
    assert trace.values["constant"].tolist() == float(np.float16(0.1))


def test_moves_share_nothing_with_what_they_move():
    x = tensor(M, "fp16")
    for moved in (x[0], x.T, x.reshape(4), ops.update(x, 0, 9.0), ops.broadcast_to(x, (3, 2, 2))):
        assert moved.planes[0].size
    assert x.planes[0].tolist() == M.tolist()
