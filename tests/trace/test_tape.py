"""Sweeps over a tape: derivatives on any machine, formats kept, and the steps a recorder sees."""

import math

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels import kernel, run_kernel
from precdiff.machine import EmulatedMachine, MpMachine
from precdiff.trace import Tape

FP64, FP16 = get_format("fp64"), get_format("fp16")


def swept(function, *arrays, machine=None, format=FP64):
    """Gradients of the sum of `function`, one an input."""
    machine = machine or EmulatedMachine(get_profile("ieee"))
    tape = Tape(machine)
    leaves = [tape.adopt(machine.tensor(np.asarray(a), format)) for a in arrays]
    output = function(*leaves)
    ones = machine.tensor(np.ones(output.shape), output.format)
    return tape.sweep(output, ones, leaves)


def values(tensors):
    return [t.planes[0].tolist() for t in tensors]


def test_a_chain():
    found = values(swept(lambda x: ops.exp(x * x), [0.5, -1.0]))
    assert found[0] == pytest.approx([2 * 0.5 * math.exp(0.25), -2 * math.exp(1.0)], rel=1e-15)


def test_an_operand_used_twice_gets_the_sum():
    assert values(swept(lambda x: x * x + x, [3.0])) == [[7.0]]


def test_what_broadcasting_repeated_is_summed():
    found = values(swept(lambda x, y: x * y, [[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0]]))
    assert found == [[[10.0, 20.0], [10.0, 20.0]], [[4.0, 6.0]]]


def test_an_unused_input_has_gradient_zero():
    assert values(swept(lambda x, y: x + 1.0, [2.0], [5.0])) == [[1.0], [0.0]]


def test_gradients_are_in_their_operands_formats():
    found = swept(lambda x: ops.cast(x, "fp32") * 3.0, [2.0], format=FP16)
    assert (found[0].format, values(found)) == (FP16, [[3.0]])


def test_a_product_delivered_wider_takes_its_cotangent_in_the_factors_format():
    found = swept(lambda a, b: ops.matmul(a, b, acc="fp32", out="fp32"), [[1.0, 2.0]], [[3.0], [4.0]], format=FP16)
    assert [t.format for t in found] == [FP16, FP16]
    assert values(found) == [[[3.0, 4.0]], [[1.0], [2.0]]]


def test_it_runs_on_mpmath():
    gradient = swept(ops.log, [3.0], machine=MpMachine(200))[0]
    known = gradient.machine.reals(gradient)
    assert known.hi[0] + known.lo[0] == 1 / 3


def test_the_second_derivative_is_a_tape_on_a_tape():
    machine = EmulatedMachine(get_profile("ieee"))
    outer = Tape(machine)
    one, leaf = (outer.adopt(machine.tensor(np.array([v]), FP64)) for v in (1.0, 2.0))
    inner = Tape(outer)
    seen = inner.adopt(leaf)
    (first,) = inner.sweep(seen * seen * seen, one, [seen])
    (second,) = outer.sweep(first, machine.tensor(np.ones(1), FP64), [leaf])
    assert values([first, second]) == [[12.0], [12.0]]


def test_a_gradient_of_another_shape_is_refused():
    machine = EmulatedMachine(get_profile("ieee"))
    tape = Tape(machine)
    leaf = tape.adopt(machine.tensor(np.ones(3), FP64))
    with pytest.raises(KernelError, match=r"the gradient has shape \(2,\); the output has \(3,\)"):
        tape.sweep(leaf + 1.0, machine.tensor(np.ones(2), FP64), [leaf])


def test_a_recorder_sees_the_sweep_as_steps_of_phase_backward():
    @kernel
    def slope(x):
        tape = Tape(x.machine)
        leaf = tape.adopt(x)
        return tape.sweep(ops.sqrt(leaf), x, [leaf])[0]

    steps = run_kernel(slope, {"x": np.float32([4.0])}).trace.steps
    assert [(s.op, s.phase, s.layer) for s in steps] == [
        ("sqrt", "forward", "slope"),
        *((op, "backward", "slope/d_sqrt") for op in ("constant", "mul", "div")),
    ]
