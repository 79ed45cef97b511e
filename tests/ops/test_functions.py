"""The functions of exponentials, trigonometry and hyperbolic, and the exact ones of nearest and remainders.

On devices: the exact value rounded once, in every format; every code of fp16 and bf16 for functions of one operand. On
references: the exact value lies within the radius. The truth is tests/ops/truth.py. How many cases were held is printed
(pytest -rP). mpmath is asked for the 16-bit codes at which fp64, widened by 2^-40, cannot decide, and for every 64th
besides; for all of them with PRECDIFF_EXHAUSTIVE=1.
"""

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from precdiff.device import get_profile
from precdiff.formats import FORMATS, from_bits, get_format
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine
from precdiff.machine.correct_rounding import correctly_rounded
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN
from precdiff.ops import OPS
from precdiff.rounding import Rounding, round_array, round_exact
from tests.ops import truth

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"
FLOATS = [name for name, row in FORMATS.items() if row.is_float]
IEEE = EmulatedMachine(get_profile("ieee"))
MACHINES = [IntervalMachine(), DoubleDoubleMachine(), BallMachine(128)]


def same(actual, expected):
    with np.errstate(invalid="ignore"):  # signalling NaNs
        actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return equal | (np.isnan(actual) & np.isnan(expected))


def all_codes(fmt):
    return from_bits(np.arange(2**16).astype(np.uint16), fmt)


def on_device(name, arrays, fmt):
    row = get_format(fmt)
    return OPS[name](*(IEEE.tensor(a, row) for a in arrays)).planes[0]


def rounded(name, args, rounding):
    value = truth.exact(name, *args)
    return round_exact(value, rounding)


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
@pytest.mark.parametrize("name", truth.UNARY)
def test_every_code_of_a_16_bit_format(name, fmt):
    x, rounding = all_codes(fmt), Rounding(fmt)
    with np.errstate(all="ignore"):
        result = on_device(name, [x], fmt)
        value = np.asarray(OPS[name].host(np.asarray(x, np.float64)))
        ends = [round_array(value * (1 + side * 2.0**-40), rounding) for side in (-1, 1)]
    sure = same(*ends)
    assert same(result, ends[0])[sure].all()
    step = 1 if EXHAUSTIVE else 64
    chosen = np.flatnonzero(~sure | ((np.arange(x.size) + len(name)) % step == 0))
    wrong = [i for i in chosen.tolist() if not same(result[i], rounded(name, [float(x[i])], rounding))]
    print(f"{name} {fmt}: {x.size} codes, {chosen.size} by mpmath, {len(wrong)} wrong")
    assert wrong == []


def sample(fmt, count, seed):
    """Random codes, moderate numbers and the places where a function ends, turns or overflows."""
    row = get_format(fmt)
    rng = np.random.default_rng(seed)
    codes = np.asarray(
        from_bits(rng.integers(0, 2**row.bits, count, np.uint64) >> row.unused_bits << row.unused_bits, row)
    )
    edges = [
        0.0, 0.5, 1.0, 1 + 2 * row.u, 1 - row.u, 1.5, 2.0, 2.5, 3.0, 8.0, 10.0, 27.0, 100.0, 1e3, np.pi, np.pi / 2,
        88.7, 103.9, 127.9, 709.7, 1023.9, row.min_subnormal, row.min_normal, row.max_finite, np.inf, np.nan,
    ]  # fmt: skip
    moderate = np.concatenate([rng.uniform(-1, 1, count), rng.uniform(-30, 30, count)])
    with np.errstate(all="ignore"):
        wide = np.concatenate([np.asarray(from_bits(codes, row), np.float64), moderate, edges, -np.array(edges)])
        return round_array(wide, Rounding(row, overflow="saturate"))


