"""round_array and round_exact on every edge of the 16- and 8-bit formats, against three independent answers.

About 510 000 inputs for fp16 and bf16 each (every value, every midpoint, their neighbours in fp32 and in fp64), in six
directions and both overflow modes: by the definition in integers (`round_exact`), by choosing among neighbours in the
ecosystem's own list of values (tests/rounding/edges.py) and by gfloat. `make test` takes every 7th input through the
slow definition, which tells all of edges' classes apart; PRECDIFF_EXHAUSTIVE=1 takes all.
"""

import dataclasses
import os
from fractions import Fraction

import gfloat
import gfloat.formats
import numpy as np
import pytest
from gfloat import RoundMode

from precdiff.errors import PrecDiffError
from precdiff.formats import get_format, to_bits
from precdiff.rounding import DIRECTIONS, Rounding, round_array, round_exact
from tests.rounding.edges import DTYPES, MIN_NORMAL, by_neighbours, edges, line, same

FORMATS = list(DTYPES)
DETERMINISTIC = [direction for direction in DIRECTIONS if direction != "stochastic"]
OVERFLOWS = ["ieee", "saturate"]
STRIDE = 1 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 7
GFLOAT_FORMATS = {
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "e4m3fn": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
}
GFLOAT_MODES = {
    "nearest-even": RoundMode.TiesToEven,
    "nearest-away": RoundMode.TiesToAway,
    "toward-zero": RoundMode.TowardZero,
    "up": RoundMode.TowardPositive,
    "down": RoundMode.TowardNegative,
}


class Given:
    """A generator that returns the numbers it was given, in order."""

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    def random(self, shape=None):
        drawn, self.numbers = np.split(self.numbers, [np.prod(shape, dtype=int)])
        return drawn.reshape(shape)


def exactly(x, rounding):
    return np.array([round_exact(value, rounding) for value in x.tolist()])


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("direction", DETERMINISTIC)
@pytest.mark.parametrize("name", FORMATS)
def test_every_edge_goes_to_the_right_neighbour(name, direction, overflow):
    x = edges(name)
    rounded = round_array(x, Rounding(name, direction, overflow))
    assert rounded.dtype == np.float32
    assert same(rounded, by_neighbours(x, name, direction, overflow)).all()


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("direction", DETERMINISTIC)
@pytest.mark.parametrize("name", FORMATS)
def test_every_edge_is_rounded_as_the_definition_says(name, direction, overflow):
    rounding = Rounding(name, direction, overflow)
    x = edges(name)[:: STRIDE if get_format(name).bits > 8 else 1]
    assert same(round_array(x, rounding), exactly(x, rounding)).all()


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("direction", list(GFLOAT_MODES))
@pytest.mark.parametrize("name", list(GFLOAT_FORMATS))
def test_every_edge_is_rounded_as_gfloat_rounds_it(name, direction, overflow):
    x = edges(name)
    with np.errstate(all="ignore"):
        expected = gfloat.round_ndarray(GFLOAT_FORMATS[name], x, GFLOAT_MODES[direction], sat=overflow == "saturate")
    assert same(round_array(x, Rounding(name, direction, overflow)), expected).all()


@pytest.mark.parametrize("name", FORMATS)
def test_an_fp32_source_gives_what_the_same_numbers_in_fp64_give(name):
    x = edges(name)
    with np.errstate(all="ignore"):
        narrow = x.astype(np.float32)
    narrow = narrow[same(narrow, x)]
    for direction in DETERMINISTIC:
        rounding = Rounding(name, direction)
        assert same(round_array(narrow, rounding), round_array(narrow.astype(np.float64), rounding)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_nearest_even_is_the_ecosystems_cast(name):
    # only from fp32: ml_dtypes rounds fp64 twice; it sends e4m3fn overflow to NaN as `ieee` does
    with np.errstate(all="ignore"):
        x = edges(name).astype(np.float32)
        expected = x.astype(DTYPES[name]).astype(np.float64)
    assert same(round_array(x, Rounding(name)), expected).all()


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("direction", DETERMINISTIC)
@pytest.mark.parametrize("name", FORMATS)
def test_flushing_comes_after_rounding(name, direction, overflow):
    x = edges(name)[::3]
    kept = by_neighbours(x, name, direction, overflow)
    flushed = np.where(np.abs(kept) < MIN_NORMAL[name], np.copysign(0.0, kept), kept)
    rounding = Rounding(name, direction, overflow, "flush")
    assert same(round_array(x, rounding), flushed).all()
    few = x[::101]
    assert same(exactly(few, rounding), flushed[::101]).all()


@pytest.mark.parametrize("name", FORMATS)
def test_the_ascend_rule_leaves_neither_infinity_nor_nan(name):
    # CANN asc-devkit, boundary-value appendix: a saturating result maps inf to +-MAX and NaN to +0
    rounding = Rounding(name, overflow="saturate", nan="zero")
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, -0.0])
    largest = line(name)[-2]
    expected = [largest, -largest, 0.0, largest, -largest, -0.0]
    assert same(round_array(x, rounding), expected).all()
    assert same(exactly(x, rounding), expected).all()


