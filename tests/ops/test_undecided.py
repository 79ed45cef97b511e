"""Ops that decide (round, compare, order, choose): what they give on exact operands, and on operands nothing decides.

`open_(v)` is (v + 1/3) - 1/3: exactly v, which no finite precision can tell from its neighbours. Exact operands must
give the one right value on every machine; open ones the hull of what the op might give, never a silent choice, never a
loop. docs/definitions.md holds this table.
"""

from pathlib import Path

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine

DEFINITIONS = Path(__file__).parents[2] / "docs" / "definitions.md"
FP64 = get_format("fp64")
DEVICE = EmulatedMachine(get_profile("ieee"))
ENCLOSURES = [IntervalMachine(), DoubleDoubleMachine(), BallMachine(128), BallMachine(1200)]
MACHINES = [DEVICE, *ENCLOSURES, MpMachine()]


def name_of(machine):
    return f"{machine.name}{getattr(machine, 'bits', '')}"


INF, NAN, TINY = np.inf, np.nan, 2.0**-53

#: op as written -> (function, exact operands, the value, the hull of open operands)
TABLE = {
    "floor(x)": (ops.floor, [[1.25 + 1.75]], 3.0, (2.0, 3.0)),
    "ceil(x)": (ops.ceil, [[-1.0]], -1.0, (-1.0, -0.0)),
    "ceil(-1 + 2^-53)": (ops.ceil, [[-1 + TINY]], -0.0, (-0.0, -0.0)),
    "round(x)": (ops.round_, [[2.5]], 2.0, (2.0, 3.0)),
    "trunc(x)": (ops.trunc, [[-2.0]], -2.0, (-2.0, -1.0)),
    "sign(x)": (ops.sign, [[0.0]], 0.0, (-1.0, 1.0)),
    "x == y": (ops.eq, [[1.0], [1.0]], 1.0, (0.0, 1.0)),
    "x != y": (ops.ne, [[1.0], [1.0]], 0.0, (0.0, 1.0)),
    "x < y": (ops.lt, [[1.0], [1.0]], 0.0, (0.0, 1.0)),
    "x <= y": (ops.le, [[1.0], [1.0]], 1.0, (0.0, 1.0)),
    "where(x > y, 5, 7)": (lambda x, y: ops.where(x > y, 0 * x + 5.0, 0 * y + 7.0), [[1.0], [1.0]], 7.0, (5.0, 7.0)),
    "argmax(x)": (ops.argmax, [[1.0, 3.0, 3.0]], 1.0, (1.0, 2.0)),
    "argmin(x)": (ops.argmin, [[2.0, 2.0, 5.0]], 0.0, (0.0, 1.0)),
    "argsort(x)[0]": (lambda x: ops.argsort(x)[0], [[4.0, 4.0]], 0.0, (0.0, 1.0)),
    "topk(x, 1) index": (lambda x: ops.topk(x, 1)[1][0], [[4.0, 4.0]], 0.0, (0.0, 1.0)),
    "sort(x)[0]": (lambda x: ops.sort(x)[0], [[2.0, 1.0]], 1.0, (1.0, 1.0)),
    "fmod(x, y)": (ops.fmod, [[4.0], [2.0]], 0.0, (0.0, 2.0)),
    "remainder(x, y)": (ops.remainder, [[3.0], [2.0]], -1.0, (-1.0, 1.0)),
    "quantize(x, 1)": (lambda x: ops.quantize(x, 1.0), [[2.5]], 2.0, (2.0, 3.0)),
    "cast(x, i32)": (lambda x: ops.cast(x, "i32"), [[2.5]], 2.0, (2.0, 3.0)),
    "maximum(x, y)": (ops.maximum, [[1.0], [1.0]], 1.0, (1.0, 1.0)),
    "clip(x, 0, 1)": (lambda x: ops.clip(x, 0.0, 1.0), [[1.0]], 1.0, (1.0, 1.0)),
}  # fmt: skip

