"""take_along is np.take_along_axis, on every machine, and its derivative adds where an index comes twice."""

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.machine import BallMachine, EmulatedMachine, IntervalMachine, MpMachine
from precdiff.trace import Tape

FP32, I64 = get_format("fp32"), get_format("i64")
X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


def device():
    return EmulatedMachine(get_profile("ieee"))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("machine", [device(), IntervalMachine(), BallMachine(), MpMachine(100)], ids=lambda m: m.name)
def test_it_is_numpys(machine, axis):
    shape = [2 if i == axis % 3 else n for i, n in enumerate(X.shape)]
    index = np.random.default_rng(1).integers(-X.shape[axis], X.shape[axis], shape)
    found = ops.take_along(machine.tensor(X, FP32), machine.tensor(index, I64), axis)
    assert machine.reals(found).values().tolist() == np.take_along_axis(X, index, axis).tolist()


def test_an_index_that_comes_twice_gets_both_cotangents():
    machine = device()
    tape = Tape(machine)
    leaf = tape.adopt(machine.tensor(np.float32([[1, 2, 3]]), FP32))
    index = tape.adopt(machine.tensor(np.array([[2, 0, 2]]), I64))
    picked = ops.take_along(leaf, index)
    (gradient,) = tape.sweep(picked, machine.tensor(np.float32([[10, 20, 30]]), FP32), [leaf])
    assert gradient.planes[0].tolist() == [[20.0, 0.0, 40.0]]


@pytest.mark.parametrize(
    ("index", "format", "message"),
    [
        (np.array([[3]]), "i64", "take_along: index 3 is out of range for 3 elements"),
        (np.array([1]), "i64", r"take_along: indices of shape \(1,\); allowed are 2 axes, as \(1, 3\) has"),
        (np.array([[1.0]]), "fp32", "take_along: the indices are fp32; allowed are integers"),
    ],
)
def test_what_is_no_index_is_refused(index, format, message):
    machine = device()
    with pytest.raises(KernelError, match=message):
        ops.take_along(machine.tensor(np.float32([[1, 2, 3]]), FP32), machine.tensor(index, get_format(format)))