@pytest.mark.parametrize("direction", DETERMINISTIC)
def test_fp32_is_rounded_as_the_definition_says(direction):
    rng = np.random.default_rng(7)
    words = rng.integers(0, 2**32, 3000, dtype=np.uint32)
    words[:800] &= np.uint32(0x80FF_FFFF)  # subnormals and the first normals
    with np.errstate(invalid="ignore"):
        value, above = (
            words.view(np.float32).astype(np.float64),
            (words + np.uint32(1)).view(np.float32).astype(np.float64),
        )
    with np.errstate(all="ignore"):
        middle = value + (above - value) / 2
    x = np.concatenate([value, middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)])
    x = np.append(x, [2.0**128 - 2.0**103, np.nextafter(2.0**128 - 2.0**103, 0), 2.0**128, 2.0**-150, 1e300, 5e-324])
    for overflow in OVERFLOWS:
        for subnormals in ("keep", "flush"):
            rounding = Rounding("fp32", direction, overflow, subnormals)
            assert same(round_array(x, rounding), exactly(x, rounding)).all()


@pytest.mark.parametrize("direction", DETERMINISTIC)
def test_a_new_row_is_rounded_with_no_new_code(direction):
    # tf32 and hf32: fp32's exponents with 10 and 11 trailing bits, kept in fp32's codes
    rng = np.random.default_rng(14)
    for p in (11, 12):
        row = dataclasses.replace(get_format("fp32"), name="new", p=p)
        x = rng.standard_normal(2000) * np.exp2(rng.integers(-140, 127, 2000))
        x = np.concatenate([x, round_array(x, Rounding(row)) * (1 + 2.0**-p), [np.inf, -0.0]])
        found = round_array(x, Rounding(row, direction))
        assert same(found, exactly(x, Rounding(row, direction))).all()
        assert not (to_bits(found, row) & ((1 << 24 - p) - 1)).any()


@pytest.mark.parametrize("overflow", OVERFLOWS)
def test_fp64_holds_fp64(overflow):
    x = np.array([0.1, -0.0, 5e-324, np.inf, -np.inf, np.nan, 1.7976931348623157e308])
    rounding = Rounding("fp64", "up", overflow)
    assert round_array(x, rounding).dtype == np.float64
    assert same(round_array(x, rounding), exactly(x, rounding)).all()
    assert round_array([5e-324], Rounding("fp64", subnormals="flush")).tolist() == [0.0]


@pytest.mark.parametrize("name", [*FORMATS, "fp32"])
def test_stochastic_takes_the_neighbour_its_random_number_says(name):
    x = (edges(name) if name in DTYPES else np.random.default_rng(8).standard_normal(9000))[:: STRIDE * 3]
    random = np.random.default_rng(9).random(x.shape)
    for overflow in OVERFLOWS:
        rounding = Rounding(name, "stochastic", overflow)
        expected = [round_exact(v, rounding, Fraction(r)) for v, r in zip(x.tolist(), random.tolist(), strict=True)]
        assert same(round_array(x, rounding, Given(random)), expected).all()


@pytest.mark.parametrize("name", FORMATS)
def test_stochastic_goes_to_a_neighbour_and_leaves_values_alone(name):
    x = edges(name)
    for seed in range(3):
        rounded = round_array(x, Rounding(name, "stochastic", "saturate"), np.random.default_rng(seed))
        low, high = (by_neighbours(x, name, direction, "saturate") for direction in ("down", "up"))
        assert (same(rounded, low) | same(rounded, high)).all()


