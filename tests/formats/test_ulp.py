"""Ulp, ulp error and ulp distance against their definitions in rationals, and every edge of docs/definitions.md."""

import math
from fractions import Fraction

import numpy as np
import pytest

from precdiff.formats import (
    FORMATS,
    from_bits,
    get_format,
    is_representable,
    native_dtype,
    ordinal,
    signed_ulp_error,
    ulp,
    ulp_distance,
    ulp_error,
)

FLOATS = [name for name, fmt in FORMATS.items() if fmt.is_float]
SMALL = [name for name in FLOATS if get_format(name).bits <= 16]
INF, NAN = math.inf, math.nan


def unit(x, fmt):
    """The definition of ulp, in rationals: 2^(e - p + 1) with e = floor(log2 |x|) clamped to [emin, emax]."""
    e = max(math.frexp(x)[1] - 1 if x else fmt.emin, fmt.emin)
    return Fraction(2) ** (min(e, fmt.emax) - fmt.p + 1)


def sample(name, count, seed):
    """Values of the format from all over its range, subnormals and the largest included."""
    fmt = get_format(name)
    codes = np.random.default_rng(seed).integers(0, 2**fmt.bits, count, dtype=np.uint64)
    values = from_bits(codes, name).astype(np.float64)
    return np.append(values[np.isfinite(values)], [0.0, -0.0, fmt.max_finite, fmt.min_normal, fmt.min_subnormal])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_ulp_is_its_definition(name):
    fmt, values = get_format(name), sample(name, 2000, 1)
    assert ulp(values, name).tolist() == [float(unit(x, fmt)) for x in values.tolist()]


def test_ulp_is_numpys_spacing_at_normal_fp32():
    values = np.exp(np.linspace(-80, 80, 1000)).astype(np.float32)
    assert (ulp(values, "fp32") == np.spacing(values)).all()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_ulp_error_is_its_definition(name):
    fmt, rng = get_format(name), np.random.default_rng(2)
    actual = sample(name, 2000, 3)[:-5]
    noise = 1 + rng.standard_normal(actual.shape) * 2.0**-fmt.p
    close, far = actual * noise, rng.permutation(actual)
    reference = np.where(rng.random(actual.shape) < 0.8, close, far)
    pairs = zip(actual.tolist(), reference.tolist(), strict=True)
    expected = [(Fraction(a) - Fraction(r)) / unit(r, fmt) for a, r in pairs]
    found = signed_ulp_error(actual.astype(fmt.carrier), reference, name)
    for got, exact in zip(found.tolist(), expected, strict=True):
        wanted = float(exact) if abs(exact) < 2**1024 else (INF if exact > 0 else -INF)
        assert got == pytest.approx(wanted, rel=2**-50)
    assert (ulp_error(actual.astype(fmt.carrier), reference, name) == np.abs(found)).all()


def test_a_pair_as_reference_is_its_unevaluated_sum():
    # for fp64 a reference in one fp64 array could only show whole ulps
    third = Fraction(1, 3)
    high = float(third)
    low = float(third - Fraction(high))
    error = ulp_error(np.array([high]), (np.array([high]), np.array([low])), "fp64")
    assert error[0] == pytest.approx(float(abs(Fraction(high) - third) / unit(high, get_format("fp64"))))
    assert 0 < error[0] < 0.5


@pytest.mark.parametrize("name", FLOATS)
def test_infinity_is_the_end_of_the_continued_line(name):
    fmt = get_format(name)
    largest = fmt.max_finite
    assert ulp_error(largest, INF, name) == 1
    assert signed_ulp_error(-largest, -INF, name) == 1
    assert signed_ulp_error(largest, INF, name) == -1
    assert ulp_error(INF, INF, name) == 0
    if fmt.has_inf:
        assert ulp_error(INF, largest, name) == 1
        assert signed_ulp_error(-INF, -largest, name) == -1
        assert ulp_error(-INF, INF, name) == 2**fmt.p * 2 == 2 * ulp_error(0.0, INF, name)


def test_overflow_that_is_right_is_no_error_and_saturation_is_one():
    assert ulp_error(INF, 1e6, "fp16") == 0
    assert ulp_error(INF, 65520.0, "fp16") == 0.5
    assert ulp_error(65504.0, 1e6, "fp16") == (1e6 - 65504) / 32
    assert ulp_error(-INF, 1e6, "fp16") == (1e6 + 65536) / 32


def test_a_pair_beside_infinity():
    largest = get_format("fp64").max_finite
    pair = np.array([largest]), np.array([2.0**969])
    assert ulp_error([INF], pair, "fp64") == 1 - 2.0**969 / 2.0**971
    assert ulp_error([INF], (np.array([INF]), np.array([NAN])), "fp64") == 0


