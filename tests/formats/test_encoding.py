"""Codes, ordinals and neighbours: every code of the 16- and 8-bit formats, against numpy, ml_dtypes and gfloat.

Oracles are chosen so that no code under test takes part: numpy and ml_dtypes convert their own types to float32, gfloat
decodes codes by its own table of formats.
"""

import gfloat
import gfloat.formats
import numpy as np
import pytest

from precdiff.errors import PrecDiffError
from precdiff.formats import (
    FORMATS,
    from_bits,
    from_ordinal,
    get_format,
    hex_bits,
    native_dtype,
    next_down,
    next_up,
    ordinal,
    to_bits,
)

FLOATS = [name for name, fmt in FORMATS.items() if fmt.is_float]
SMALL = [name for name in FLOATS if get_format(name).bits <= 16]
INTEGERS = [name for name, fmt in FORMATS.items() if fmt.kind == "int"]
GFLOAT = {
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "e4m3fn": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
}


def all_codes(name):
    """Every code of a narrow format, every 4096th of a wide one with its neighbours; unused bits are 0."""
    fmt = get_format(name)
    if fmt.bits <= 16:
        return np.arange(2**fmt.bits).astype(fmt.storage)
    edges = np.arange(0, 2**fmt.bits, 2**fmt.bits // 4096, dtype=object)
    near = {int(edge) + (step << fmt.unused_bits) for edge in edges for step in (-2, -1, 0, 1, 2)}
    return np.array(sorted(code for code in near if 0 <= code < 2**fmt.bits), fmt.storage)


def values_by_the_ecosystem(name):
    return all_codes(name).view(native_dtype(get_format(name))).astype(np.float64)


def same(a, b):
    return np.asarray((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value")  # numpy says so when it widens a signalling NaN
def test_every_code_decodes_as_numpy_and_ml_dtypes_decode_it(name):
    decoded = from_bits(all_codes(name), name)
    assert decoded.dtype == get_format(name).carrier
    assert same(decoded.astype(np.float64), values_by_the_ecosystem(name)).all()


@pytest.mark.parametrize("name", list(GFLOAT))
@pytest.mark.filterwarnings("ignore:invalid value")
def test_every_code_decodes_as_gfloat_decodes_it(name):
    codes = all_codes(name)
    expected = gfloat.decode_ndarray(GFLOAT[name], codes.astype(np.int64))
    assert same(from_bits(codes, name).astype(np.float64), expected).all()


@pytest.mark.parametrize("name", FLOATS)
def test_every_code_survives_the_round_trip_nan_payloads_included(name):
    codes = all_codes(name)
    back = to_bits(from_bits(codes, name), name)
    assert back.dtype == codes.dtype
    assert (back == codes).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_codes_are_twos_complement(name):
    codes = all_codes(name)
    assert (from_bits(codes, name) == codes.view(get_format(name).native)).all()
    assert (to_bits(from_bits(codes, name), name) == codes).all()


def test_a_nan_payload_that_would_be_cut_to_nothing_stays_nan():
    # float32 0x7f800001: the bits bf16 and fp16 keep are those of infinity
    for sign, word in ((0, 0x7F80_0001), (1, 0xFF80_0001)):
        nan = np.array([word], np.uint32).view(np.float32)
        assert to_bits(nan, "bf16").tolist() == [sign << 15 | 0x7FC0]
        assert to_bits(nan, "fp16").tolist() == [sign << 15 | 0x7E00]
        assert to_bits(nan, "e5m2").tolist() == [sign << 7 | 0x7E]
        assert to_bits(nan, "e4m3fn").tolist() == [sign << 7 | 0x7F]


@pytest.mark.parametrize(
    ("name", "value"), [("fp16", 65520.0), ("fp16", 2.0**-25), ("bf16", 257.0), ("e4m3fn", np.inf)]
)
def test_what_the_format_lacks_is_refused(name, value):
    with pytest.raises(PrecDiffError, match=rf"{name} holds no .*Round it first"):
        to_bits([1.0, value], name)


def test_an_fp64_value_never_passes_through_fp32_unnoticed():
    with pytest.raises(PrecDiffError, match="fp32 holds no"):
        to_bits(np.array([1.0 + 2.0**-30]), "fp32")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("fp16", 1.5, "0x3e00"),
        ("bf16", -0.0, "0x8000"),
        ("e5m2", 1.0, "0x3c"),
        ("fp32", 1.0, "0x3f800000"),
        ("i8", -1, "0xff"),
    ],
)
def test_hex_bits(name, value, expected):
    assert hex_bits(value, name) == expected


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_ordinals_number_the_values_in_order(name):
    values = values_by_the_ecosystem(name)
    values = np.unique(values[~np.isnan(values)])  # -0 and +0 become one
    numbers = ordinal(values.astype(get_format(name).carrier), name)
    assert (np.diff(numbers) > 0).all()
    assert numbers[values == 0] == 0
    if name in SMALL:
        assert (np.diff(numbers) == 1).all()
    assert (from_ordinal(numbers, name) == values).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_ordinals_number_the_values_in_order(name):
    values = np.unique(all_codes(name).view(get_format(name).native))
    numbers = ordinal(values, name)
    assert (np.diff(numbers.astype(object)) == np.diff(values.astype(object))).all()
    assert (from_ordinal(numbers, name) == values).all()


TF32 = get_format("tf32")


def test_a_format_kept_in_a_wider_ones_codes():
    step = 2.0**-10
    values = np.float32([0.0, -0.0, 1.0, 1.0 + step, -2.0, np.inf])
    assert TF32.unused_bits == 13 and get_format("fp32").unused_bits == 0
    assert (to_bits(values, TF32) == values.view(np.uint32)).all()
    assert ordinal(values, TF32).tolist() == [0, 0, 127 << 10, (127 << 10) + 1, -(128 << 10), 255 << 10]
    assert (from_ordinal(ordinal(values, TF32), TF32) == values).all()
    assert next_up(values, TF32)[2:4].tolist() == [1 + step, 1 + 2 * step]
    with pytest.raises(PrecDiffError, match=r"tf32 holds no .*1\.0001220703125"):
        to_bits(np.float32([1.0, 1.0 + 2.0**-13]), TF32)


def test_a_nan_kept_in_a_wider_code_keeps_its_payload_and_is_nan():
    nan = np.array([0x7F80_0001], np.uint32).view(np.float32)
    assert to_bits(nan, TF32) == 0x7F80_0001
    assert ordinal(nan, TF32) == np.iinfo(np.int64).min


def test_nan_has_no_place_in_the_order():
    numbers = ordinal(np.float32([np.nan, -np.nan]), "fp16")
    assert (numbers == np.iinfo(np.int64).min).all()
    assert np.isnan(from_ordinal(numbers, "fp16")).all()


def test_an_ordinal_beyond_infinity_is_refused():
    with pytest.raises(PrecDiffError, match=r"within \+-31744; found 31745"):
        from_ordinal([31745], "fp16")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_every_value_has_the_neighbours_of_the_sorted_list(name):
    values = np.unique(values_by_the_ecosystem(name))  # sorted; -0 joins +0, the NaNs are last
    values = values[~np.isnan(values)].astype(np.float32)
    assert (next_up(values[:-1], name) == values[1:]).all()
    assert (next_down(values[1:], name) == values[:-1]).all()
    assert next_up(values[-1:], name) == values[-1]
    assert next_down(values[:1], name) == values[0]


@pytest.mark.parametrize(("name", "dtype"), [("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_neighbours_are_those_of_numpys_nextafter(name, dtype):
    values = all_codes(name).view(dtype)
    with np.errstate(all="ignore"):
        up, down = np.nextafter(values, dtype(np.inf)), np.nextafter(values, dtype(-np.inf))
        assert same(next_up(from_bits(all_codes(name), name), name), up.astype(np.float64)).all()
        assert same(next_down(from_bits(all_codes(name), name), name), down.astype(np.float64)).all()


@pytest.mark.parametrize("name", FLOATS)
def test_neighbours_keep_the_sign_of_zero_as_ieee_says(name):
    # IEEE 754-2019, 5.3.1: nextUp of the negative number of least magnitude is -0
    tiny = get_format(name).min_subnormal
    assert np.signbit(next_up(-tiny, name)) and not np.signbit(next_down(tiny, name))
    assert next_up([0.0, -0.0], name).tolist() == [tiny, tiny]
    assert next_down([0.0, -0.0], name).tolist() == [-tiny, -tiny]


def test_integer_neighbours_end_at_the_limits():
    assert next_up(np.int8([-1, 127]), "i8").tolist() == [0, 127]
    assert next_down(np.uint64([0, 2**64 - 1]), "u64").tolist() == [0, 2**64 - 2]
    assert next_up(np.uint64([2**63 - 1, 2**64 - 1]), "u64").tolist() == [2**63, 2**64 - 1]


@pytest.mark.parametrize("name", FLOATS)
def test_scalars_and_any_shape_pass(name):
    assert to_bits(1.0, name).shape == ()
    assert from_bits(to_bits(np.ones((2, 0, 3)), name), name).shape == (2, 0, 3)
    assert next_up(np.ones((2, 1)), name).shape == (2, 1)