@pytest.mark.parametrize("name", list(GFLOAT_FORMATS))
def test_stochastic_is_gfloats_with_the_same_bits(name):
    # gfloat goes away from zero where lost + k / 2^n >= 1; lost is a multiple of 2^-n, so: lost > 1 - (k + 1) / 2^n
    bits = 40
    x = np.concatenate([line(name)[:-2] * (1 + f) for f in (0.0, 2.0**-12, 3 * 2.0**-13, 2.0**-18)])
    x = x[x < line(name)[-2]]
    k = np.random.default_rng(10).integers(0, 2**bits, x.shape)
    expected = gfloat.round_ndarray(GFLOAT_FORMATS[name], x, RoundMode.StochasticFastest, srbits=k, srnumbits=bits)
    random = 1 - (k + 1) / 2.0**bits
    assert same(round_array(x, Rounding(name, "stochastic"), Given(random)), expected).all()


@pytest.mark.parametrize("lost", [0.0, 2.0**-10, 0.25, 0.5, 0.9])
@pytest.mark.parametrize(
    ("name", "base", "step"),
    [("fp16", 1.0, 2.0**-10), ("bf16", -3.0, 2.0**-6), ("e4m3fn", 2.0**-8, 2.0**-9), ("e5m2", 49152.0, 8192.0)],
)
def test_stochastic_is_right_on_average(name, base, step, lost):
    n = 40_000
    x = np.full(n, base + np.copysign(lost * step, base))
    rounded = round_array(x, Rounding(name, "stochastic"), np.random.default_rng(11)).astype(np.float64)
    sigma = step * np.sqrt(lost * (1 - lost) / n)
    assert abs(rounded.mean() - x[0]) <= 5 * sigma
    assert ((rounded == base) | (rounded == base + np.copysign(step, base))).all()


def test_stochastic_compares_strictly():
    # away from zero with probability `lost` for numbers uniform in [0, 1): a value of the format never moves
    found = round_array(
        [1.0, 1.0 + 2.0**-12, 1.0 + 2.0**-12], Rounding("fp16", "stochastic"), Given([0.0, 0.25, 0.2499])
    )
    assert found.tolist() == [1.0, 1.0, 1.0 + 2.0**-10]


def test_stochastic_needs_a_generator():
    with pytest.raises(PrecDiffError, match=r"needs rng: a numpy\.random\.Generator; found None"):
        round_array([1.1], Rounding("fp16", "stochastic"))
    with pytest.raises(PrecDiffError, match=r"needs random: a Fraction in \[0, 1\); found None"):
        round_exact(1.1, Rounding("fp16", "stochastic"))


def test_the_same_seed_gives_the_same_bits_whatever_the_shape():
    x = np.random.default_rng(12).standard_normal(100_000)
    rounding = Rounding("bf16", "stochastic")
    flat = round_array(x, rounding, np.random.default_rng(13))
    assert (round_array(x.reshape(10, -1), rounding, np.random.default_rng(13)).ravel() == flat).all()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3, 4)])
@pytest.mark.parametrize("name", [*FORMATS, "fp32", "fp64", "i8"])
def test_any_shape_and_layout_passes(name, shape):
    x = np.ones(shape)
    for direction in DIRECTIONS:
        result = round_array(x, Rounding(name, direction), np.random.default_rng(0))
        assert isinstance(result, np.ndarray)
        assert result.shape == shape
        assert result.dtype == get_format(name).carrier
    assert round_array(np.ones((4, 6))[::2, ::-3].T, Rounding(name)).shape == (2, 2)


def test_the_source_is_never_changed_or_shared():
    for dtype in (np.float32, np.float64):
        x = np.array([1.0, np.nan, 1e30], dtype)
        for name in ("fp16", "fp32", "fp64"):
            rounded = round_array(x, Rounding(name))
            assert not np.shares_memory(rounded, x)
        assert same(x, np.array([1.0, np.nan, 1e30], dtype)).all()


def test_other_sources_are_read_as_their_own_format():
    half = np.float16([0.1, 65504])
    assert (round_array(half, Rounding("bf16")) == round_array(half.astype(np.float32), Rounding("bf16"))).all()
    assert round_array([1, 2049, 65519, 65520], Rounding("fp16")).tolist() == [1.0, 2048.0, 65504.0, np.inf]
