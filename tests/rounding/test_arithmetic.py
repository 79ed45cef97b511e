"""+ - * / sqrt and fma against exact rational arithmetic rounded once, in every direction.

10^4 operand tuples for each operation, format and direction in `make test`, 10^6 with PRECDIFF_EXHAUSTIVE=1. Operands:
random codes (subnormals, infinities and NaNs come by themselves), every combination of special values, and tuples built
so that the exact result lies on or a hair beside a value or a midpoint. Nearest-even is also held to the host on 10^6
tuples: fp32 and fp64 are the processor's own, fp16 is numpy's.
"""

import math
import os
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

import precdiff.rounding
from precdiff.errors import PrecDiffError
from precdiff.formats import from_bits, get_format
from precdiff.rounding import DIRECTIONS, Rounding, add, divide, fma, multiply, round_array, round_exact, sqrt
from tests.rounding.edges import same

COUNT = 10**6 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 10**4
DETERMINISTIC = [direction for direction in DIRECTIONS if direction != "stochastic"]
ARITY = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "sqrt": 1, "fma": 3}
HOST = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "sqrt": np.sqrt}


def random_values(fmt, count, rng):
    codes = rng.integers(0, 2**fmt.bits, count, dtype=np.uint64, endpoint=False)
    return from_bits(codes, fmt)


def specials(fmt):
    positive = [0.0, 1.0, 1.5, 3.0, fmt.min_subnormal, fmt.min_normal, fmt.max_finite, math.inf, 2.0**-5]
    positive += [fmt.min_normal - fmt.min_subnormal, 1 - fmt.u, 1 + 2 * fmt.u, fmt.max_finite / 2]
    return [sign * x for x in positive for sign in (1, -1)] + [math.nan]


def near_ties(fmt, count, rng, operation):
    """Operands whose exact result is a value or a midpoint plus something far below."""
    a = rng.uniform(1, 2, count) * np.exp2(rng.integers(-4, 5, count)) * rng.choice([-1, 1], count)
    a = round_array(a, Rounding(fmt)).astype(np.float64)
    ulp = np.exp2(np.floor(np.log2(np.abs(a)))) * 2 * fmt.u
    half = ulp * rng.choice([0.5, -0.5, 1.5, 0.25, 2.0**-20], count)
    hair = ulp * np.exp2(rng.integers(-12, 0, count)) * rng.choice([-1, 0, 1], count)
    if operation in ("add", "subtract"):
        b = half + hair
    elif operation == "multiply":
        b = 1 + rng.choice([1, -1, 3, 5], count) * 2.0 ** -rng.integers(1, fmt.p, count)
    elif operation == "divide":
        a, b = a * 3, np.where(rng.random(count) < 0.5, 3.0, a)
    elif operation == "fma":
        small = np.exp2(np.floor(np.log2(np.abs(a))) + rng.integers(-4, 1, count))
        return [round_array(x, Rounding(fmt)) for x in (half / small, small * (1 + 2 * fmt.u), a)]
    else:
        root = round_array(np.abs(a), Rounding(fmt)).astype(np.float64)
        return [round_array(root * root, Rounding(fmt))]
    return [round_array(x, Rounding(fmt)) for x in (a, b)]