def cases(name, fmt, count):
    """Operands of the row: samples, and for more than one operand pairs of a few with many."""
    x = sample(fmt, count, len(name))
    if truth.ARITY[name] == 1:
        return [x]
    few = sample(fmt, 4, 5)[::3]
    pairs = np.array(list(itertools.product(x[:: max(1, x.size // 24)], few))).T
    mixed = np.random.default_rng(1).permutation(x)
    return [np.concatenate(c).astype(x.dtype) for c in zip(pairs, (x, mixed), strict=True)]


@pytest.mark.parametrize("fmt", FLOATS)
@pytest.mark.parametrize("name", truth.FUNCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # a signalling NaN among the codes
def test_devices_round_the_exact_value_once(name, fmt):
    arrays = cases(name, fmt, 12)
    row = get_format(fmt)
    values = [truth.exact(name, *map(float, args)) for args in zip(*arrays, strict=True)]
    count = 0
    for direction in ("nearest-even", "toward-zero", "up", "down") if fmt != "fp64" else ("nearest-even", "up"):
        rounding = Rounding(fmt, direction)
        result = correctly_rounded(OPS[name], arrays, [row] * len(arrays), rounding)
        expected = [round_exact(v, rounding) for v in values]
        wrong = ~same(result, expected)
        assert not wrong.any(), (direction, [a[wrong][:3] for a in arrays], result[wrong][:3])
        count += result.size
    print(f"{name} {fmt}: {count} roundings, 0 wrong")


def allows(real, i, value):
    """Whether element i of the array may be that value."""
    kind = int(real.kind[i])
    if kind == UNKNOWN or (isinstance(value, float) and math.isnan(value)):
        return kind in (UNKNOWN, NAN)
    if isinstance(value, float) and math.isinf(value):
        return kind == (POSITIVE_INFINITY if value > 0 else NEGATIVE_INFINITY)
    if kind in (POSITIVE_INFINITY, NEGATIVE_INFINITY):
        return abs(Fraction(value)) > Fraction(np.finfo(np.float64).max)
    if kind == FINITE and math.isinf(real.radius[i]):
        return True
    difference = abs(Fraction(value) - Fraction(float(real.hi[i])) - Fraction(float(real.lo[i])))
    # the truth itself is cut at 200 bits and at 2^-5000
    slack = abs(Fraction(value)) / 2**190 + Fraction(1, 2**4000)
    return kind == FINITE and difference <= Fraction(float(real.radius[i])) + slack


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
@pytest.mark.parametrize("name", [*truth.FUNCTIONS, *truth.EXACT])
def test_references_contain_the_exact_value(name, machine):
    count = unknown = 0
    for fmt in ("fp16", "bf16", "fp32", "fp64"):
        row = get_format(fmt)
        arrays = [*cases(name, fmt, 12)]
        if name == "clip":
            arrays = [*arrays, arrays[0][::-1]]
        real = machine.reals(OPS[name](*(machine.tensor(a, row) for a in arrays)))
        function = truth.EXACT.get(name) or (lambda *args: truth.exact(name, *args))
        rows = list(zip(*(a.tolist() for a in arrays), strict=True))
        values = [function(*args) for args in rows]
        wrong = [args for i, args in enumerate(rows) if not allows(real, i, values[i])]
        assert wrong == [], (fmt, wrong[:3])
        count += real.hi.size
        open_ = [v for v, kind in zip(values, real.kind, strict=True) if kind == UNKNOWN]
        unknown += len(open_)
        # only numbers beyond flint's exponents
        assert machine.name != "ball" or all(abs(v) >= truth.HUGE for v in open_)
    print(f"{name} {machine.name}: {count} cases, {unknown} unknown, 0 outside")


@pytest.mark.parametrize("name", truth.EXACT)
@pytest.mark.parametrize("fmt", FLOATS)
def test_exact_functions_are_exact(name, fmt):
    arity, function = truth.ARITY[name], truth.EXACT[name]
    with np.errstate(all="ignore"):
        every = get_format(fmt).bits == 16 and arity == 1
        x = all_codes(fmt)[:: 1 if EXHAUSTIVE else 7] if every else sample(fmt, 30, 9)
        halves = round_array(np.arange(-20, 20) / 2, Rounding(fmt))
        columns = [np.concatenate([x, halves])]
        for i in range(1, arity):
            columns.append(np.random.default_rng(i).permutation(columns[0]))
        result = on_device(name, columns, fmt)
        rows = zip(*(c.astype(np.float64).tolist() for c in columns), strict=True)
    expected = [function(*args) for args in rows]
    wrong = ~same(result, expected)
    assert not wrong.any(), ([c[wrong][:3] for c in columns], result[wrong][:3])
    assert result.dtype == get_format(fmt).carrier
    print(f"{name} {fmt}: {result.size} cases, 0 wrong")


#: IEEE 754-2019 9.2.1 and C23 F.10, line by line: what is neither rounded nor in doubt
SPECIALS = [
    ("hypot", (-math.inf, math.nan), math.inf), ("hypot", (math.nan, math.inf), math.inf), ("hypot", (0.0, -3.0), 3.0),
    ("atan2", (0.0, 1.0), 0.0), ("atan2", (-0.0, 0.0), -0.0), ("atan2", (-0.0, math.inf), -0.0),
    ("atan2", (2.0, math.inf), 0.0), ("atan2", (-2.0, math.inf), -0.0), ("atan2", (0.0, math.nan), math.nan),
    ("exp2", (-math.inf,), 0.0), ("exp2", (10.0,), 1024.0), ("log2", (0.0,), -math.inf), ("log2", (-0.0,), -math.inf),
    ("log2", (8.0,), 3.0), ("log10", (1000.0,), 3.0), ("log10", (-1.0,), math.nan), ("cbrt", (-27.0,), -3.0),
    ("sin", (-0.0,), -0.0), ("sin", (math.inf,), math.nan), ("cos", (0.0,), 1.0), ("acos", (1.0,), 0.0),
    ("acos", (1.5,), math.nan), ("atanh", (1.0,), math.inf), ("atanh", (-1.0,), -math.inf), ("acosh", (1.0,), 0.0),
    ("cosh", (-math.inf,), math.inf), ("erfc", (-math.inf,), 2.0), ("erfc", (math.inf,), 0.0), ("erfc", (0.0,), 1.0),
    ("round", (2.5,), 2.0), ("round", (3.5,), 4.0), ("round", (-0.5,), -0.0), ("ceil", (-0.25,), -0.0),
    ("remainder", (5.0, 2.0), 1.0), ("remainder", (7.0, 2.0), -1.0), ("remainder", (-4.0, 2.0), -0.0),
    ("fmod", (-7.0, 2.0), -1.0), ("fmod", (1.0, 0.0), math.nan), ("fmod", (3.0, -math.inf), 3.0),
    ("fmin", (math.nan, 1.0), 1.0), ("fmax", (1.0, math.nan), 1.0), ("fmax", (-0.0, 0.0), 0.0),
    ("fmin", (0.0, -0.0), -0.0),
    ("copysign", (3.0, -0.0), -3.0), ("copysign", (math.inf, -1.0), -math.inf), ("clip", (5.0, -1.0, 1.0), 1.0),
]  # fmt: skip


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize(("name", "args", "expected"), SPECIALS)
def test_special_values(name, args, expected, fmt):
    row = get_format(fmt)
    assert same(on_device(name, [np.array([a], row.carrier) for a in args], fmt), [expected]).all()
    for machine in (*MACHINES, MpMachine()):
        values = machine.reals(OPS[name](*(machine.tensor(np.array([a], row.carrier), row) for a in args)))
        exact = Fraction(expected) if math.isfinite(expected) else expected
        assert allows(values, 0, exact), machine.name


@pytest.mark.parametrize("name", "sin cos tan".split())
def test_intervals_of_every_width_hold_what_is_inside(name):
    """Boxes around many points, turning points and poles among them; points in the box, not only its ends."""
    rng = np.random.default_rng(8)
    width = np.exp2(rng.uniform(-40, 4, 20_000))
    low = rng.uniform(-40, 40, width.size) * np.exp2(rng.integers(0, 20, width.size))
    high = low + width
    lo, hi = OPS[name].enclose((low, high))
    for share in np.linspace(0, 1, 41):
        inside = np.minimum(low + share * width, high)
        value = OPS[name].host(inside)
        slack = 4 * np.spacing(np.abs(value))
        assert ((lo <= value + slack) & (value - slack <= hi)).all()
    extremes = (lo == -1) | (hi == 1)
    if name != "tan":
        assert np.count_nonzero(extremes) > 1000 and np.count_nonzero(~extremes) > 1000
        assert (hi - lo)[~extremes].max() < 2
