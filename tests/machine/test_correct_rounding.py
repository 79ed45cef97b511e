"""An emulated function is the exact value rounded once: never what libm gave, never rounded twice, in any direction.

Every unary function of fp16 and bf16 is held to mpmath on all 2^16 codes. mpmath takes a minute for that, so `make
test` asks it for the codes at which fp64, widened by 2^-40, cannot decide, and for every 16th besides; all of them with
PRECDIFF_EXHAUSTIVE=1. Other formats and directions by samples, power by exact rational arithmetic.
"""

import os
from fractions import Fraction

import numpy as np
import pytest

from precdiff.device import get_profile
from precdiff.formats import from_bits, get_format
from precdiff.machine import EmulatedMachine
from precdiff.machine.correct_rounding import correctly_rounded
from precdiff.ops import OPS
from precdiff.rounding import DIRECTIONS, Rounding, round_array, round_exact
from tests.machine.truth import exact, rounded, same

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"
FUNCTIONS = "exp expm1 log log1p tanh erf rsqrt reciprocal".split()
DIRECTED = [d for d in DIRECTIONS if d not in ("nearest-even", "stochastic")]
IEEE = EmulatedMachine(get_profile("ieee"))


def all_codes(name):
    fmt = get_format(name)
    return from_bits(np.arange(2**fmt.bits).astype(fmt.storage), fmt)


def on_device(name, x, fmt, profile="ieee"):
    machine = EmulatedMachine(get_profile(profile))
    return OPS[name](machine.tensor(x, get_format(fmt))).planes[0]


def doubtful(name, x, rounding):
    """Where the host's fp64 value, widened by 2^-40, rounds in two ways."""
    with np.errstate(all="ignore"):
        value = np.asarray(OPS[name].host(np.asarray(x, np.float64)))
        ends = [round_array(value * (1 + side * 2.0**-40), rounding) for side in (-1, 1)]
    return ~same(*ends), ends[0]


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
@pytest.mark.parametrize("name", [*FUNCTIONS, "sqrt"])
def test_every_code_of_a_16_bit_format(name, fmt):
    x, rounding = all_codes(fmt), Rounding(fmt)
    result = on_device(name, x, fmt)
    unsure, expected = doubtful(name, x, rounding)
    assert same(result, expected)[~unsure].all()
    chosen = np.flatnonzero(unsure | ((np.arange(x.size) + len(name)) % (1 if EXHAUSTIVE else 16) == 0))
    wrong = [i for i in chosen.tolist() if not same(result[i], rounded(name, float(x[i]), rounding))]
    assert wrong == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_and_a_single_element_agree(name):
    x = all_codes("bf16")[::37]
    assert same(on_device(name, x[:50], "bf16"), on_device(name, all_codes("bf16"), "bf16")[::37][:50]).all()


