"""The rows of the catalogue against numpy's and ml_dtypes' own descriptions of their types."""

import math

import ml_dtypes
import numpy as np
import pytest

from precdiff.errors import UnknownNameError
from precdiff.formats import FORMATS, get_format, native_dtype

#: those that an ecosystem's dtype describes; the others are kept in a wider one's codes
FLOATS = [name for name, fmt in FORMATS.items() if fmt.is_float and not fmt.unused_bits]
INTEGERS = [name for name, fmt in FORMATS.items() if fmt.kind == "int"]


def finfo(fmt):
    dtype = native_dtype(fmt)
    return np.finfo(dtype) if dtype.kind == "f" and dtype.isbuiltin == 1 else ml_dtypes.finfo(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_limits_are_those_of_the_ecosystem(name):
    fmt, info = get_format(name), finfo(get_format(name))
    assert fmt.max_finite == float(info.max)
    assert fmt.min_normal == float(info.smallest_normal)
    assert fmt.min_subnormal == float(info.smallest_subnormal)
    assert (fmt.bits, fmt.p - 1) == (info.bits, info.nmant)
    assert 2 * fmt.u == float(info.eps)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_limits_are_numpys(name):
    info = np.iinfo(get_format(name).native)
    assert get_format(name).integer_range == (info.min, info.max)
    assert get_format(name).max_finite == float(info.max)


@pytest.mark.parametrize(("name", "bias"), [("fp16", 15), ("bf16", 127), ("fp64", 1023), ("e4m3fn", 7), ("e5m2", 15)])
def test_bias_is_that_of_the_standards(name, bias):
    assert get_format(name).bias == bias


@pytest.mark.parametrize("name", list(FORMATS))
def test_rows_name_their_source_and_hold_together(name):
    fmt = get_format(name)
    assert fmt.name == name == str(fmt)
    assert fmt.source
    assert 8 * fmt.storage.itemsize >= fmt.bits
    assert np.dtype(fmt.native).itemsize == fmt.storage.itemsize if hasattr(np, fmt.native) else True


def test_bool_is_a_format():
    assert get_format("bool").integer_range == (0, 1)


def test_a_format_is_its_own_name():
    assert get_format(get_format("fp16")) is FORMATS["fp16"]


def test_an_unknown_name_is_told_what_is_meant():
    with pytest.raises(UnknownNameError, match=r"unknown format 'fp166'\. Did you mean 'fp16'\? Known: .*bf16"):
        get_format("fp166")


def test_e4m3fn_gives_its_last_code_to_nan():
    # OFP8 1.0, table 1: S.1111.110 is 448, S.1111.111 is NaN, no infinities
    fmt = get_format("e4m3fn")
    assert fmt.max_significand == 0b1110
    assert math.ldexp(0b1110, 8 - 3) == fmt.max_finite == 448