def batches(operation, name, count=COUNT):
    """Columns of operands in batches of at most 10^5 tuples; the first has every combination of specials, too."""
    fmt, arity, size = get_format(name), ARITY[operation], min(count, 10**5)
    for seed in range(count // size):
        rng = np.random.default_rng([seed, *map(ord, operation + name)])
        wild = [random_values(fmt, size // 2, rng) for _ in range(arity)]
        tame = [round_array(rng.standard_normal(size // 4), Rounding(fmt)) for _ in range(arity)]
        parts = [wild, tame, near_ties(fmt, size // 4, rng, operation)]
        if seed == 0:
            parts.append(np.array(list(product(specials(fmt), repeat=arity)), fmt.carrier).T)
        yield [np.concatenate(column) for column in zip(*parts, strict=True)]


def exact_root(x):
    """The square root as a rational: exact where it is one, else wrong by less than 2^-300 of itself."""
    with mpmath.workprec(400):
        root = mpmath.sqrt(mpmath.mpf(x))
    sign, significand, exponent, _ = root._mpf_
    return (-1) ** sign * Fraction(int(significand)) * Fraction(2) ** int(exponent)


def exact_result(operation, row):
    """The real result as a Fraction, or the float IEEE 754-2019 gives where it is no real number or an exact zero."""
    real = all(map(math.isfinite, row))
    pole = (operation == "divide" and row[1] == 0) or (operation == "sqrt" and row[0] <= 0)
    if real and not pole:
        fractions = [Fraction(x) for x in row]
        if operation == "fma":
            value = fractions[0] * fractions[1] + fractions[2]
        elif operation == "sqrt":
            value = exact_root(row[0])
        else:
            a, b = fractions
            value = {"add": a + b, "subtract": a - b, "multiply": a * b}[operation] if operation != "divide" else a / b
        if value:
            return value
    # no real number: magnitudes do not matter, only signs, zeros, infinities and NaNs
    scaled = [math.copysign(1.0, x) if math.isfinite(x) and x else x for x in row]
    with np.errstate(all="ignore"):
        x = [np.float64(value) for value in (row if real else scaled)]
        if operation == "fma":
            p = np.copysign(1.0, x[0]) * np.copysign(1.0, x[1]) if real and row[0] and row[1] else x[0] * x[1]
            return float(p * 0 + x[2] * 0) if real else float(p + x[2])
        return float(HOST[operation](*x))


def rounded_once(results, rows, operation, rounding):
    """Round exact results; an exact zero of opposite signs is -0 when rounding down (IEEE 754-2019, 6.3)."""
    values = [round_exact(result, rounding) for result in results]
    if rounding.direction != "down" or operation not in ("add", "subtract", "fma"):
        return values
    return [
        -0.0 if isinstance(result, float) and value == 0 and opposite(operation, row) else value
        for value, result, row in zip(values, results, rows, strict=True)
    ]


def opposite(operation, row):
    signs = [math.copysign(1.0, x) for x in row]
    first, second = (signs[0] * signs[1], signs[2]) if operation == "fma" else signs
    return first != (-second if operation == "subtract" else second)


def assert_rounded_once(operation, columns, roundings):
    """Hold one operation to exact arithmetic for each rounding of the same operands."""
    with np.errstate(invalid="ignore"):
        rows = list(zip(*(column.astype(np.float64).tolist() for column in columns), strict=True))
    results = [exact_result(operation, row) for row in rows]
    for rounding in roundings:
        found = getattr(precdiff.rounding, operation)(*columns, rounding)
        wrong = ~same(found, rounded_once(results, rows, operation, rounding))
        assert found.dtype == rounding.format.carrier
        assert not wrong.any(), [(rounding, rows[i], found[i]) for i in np.flatnonzero(wrong)[:5]]


@pytest.mark.parametrize("operation", list(ARITY))
@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32"])
def test_every_direction_is_the_exact_result_rounded_once(name, operation):
    for columns in batches(operation, name):
        assert_rounded_once(operation, columns, [Rounding(name, direction) for direction in DETERMINISTIC])


@pytest.mark.parametrize("operation", list(ARITY))
@pytest.mark.parametrize("name", ["e4m3fn", "e5m2"])
def test_eight_bit_formats_too(name, operation):
    for columns in batches(operation, name, 2000):
        assert_rounded_once(operation, columns, [Rounding(name, direction) for direction in DETERMINISTIC])


@pytest.mark.parametrize("operation", list(ARITY))
@pytest.mark.parametrize("source", ["fp32", "fp64"])
def test_wider_operands_are_not_rounded_first(source, operation):
    modes = product(["fp16", "bf16", "fp32", "e4m3fn"], DETERMINISTIC, ["ieee", "saturate"], ["keep", "flush"])
    roundings = [Rounding(*mode) for mode in modes]
    for columns in batches(operation, source, 10**4):
        assert_rounded_once(operation, [column[::19] for column in columns], roundings)


@pytest.mark.parametrize("operation", ["add", "subtract", "fma"])
@pytest.mark.parametrize("name", ["fp16", "bf16", "e4m3fn"])
def test_a_tie_of_the_result_is_decided_by_what_fp64_cannot_hold(name, operation):
    # operands of fp32 under a narrower result: tie + 2^-100 is a tie in fp64
    tie = np.repeat(np.float32(1 + get_format(name).u * np.array([1, 3, 5])), 3)
    hair = np.resize(np.float32([2.0**-100, -(2.0**-100), 0.0]), tie.size)
    columns = [hair, np.ones_like(hair), tie] if operation == "fma" else [tie, hair]
    assert_rounded_once(operation, columns, [Rounding(name, direction) for direction in DETERMINISTIC])
    assert_rounded_once(operation, [-column for column in columns[:-1]] + [columns[-1]], [Rounding(name)])


@pytest.mark.parametrize("operation", list(ARITY))
def test_fp64_is_the_exact_result_rounded_once(operation):
    roundings = [Rounding("fp64", *mode) for mode in product(DETERMINISTIC, ["ieee", "saturate"], ["keep", "flush"])]
    for columns in batches(operation, "fp64", 10**4):
        assert_rounded_once(operation, [column[::9] for column in columns], roundings)


@pytest.mark.parametrize("operation", list(HOST))
@pytest.mark.parametrize(("name", "dtype"), [("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)])
def test_nearest_even_is_the_hosts_own(name, dtype, operation):
    fmt, rng = get_format(name), np.random.default_rng(31)
    columns = [random_values(fmt, 10**6, rng) for _ in range(ARITY[operation])]
    with np.errstate(all="ignore"):
        expected = HOST[operation](*(column.astype(dtype) for column in columns))
    assert same(getattr(precdiff.rounding, operation)(*columns, Rounding(name)), expected).all()


@pytest.mark.parametrize("operation", list(ARITY))
def test_saturation_and_the_ascend_rule_apply_to_the_result(operation):
    rounding = Rounding("fp16", overflow="saturate", nan="zero")
    for columns in batches(operation, "fp16", 10**4):
        assert_rounded_once(operation, columns, [rounding])
        assert np.isfinite(getattr(precdiff.rounding, operation)(*columns, rounding)).all()


# CANN asc-devkit, boundary-value appendix, half in saturation mode
ASCEND = [
    ("add", (65504.0, 65504.0), 65504.0),
    ("add", (-65504.0, math.inf), 65504.0),
    ("subtract", (math.inf, math.inf), 0.0),
    ("divide", (math.inf, math.inf), 0.0),
    ("multiply", (0.0, math.inf), 0.0),
]


@pytest.mark.parametrize(("operation", "row", "expected"), ASCEND)
def test_ascends_published_rows(operation, row, expected):
    rounding = Rounding("fp16", overflow="saturate", nan="zero")
    assert getattr(precdiff.rounding, operation)(*np.float16(row), rounding) == expected


def test_a_fused_and_an_unfused_multiply_add_differ_where_ascend_can_be_probed():
    # numerics: a = b = 32 (1 + 2^-10), c = -1026, in half: fused 2^-10, two roundings 0
    a, c, half = np.float32([32 * (1 + 2.0**-10)]), np.float32([-1026.0]), Rounding("fp16")
    assert fma(a, a, c, half) == 2.0**-10
    assert add(multiply(a, a, half), c, half) == 0


def test_stochastic_is_right_on_average_and_exact_where_nothing_is_lost():
    rounding, rng = Rounding("bf16", "stochastic"), np.random.default_rng(32)
    n = 40_000
    found = add(np.full(n, 1.0, np.float32), np.full(n, 2.0**-9, np.float32), rounding, rng)
    assert set(found.tolist()) == {1.0, 1.0078125}
    assert abs(found.astype(np.float64).mean() - (1 + 2.0**-9)) < 5 * 2.0**-7 * math.sqrt(0.25 * 0.75 / n)
    assert (multiply([1.5], [2.0], rounding, rng) == 3.0).all()
    wide = divide(np.full(1000, 1.0), np.full(1000, 3.0), Rounding("fp64", "stochastic"), rng)
    assert set(wide.tolist()) == {1 / 3, np.nextafter(1 / 3, 1)}
    with pytest.raises(PrecDiffError, match="needs r"):
        add([1.0], [2.0**-9], rounding)


def test_operands_are_broadcast_and_scalars_pass():
    column, row = np.arange(3.0, dtype=np.float32)[:, None], np.arange(4.0, dtype=np.float32)
    assert add(column, row, Rounding("fp32")).shape == (3, 4)
    assert fma(column, row, 1.0, Rounding("fp16", "up")).tolist() == (column * row + 1).tolist()
    assert sqrt(4.0, Rounding("bf16")).shape == ()
    assert multiply(np.float16([2]), np.float32([3]), Rounding("bf16")).tolist() == [6.0]
    big = np.ones((300, 400), np.float32)
    assert (add(big, big[:1], Rounding("fp16", "down")) == 2).all()
