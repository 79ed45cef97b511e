"""Into integers and from integers: directions against Python's own floor, ceil, trunc and round on rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from precdiff.formats import FORMATS, get_format
from precdiff.rounding import Rounding, round_array, round_exact, round_integer

INTEGERS = [name for name, fmt in FORMATS.items() if fmt.kind == "int"]
PYTHON = {
    "nearest-even": round,
    "nearest-away": lambda x: math.floor(abs(x) + Fraction(1, 2)) * (1 if x > 0 else -1),
    "toward-zero": math.trunc,
    "up": math.ceil,
    "down": math.floor,
    "to-odd": lambda x: int(x) if x == int(x) else math.floor(x) | 1,
}
VALUES = [
    sign * x
    for x in (0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.0, 126.5, 127.5, 128.5, 254.5, 255.5, 256.0)
    for sign in (1, -1)
]
LARGE = [
    sign * 2.0**k * f
    for k in (15, 16, 31, 32, 52, 62, 63, 64, 100)
    for f in (1 - 2.0**-53, 1, 1 + 2.0**-52)
    for sign in (1, -1)
]


@pytest.mark.parametrize("direction", list(PYTHON))
@pytest.mark.parametrize("name", INTEGERS)
def test_a_float_becomes_the_integer_python_gives_or_the_limit(name, direction):
    low, high = get_format(name).integer_range
    x = np.array([*VALUES, *LARGE, *np.random.default_rng(1).uniform(-300, 300, 200)])
    expected = [min(max(PYTHON[direction](Fraction(value)), low), high) for value in x.tolist()]
    found = round_integer(x, Rounding(name, direction))
    assert found.dtype == get_format(name).carrier
    assert found.tolist() == expected


@pytest.mark.parametrize("name", INTEGERS)
def test_infinities_saturate_and_nan_gives_0(name):
    low, high = get_format(name).integer_range
    assert round_array([np.inf, -np.inf, np.nan, 1e30], Rounding(name)).tolist() == [high, low, 0, high]


def test_stochastic_rounding_to_integers_is_right_on_average():
    found = round_integer(np.full(10_000, 2.25), Rounding("i8", "stochastic"), np.random.default_rng(2))
    assert set(found.tolist()) == {2, 3}
    assert abs(found.mean() - 2.25) < 5 * math.sqrt(0.25 * 0.75 / 10_000)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_saturate_in_other_integers(source, target):
    info, limits = np.iinfo(source.replace("i", "int").replace("u", "uint")), get_format(target).integer_range
    values = [
        v
        for v in (info.min, -129, -128, -1, 0, 1, 127, 128, 255, 2**31, 2**53 + 1, info.max)
        if info.min <= v <= info.max
    ]
    expected = [min(max(v, limits[0]), limits[1]) for v in values]
    assert round_array(np.array(values, info.dtype), Rounding(target)).tolist() == expected


def test_bool_says_whether_a_number_is_not_zero():
    # ISO C 6.3.1.2, numpy and torch agree, NaN included
    assert round_array([0.0, -0.0, 0.25, np.nan], Rounding("bool")).tolist() == [False, False, True, True]
    assert round_array(np.array([True, False]), Rounding("fp16")).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("direction", list(PYTHON))
@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "fp64"])
def test_wide_integers_are_rounded_once(name, direction):
    # 2^24 + 1 + 2^-30 and the like: a detour through fp64 would lose the last bit and with it a tie
    base = [2**53 + 1, 2**53 + 3, 2**62 + 2**38 + 1, 2**62 + 2**9 + 1, 2**63 - 1, 2**54 + 2**46 + 1, 3, 0]
    rounding = Rounding(name, direction)
    for dtype, values in ((np.int64, [*base, *(-v for v in base)]), (np.uint64, [*base, 2**64 - 1, 2**63 + 2**39 + 1])):
        expected = [round_exact(Fraction(value), rounding) for value in values]
        assert round_array(np.array(values, dtype), rounding).tolist() == expected


def test_wide_integers_to_fp32_are_numpys():
    values = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 100_000)
    assert (round_array(values, Rounding("fp32")) == values.astype(np.float32)).all()
    assert (round_array(values, Rounding("fp64")) == values.astype(np.float64)).all()