def sample(fmt, count, seed):
    """Random codes, and the places where functions leave their range or meet an asymptote."""
    row = get_format(fmt)
    rng = np.random.default_rng(seed)
    codes = from_bits(rng.integers(0, 2**row.bits, count, np.uint64, endpoint=False), row)
    moderate = rng.uniform(-20, 20, count)
    edges = [0.0, -0.0, 1.0, -1.0, row.min_subnormal, row.max_finite, 0.5, 3.0, -1e3, 1e3, -60.0, np.inf, np.nan]
    with np.errstate(over="ignore"):
        return round_array(np.concatenate([codes, moderate, edges, -np.array(edges)]), Rounding(row))


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "e4m3fn", "e5m2"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # a signalling NaN among the codes
def test_directions_and_modes(name, fmt):
    x = sample(fmt, 60, FUNCTIONS.index(name))
    values = [exact(name, float(v)) for v in x]
    for direction in DIRECTED if fmt != "fp32" else DIRECTIONS[:-1]:
        for overflow, subnormals in (("ieee", "keep"), ("saturate", "flush")):
            rounding = Rounding(fmt, direction, overflow, subnormals)
            result = correctly_rounded(OPS[name], [x], [get_format(fmt)], rounding)
            expected = [round_exact(float(v) if isinstance(v, float) else v, rounding) for v in values]
            assert same(result, expected).all(), (rounding, x[~same(result, expected)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fp64_where_no_enclosure_decides(name):
    """The fp64 enclosure of a function is never one fp64 number, so every element goes to balls."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp2(rng.uniform(-30, 8, 40)), [2.0**-1074, 1e-300, 1e300, 745.2, 1.0 + 2.0**-52]])
    for direction in ("nearest-even", "up", "toward-zero"):
        rounding = Rounding("fp64", direction)
        result = correctly_rounded(OPS[name], [x], [get_format("fp64")], rounding)
        expected = [rounded(name, float(v), rounding) for v in x]
        assert same(result, expected).all(), x[~same(result, expected)]


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
def test_squares_by_power_hit_exact_ties(fmt):
    """x^2 is exact in 2p bits: many squares lie on a midpoint of two numbers, which no precision separates."""
    x = all_codes(fmt)[::2]  # a square on a midpoint has p + 1 bits, so its root has few
    x = x[np.isfinite(x) & (x > 0)]
    squares = [Fraction(float(v)) ** 2 for v in x]
    for direction in ("nearest-even", "nearest-away", "up"):
        rounding = Rounding(fmt, direction)
        result = correctly_rounded(OPS["power"], [x, np.float32(2.0)], [get_format(fmt)] * 2, rounding)
        assert same(result, [round_exact(s, rounding) for s in squares]).all()
    even, away = (round_array(x.astype(np.float64) ** 2, Rounding(fmt, d)) for d in ("nearest-even", "nearest-away"))
    assert np.count_nonzero(even != away) > 100  # so there were ties


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (4.0, 1.5, 8), (8.0, -2.0, Fraction(1, 64)), (2.25, 0.5, Fraction(3, 2)), (16.0, 0.25, 2), (81.0, 0.75, 27),
        (-2.0, 3.0, -8), (-1.5, 2.0, Fraction(9, 4)), (1.0, 0.3, 1), (0.0, 0.5, 0), (2049.0, 2.0, 2049**2),
        (4097.0, 2.0, 4097**2), (1 + 2.0**-12, 2.0, Fraction(4097, 4096) ** 2), (2.0, -149.0, Fraction(1, 2**149)),
        (2.0, -150.0, Fraction(1, 2**150)), (3.0, 16.0, 3**16),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fmt", ["bf16", "fp32"])
def test_rational_powers(x, y, expected, fmt):
    """Rational powers: numbers of the format, midpoints (4097^2 in fp32), results below the least subnormal."""
    rounding = Rounding(fmt)
    operands = [np.float32([x]), np.float32([y])]
    result = correctly_rounded(OPS["power"], operands, [get_format("fp32")] * 2, rounding)
    assert result[0] == round_exact(Fraction(expected), rounding)


@pytest.mark.parametrize(
    ("name", "x", "direction", "expected"),
    [
        ("tanh", 1e4, "toward-zero", 1 - 2.0**-24), ("tanh", -1e30, "up", -1 + 2.0**-24), ("tanh", 1e4, "up", 1.0),
        ("erf", 100.0, "down", 1 - 2.0**-24), ("expm1", -1e30, "up", -1 + 2.0**-24), ("expm1", -1e30, "down", -1.0),
        ("exp", -1e30, "up", 2.0**-149), ("exp", -3e38, "nearest-even", 0.0), ("exp", 3e38, "nearest-even", np.inf),
        ("exp", 3e38, "toward-zero", float(np.finfo(np.float32).max)), ("exp", 2.0**-149, "up", 1 + 2.0**-23),
        ("exp", -(2.0**-149), "down", 1 - 2.0**-24), ("log1p", 2.0**-149, "down", 0.0),
    ],
)  # fmt: skip
def test_values_no_precision_separates_from_their_limit(name, x, direction, expected):
    rounding = Rounding("fp32", direction)
    assert correctly_rounded(OPS[name], [np.float32([x])], [get_format("fp32")], rounding)[0] == expected


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(2.0, -1e30, 2.0**-149), (-1.5, -3e38, 2.0**-149), (-2.0, -1001.0, -0.0), (0.5, 1e38, 2.0**-149)],
)
def test_powers_too_small_for_any_exponent_keep_their_sign(x, y, expected):
    result = correctly_rounded(
        OPS["power"], [np.float32([x]), np.float32([y])], [get_format("fp32")] * 2, Rounding("fp32", "up")
    )
    assert same(result, [expected]).all()


def test_stochastic_rounding_of_a_function_is_unbiased():
    profile = get_profile("ieee").with_(direction="stochastic")
    machine = EmulatedMachine(profile, np.random.default_rng(5))
    x = np.full(4_000, 0.7, np.float32)
    result = OPS["exp"](machine.tensor(round_array(x, Rounding("bf16")), get_format("bf16"))).planes[0]
    truth = float(np.exp(np.float64(round_array(np.float32(0.7), Rounding("bf16")))))
    below, above = np.unique(result)
    assert below < truth < above
    share = np.mean(result == above)
    assert abs(share - (truth - below) / (above - below)) < 4 * 0.5 / np.sqrt(x.size)
