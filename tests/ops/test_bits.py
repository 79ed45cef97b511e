"""bitcast: every 8- and 16-bit code against numpy's view, and what references may know of bits."""

import itertools

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import FORMATS, from_bits, get_format, to_bits
from precdiff.kernels import run_kernel
from precdiff.kernels.kernel import kernel
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine
from precdiff.machine.realarray import UNKNOWN
from precdiff.reference import total

IEEE = EmulatedMachine(get_profile("ieee"))
REFERENCES = [IntervalMachine(), DoubleDoubleMachine(), BallMachine(64), MpMachine()]
SAME_WIDTH = [
    (a, b) for a, b in itertools.permutations(FORMATS, 2)
    if get_format(a).bits == get_format(b).bits and "bool" not in (a, b) and not {a, b} & {"tf32", "hf32"}
]  # fmt: skip


def codes(fmt, count=4000):
    row = get_format(fmt)
    if row.bits <= 16:
        return np.arange(2**row.bits).astype(row.storage)
    return np.random.default_rng(row.bits).integers(0, 2**row.bits, count, row.storage)


@pytest.mark.parametrize(("source", "target"), SAME_WIDTH)
def test_codes_stay(source, target):
    x = IEEE.tensor(from_bits(codes(source), source), get_format(source))
    y = ops.bitcast(x, target)
    assert y.format.name == target
    assert (to_bits(y.planes[0], target) == codes(source)).all()
    assert (to_bits(ops.bitcast(y, source).planes[0], source) == codes(source)).all()


@pytest.mark.parametrize("machine", REFERENCES, ids=lambda m: m.name)
@pytest.mark.parametrize(("source", "target"), SAME_WIDTH)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # signalling NaNs
def test_references_know_the_bits_of_values(machine, source, target):
    """All finite values and infinities; of NaN and, where signs of zero are lost, of zeros nothing is said."""
    values = from_bits(codes(source)[:: max(1, codes(source).size // 400)], source)
    wanted = from_bits(to_bits(values, source), target)
    real = machine.reals(ops.bitcast(machine.tensor(values, get_format(source)), target))
    floats = get_format(source).is_float
    told = ~np.isnan(values) & ((values != 0) | machine.signed_zeros) if floats else np.full(values.shape, True)
    if machine.name == "interval" and get_format(target).bits == 64:  # one fp64 is not enough for all integers
        for fmt, plane in ((source, values), (target, wanted)):
            told &= get_format(fmt).is_float | (np.abs(np.asarray(plane, np.float64)) < 2.0**53)
    if machine.name != "mpmath":
        assert (real.kind[~told & (np.isnan(values) if floats else False)] == UNKNOWN).all()
    found, known = real.exact_values(get_format(target))
    nan = np.isnan(np.asarray(wanted, np.float64))
    assert known[told & ~nan].all()
    assert (found[told & ~nan] == wanted[told & ~nan]).all()


@pytest.mark.parametrize("machine", REFERENCES[:3], ids=lambda m: m.name)
def test_an_inexact_value_has_no_bits(machine):
    x = machine.tensor(np.float32([1.0, 2.0]), get_format("fp32"))
    real = machine.reals(ops.bitcast(x / 3.0, "i32"))
    assert (real.kind == UNKNOWN).all()
    assert (machine.reals(ops.bitcast(x * 3.0, "i32")).hi == np.float32([3.0, 6.0]).view(np.int32)).all()


@pytest.mark.parametrize(("source", "target"), [("fp16", "i32"), ("fp32", "bf16"), ("i8", "bool"), ("fp32", "tf32")])
def test_other_widths_are_refused(source, target):
    with pytest.raises(
        KernelError, match=rf"bitcast: {source} .* to {target} .*; allowed are formats of the same width"
    ):
        ops.bitcast(IEEE.tensor(np.zeros(1), get_format(source)), target)


@kernel
def exponent(x):
    """The exponent of an fp32 number, from its bits."""
    field = ops.bitwise_and(ops.shift_right(ops.bitcast(x, "u32"), 23), 255)
    return ops.cast(field, "i32") - 127


def test_a_kernel_of_bits_has_a_certified_reference():
    x = np.float32(np.exp2(np.random.default_rng(1).uniform(-126, 127, 300)))
    trace = run_kernel(exponent, {"x": x}, format="fp32").trace
    out = trace.outputs["out"]
    assert (trace.values[out] == np.frexp(x)[1] - 1).all()
    reference = total(trace, [out])[out]
    assert reference.status == "certified" and (reference.values.hi == trace.values[out]).all()