#: specials are not reals: every machine gives these
SPECIALS = {
    "sort, NaN last, -0 beside 0": (ops.sort, [[NAN, 0.0, -0.0, -1.0]], [-1.0, 0.0, -0.0, NAN]),
    "argsort, stable": (ops.argsort, [[0.0, NAN, -0.0, -1.0]], [3.0, 0.0, 2.0, 1.0]),
    "argmax, first NaN": (ops.argmax, [[1.0, NAN, INF, NAN]], 1.0),
    "0 == -0": (ops.eq, [[0.0], [-0.0]], [1.0]),
    "NaN != NaN": (ops.ne, [[NAN], [NAN]], [1.0]),
    "NaN < 1": (ops.lt, [[NAN], [1.0]], [0.0]),
    "maximum(-0, 0)": (ops.maximum, [[-0.0], [0.0]], [0.0]),
    "minimum(0, -0)": (ops.minimum, [[0.0], [-0.0]], [-0.0]),
    "floor(NaN)": (ops.floor, [[NAN]], [NAN]),
    "ceil(-1/4)": (ops.ceil, [[-0.25]], [-0.0]),
    "sqrt(-0)": (ops.sqrt, [[-0.0]], [-0.0]),
    "tanh(-0)": (ops.tanh, [[-0.0]], [-0.0]),
    "sign(-0)": (ops.sign, [[-0.0]], [0.0]),
    "remainder(-4, 2)": (ops.remainder, [[-4.0], [2.0]], [-0.0]),
    "cast(NaN, i32)": (lambda x: ops.cast(x, "i32"), [[NAN]], [0.0]),
    "cast(1e30, i32)": (lambda x: ops.cast(x, "i32"), [[1e30]], [2147483647.0]),
}  # fmt: skip


def tensors(machine, arrays, made=lambda x: x):
    return [made(machine.tensor(np.array(a), FP64)) for a in arrays]


def open_(x):
    third = x.machine.constant(1.0, FP64) / 3.0
    return (x + third) - third


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("name", TABLE)
def test_exact_operands_decide(name, machine):
    call, arrays, value, _ = TABLE[name]
    lo, hi = (np.ravel(end) for end in machine.reals(call(*tensors(machine, arrays))).bounds())
    if machine.name in ("interval", "double-double") and lo != hi:
        assert lo <= value <= hi  # the first rungs round quotients outwards; the next one decides
        return
    assert lo.tolist() == hi.tolist() == [value]
    if machine.signed_zeros and value == 0:
        assert np.signbit(lo[0]) == np.signbit(value)


@pytest.mark.parametrize("machine", ENCLOSURES, ids=name_of)
@pytest.mark.parametrize("name", TABLE)
def test_open_operands_give_the_hull(name, machine):
    call, arrays, value, (low, high) = TABLE[name]
    lo, hi = (float(np.ravel(end)[0]) for end in machine.reals(call(*tensors(machine, arrays, open_))).bounds())
    assert lo <= value <= hi
    assert lo <= low and high <= hi
    width = max(1.0, high - low) * 1.0001  # a ball's radius has 30 bits
    assert lo >= low - width and hi <= high + width, "a hull, not anything"


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("name", SPECIALS)
def test_specials(name, machine):
    call, arrays, expected = SPECIALS[name]
    made = machine.reals(call(*tensors(machine, arrays)))
    values = np.ravel(made.values())
    np.testing.assert_array_equal(values, np.ravel(expected))
    if machine.signed_zeros:
        numbers = ~np.isnan(values)
        assert (np.signbit(values) == np.signbit(np.ravel(expected)))[numbers].all()


@pytest.mark.parametrize("machine", ENCLOSURES, ids=name_of)
def test_a_branch_on_what_is_open_is_refused(machine):
    (x,) = tensors(machine, [[1.0]], open_)
    with pytest.raises(KernelError, match="cannot decide the condition"):
        ops.decide(x > 1.0)


def shown(number):
    return f"{number:g}" if number or not np.signbit(number) else "-0"


def lines():
    for name, (_, arrays, value, (low, high)) in TABLE.items():
        operands = ", ".join(str([float(v) for v in a]) if len(a) > 1 else f"{a[0]:.17g}" for a in arrays)
        hull = shown(low) if low == high else f"{shown(low)} to {shown(high)}"
        yield f"| `{name}` | {operands} | {shown(value)} | {hull} |"
    for name, (_, _, expected) in SPECIALS.items():
        yield f"| {name} | | {', '.join(shown(v) for v in np.ravel(expected))} | |"


def test_the_definitions_hold_this_table():
    text = DEFINITIONS.read_text(encoding="utf-8")
    assert [line for line in lines() if line not in text] == []
