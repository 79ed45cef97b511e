"""Integer ops: exact integers, wrapped, on devices and references alike.

Every pair of i8 and u8 against Python's own integers reduced modulo 256, written here anew; wider formats at their ends
and at random; references compared with the device bit for bit.
"""

import itertools

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels import run_kernel
from precdiff.kernels.kernel import kernel
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine
from precdiff.ops import OPS
from precdiff.reference import total

FORMATS = "i8 u8 i16 u16 i32 u32 i64 u64".split()
IEEE = EmulatedMachine(get_profile("ieee"))
REFERENCES = [IntervalMachine(), DoubleDoubleMachine(), BallMachine(64), MpMachine()]


def shifted(x, y):
    return x * 2**y if 0 <= y < 64 else 0


def bitwise(x, y, of_digits):
    """Digit by digit, base 2; the digit after the last repeats for ever, and is the sign."""
    count = max(x.bit_length(), y.bit_length())
    digits = [of_digits(x // 2**i % 2, y // 2**i % 2) for i in range(count + 1)]
    return sum(d << i for i, d in enumerate(digits)) - (digits[-1] << (count + 1))


#: what Python's integers give before they are reduced
UNARY = {"neg": lambda x: 0 - x, "abs": lambda x: x if x > 0 else 0 - x, "bitwise_not": lambda x: -1 - x,
         "sign": lambda x: 0 if x == 0 else x // abs(x), "floor": lambda x: x, "round": lambda x: x}  # fmt: skip
BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "minimum": min, "maximum": max,
    "floor_divide": lambda x, y: divmod(x, y)[0] if y else 0, "floor_mod": lambda x, y: divmod(x, y)[1] if y else 0,
    "bitwise_and": lambda x, y: bitwise(x, y, lambda a, b: a * b),
    "bitwise_or": lambda x, y: bitwise(x, y, lambda a, b: a + b - a * b),
    "bitwise_xor": lambda x, y: bitwise(x, y, lambda a, b: (a + b) % 2),
    "shift_left": shifted, "shift_right": lambda x, y: divmod(x, 2**y)[0] if 0 <= y < 200 else (-1 if x < 0 else 0),
}  # fmt: skip


def reduced(value, fmt):
    """Modulo 2^bits into the format's range."""
    row = get_format(fmt)
    low, _ = row.integer_range
    return (value - low) % 2**row.bits + low


def expected(name, columns, fmt):
    function = {**UNARY, **BINARY}[name]
    return [reduced(function(*row), fmt) for row in zip(*columns, strict=True)]


def run(name, machine, columns, fmt):
    row = get_format(fmt)
    return OPS[name](*(machine.tensor(np.array(c, row.carrier), row) for c in columns))


def points(fmt, arity):
    """All tuples of edges, and pairs of random numbers of every size."""
    row = get_format(fmt)
    low, high = row.integer_range
    rng = np.random.default_rng(row.bits)
    candidates = (0, 1, 2, 3, 7, 8, 31, 63, 64, -1, -2, -7, low, low + 1, high, high - 1, high // 2)
    edges = sorted({v for v in candidates if low <= v <= high})
    drawn = [int(v) >> int(rng.integers(0, 60)) for v in rng.integers(low, high, 40, row.carrier, endpoint=True)]
    pairs = zip(*[edges + drawn, drawn + edges][:arity], strict=True)
    return [list(column) for column in zip(*itertools.product(edges, repeat=arity), *pairs, strict=True)]


@pytest.mark.parametrize("fmt", ["i8", "u8"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_pair_of_8_bit_integers(name, fmt):
    low, high = get_format(fmt).integer_range
    values = range(low, high + 1)
    columns = [list(c) for c in zip(*itertools.product(values, repeat=1 if name in UNARY else 2), strict=True)]
    assert run(name, IEEE, columns, fmt).planes[0].tolist() == expected(name, columns, fmt)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_machine_gives_the_same_integer(name, fmt):
    columns = points(fmt, 1 if name in UNARY else 2)
    wanted = expected(name, columns, fmt)
    assert run(name, IEEE, columns, fmt).planes[0].tolist() == wanted
    for machine in REFERENCES:
        values, known = machine.known(run(name, machine, columns, fmt))
        # one fp64 does not hold every 64-bit integer: such an interval is honest and not a point
        assert known.all() or machine.name == "interval"
        assert [v for v, k in zip(values.tolist(), known, strict=True) if k] == [
            v for v, k in zip(wanted, known, strict=True) if k
        ]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", "eq ne lt le gt ge".split())
def test_comparisons_are_pythons(name, fmt):
    import operator

    columns = points(fmt, 2)
    wanted = [getattr(operator, name)(*row) for row in zip(*columns, strict=True)]
    assert run(name, IEEE, columns, fmt).planes[0].tolist() == wanted
    for machine in REFERENCES[1:]:
        assert machine.reals(run(name, machine, columns, fmt)).hi.tolist() == wanted, machine.name


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_profile_may_saturate(fmt):
    profile = get_profile("ieee").with_(overflow="saturate", saturated_formats=FORMATS)
    low, high = get_format(fmt).integer_range
    for name in ("add", "sub", "mul", "neg", "shift_left"):
        columns = points(fmt, 1 if name in UNARY else 2)
        function = {**UNARY, **BINARY}[name]
        wanted = [min(max(function(*row), low), high) for row in zip(*columns, strict=True)]
        assert run(name, EmulatedMachine(profile), columns, fmt).planes[0].tolist() == wanted


@pytest.mark.parametrize("name", ["exp", "div", "sqrt", "sin", "power", "hypot", "fma", "fmod", "copysign"])
def test_functions_of_reals_are_refused(name):
    arity = 3 if name == "fma" else 2 if name in ("div", "power", "hypot", "fmod", "copysign") else 1
    for machine in (IEEE, *REFERENCES):
        with pytest.raises(
            KernelError, match=rf"{name}: not defined for i32; cast to a float format first.*bitwise_and"
        ):
            run(name, machine, [[1]] * arity, "i32")


def test_mixed_operands_name_cast():
    x, n = IEEE.tensor(np.float32([1]), get_format("fp32")), IEEE.tensor(np.int32([1]), get_format("i32"))
    for a, b in ((x, n), (n, x)):
        with pytest.raises(KernelError, match=r"add: operands have formats .* Use cast\(x"):
            a + b
    with pytest.raises(KernelError, match=r"bitwise_and: found fp32; allowed are i8 ... u64"):
        ops.bitwise_and(x, x)


@pytest.mark.parametrize(
    ("number", "fmt"), [(0.5, "i32"), (128, "i8"), (-1, "u8"), (float("inf"), "i64"), (float("nan"), "i8")]
)
def test_a_number_beside_integers_is_one_of_theirs(number, fmt):
    with pytest.raises(KernelError, match=rf"constant: found .* beside {fmt}; allowed are whole numbers"):
        IEEE.tensor(np.zeros(1, get_format(fmt).carrier), get_format(fmt)) + number


def test_large_numbers_keep_every_bit():
    big = 2**63 - 25
    for machine in (IEEE, *REFERENCES[1:]):
        x = machine.tensor(np.array([0, 1], np.int64), get_format("i64")) + big
        values, known = machine.known(x)
        assert known.all() and values.tolist() == [big, big + 1], machine.name


def test_a_cast_of_64_bit_integers_rounds_once():
    # 2^24 + 1 + 2^-... : through fp64 this integer would become a tie of fp32
    n = (2**24 + 1) * 2**38 + 1
    x = IEEE.tensor(np.array([n], np.int64), get_format("i64"))
    assert ops.cast(x, "fp32").planes[0].tolist() == [(2**24 + 2) * 2.0**38]


@kernel
def hashed(x):
    """A mixing step of xxhash, and what an undecided cast leaves open."""
    h = ops.cast(x * 3.0, "u32") * 2654435761
    return ops.bitwise_xor(h, ops.shift_right(h, 15))


def test_a_run_and_its_reference_agree_bit_for_bit():
    x = np.float32(np.random.default_rng(3).integers(0, 2**20, 500))
    trace = run_kernel(hashed, {"x": x}, format="fp32").trace
    reference = total(trace, trace.outputs.values())[trace.outputs["out"]]
    assert reference.status == "certified"
    assert (reference.values.hi == trace.values[trace.outputs["out"]]).all()
    assert (reference.values.radius == 0).all()


def test_an_operand_that_is_not_known_leaves_the_format_open():
    for machine in REFERENCES[:3]:
        x = machine.tensor(np.float32([1.0]), get_format("fp32"))
        tie = ops.cast(ops.sqrt(x * 2.0) * ops.sqrt(x * 2.0) + 0.5, "i8")  # 2.5 give or take: 2 or 3
        real = machine.reals(tie * 1)
        assert real.hi[0] - real.radius[0] <= 2 and real.hi[0] + real.radius[0] >= 3, machine.name