def test_nan_matches_nan_only():
    assert ulp_error(NAN, NAN, "fp16") == 0
    assert ulp_error([NAN, 1.0, NAN, INF], [1.0, NAN, INF, NAN], "fp16").tolist() == [INF] * 4
    assert signed_ulp_error(1.0, NAN, "fp16") == INF
    assert math.isnan(ulp(NAN, "fp16"))


def test_zero_and_subnormals_have_the_ulp_of_emin():
    tiny = 2.0**-24
    assert ulp([0.0, -0.0, tiny, 3 * tiny, 2.0**-14], "fp16").tolist() == [tiny] * 5
    assert ulp_error(tiny, 0.0, "fp16") == 1
    assert ulp_error(0.0, tiny / 4, "fp16") == 0.25
    assert ulp_error(0.0, -0.0, "fp16") == 0


def test_flushing_makes_zero_and_the_smallest_normal_neighbours():
    normal = 2.0**-14
    assert ulp_error(0.0, normal, "fp16", subnormals="flush") == 1
    assert ulp_error(normal, 0.0, "fp16", subnormals="flush") == 1
    assert ulp_error(0.0, normal / 2, "fp16", subnormals="flush") == 0.5
    assert ulp_error(-normal, normal, "fp16", subnormals="flush") == 2
    assert ulp_error(0.0, normal * (1 + 2.0**-10), "fp16", subnormals="flush") == 2
    assert ulp_error(1.0, 1.0 + 2.0**-11, "fp16", subnormals="flush") == 0.5
    assert ulp_error(INF, 65504.0, "fp16", subnormals="flush") == 1


def test_the_exponent_is_that_of_the_reference():
    # a factor 2 at a power of two: seen from 1, the number below lies half an ulp away
    below = 1 - 2.0**-11
    assert ulp_error(below, 1.0, "fp16") == 0.5
    assert ulp_error(1.0, below, "fp16") == 1


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_distance_counts_the_floats_between_for_every_code(name):
    fmt = get_format(name)
    values = np.arange(2**fmt.bits).astype(fmt.storage).view(native_dtype(fmt)).astype(np.float32)
    values = values[~np.isnan(values)]
    line = np.unique(values)
    place = np.searchsorted(line, values)
    other = np.random.default_rng(5).permutation(len(values))
    assert (ulp_distance(values, values[other], name) == np.abs(place - place[other])).all()


def test_distance_at_its_edges():
    furthest = np.iinfo(np.int64).max
    assert ulp_distance(0.0, -0.0, "fp32") == 0
    assert ulp_distance(65504.0, INF, "fp16") == 1
    assert ulp_distance(NAN, NAN, "fp16") == 0
    assert ulp_distance([NAN, 1.0], [1.0, NAN], "fp16").tolist() == [furthest] * 2
    assert ulp_distance(1.0, -1.0, "fp64") == 2 * 0x3FF0_0000_0000_0000
    assert ulp_distance(-INF, INF, "fp64") == furthest  # beyond int64
    assert ulp_distance(np.int64(-(2**63)), np.int64(2**63 - 1), "i64") == furthest
    assert ulp_distance(np.uint64(2**64 - 1), np.uint64(0), "u64") == furthest
    assert ulp_distance(np.int8(-128), np.int8(127), "i8") == 255


def test_integers_count_in_ones():
    assert ulp(np.int32(7), "i32") == 1
    assert signed_ulp_error(np.int8([5]), np.int8([7]), "i8") == -2


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_exactly_the_values_of_the_format_are_representable(name):
    fmt = get_format(name)
    values = np.unique(np.arange(2**fmt.bits).astype(fmt.storage).view(native_dtype(fmt)).astype(np.float64))
    assert is_representable(values, name).all()
    finite = values[np.isfinite(values)]
    assert not is_representable((finite[1:] + finite[:-1]) / 2, name).any()
    assert is_representable(INF, name) == fmt.has_inf


def test_integers_are_representable_exactly_or_not():
    assert is_representable([2048, 2049, 65504, 65536], "fp16").tolist() == [True, False, True, False]
    assert is_representable(np.int64([2**53, 2**53 + 1]), "fp64").tolist() == [True, False]
    assert is_representable([0.5, 127.0, 128.0, INF, NAN], "i8").tolist() == [False, True, False, False, False]
    assert is_representable(np.uint64([2**63 - 1, 2**63]), "i64").tolist() == [True, False]


def test_any_source_dtype_is_read_as_its_own_format():
    half = np.float16([1.0, 2.0])
    assert ulp_error(half, half.astype(np.float64), "fp16").tolist() == [0.0, 0.0]
    assert (ordinal(half, "fp16") == half.view(np.uint16)).all()
