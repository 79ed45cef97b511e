"""Logical operations: truth tables of three values (true, false, undecided) on every machine, and their refusals."""

import itertools

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine

MACHINES = [EmulatedMachine(get_profile("ieee")), IntervalMachine(), DoubleDoubleMachine(), BallMachine(), MpMachine()]
#: Kleene's strong logic of three values: minimum, maximum and complement, None being a half
OF_TWO = {"logical_and": min, "logical_or": max, "logical_xor": lambda a, b: max(min(a, 1 - b), min(1 - a, b))}


def known(machine, tensor):
    lo, hi = machine.reals(tensor).bounds()
    return np.where(lo == hi, lo, 0.5).tolist()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
@pytest.mark.parametrize("name", OF_TWO)
def test_of_two(name, machine):
    pairs = list(itertools.product([0.0, 1.0], repeat=2))
    a, b = (machine.tensor(np.array(column, bool), get_format("bool")) for column in zip(*pairs, strict=True))
    assert known(machine, getattr(ops, name)(a, b)) == [OF_TWO[name](*pair) for pair in pairs]
    operator = {"logical_and": a & b, "logical_or": a | b, "logical_xor": a ^ b}[name]
    assert known(machine, operator) == [OF_TWO[name](*pair) for pair in pairs]


@pytest.mark.parametrize("machine", MACHINES[1:4], ids=lambda m: m.name)
@pytest.mark.parametrize("name", OF_TWO)
def test_what_is_undecided_matters_only_where_it_must(name, machine):
    # (x + 1/3) - 1/3 > x for x = 1 is undecided at any finite precision but for exact equality
    x = machine.tensor(np.array([1.0, 1.0]), get_format("fp64"))
    third = machine.constant(1.0, get_format("fp64")) / 3.0
    open_ = (x + third) - third > x
    sure = machine.tensor(np.array([False, True]), get_format("bool"))
    assert known(machine, open_) == [0.5, 0.5]
    assert known(machine, getattr(ops, name)(sure, open_)) == [OF_TWO[name](v, 0.5) for v in (0, 1)]
    assert known(machine, ops.logical_not(open_)) == [0.5, 0.5]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_not(machine):
    a = machine.tensor(np.array([True, False]), get_format("bool"))
    assert known(machine, ops.logical_not(a)) == known(machine, ~a) == [0.0, 1.0]


@pytest.mark.parametrize("name", [*OF_TWO, "logical_not"])
def test_other_formats_are_refused(name):
    x = MACHINES[0].tensor(np.ones(2, np.float32), get_format("fp16"))
    with pytest.raises(PrecDiffError, match=rf"{name}: found fp16; allowed are bool tensors"):
        getattr(ops, name)(*[x] * (1 if name == "logical_not" else 2))
    truth = MACHINES[0].tensor(np.array([True, False]), get_format("bool"))
    if name != "logical_not":
        with pytest.raises(PrecDiffError, match="found int; allowed are bool tensors"):
            getattr(ops, name)(truth, 1)
