"""Arrays of the ecosystem's dtypes: every one is known, goes to its carrier and comes back bit for bit."""

import ml_dtypes
import numpy as np
import pytest

from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, carrier, format_of, get_format, native, native_dtype, to_bits

DTYPES = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "i8": np.int8,
    "u64": np.uint64,
    "bool": np.bool_,
}


@pytest.mark.parametrize("name", list(DTYPES))
def test_a_dtype_names_its_format_and_back(name):
    array = np.array([0, 1], DTYPES[name])
    assert format_of(array).name == name
    assert native_dtype(get_format(name)) == np.dtype(DTYPES[name])
    assert native(carrier(array), name).dtype == array.dtype


@pytest.mark.parametrize("name", [name for name in FORMATS if get_format(name).bits <= 16])
def test_every_code_passes_through_the_carrier_unchanged(name):
    fmt = get_format(name)
    codes = np.arange(2**fmt.bits if name != "bool" else 2).astype(fmt.storage)
    array = codes.view(native_dtype(fmt))
    held = carrier(array)
    assert held.dtype == fmt.carrier
    assert (native(held, name).view(fmt.storage) == codes).all()
    assert (to_bits(array, name) == codes).all()


def test_a_foreign_byte_order_is_the_same_format():
    swapped = np.array([1.5, -2.0], ">f4")
    assert format_of(swapped).name == "fp32"
    assert carrier(swapped).tolist() == [1.5, -2.0] and carrier(swapped).dtype.isnative
    assert to_bits(swapped, "fp32").tolist() == [0x3FC0_0000, 0xC000_0000]
    assert carrier(np.array([1.5], ">f2")).tolist() == [1.5]


def test_not_contiguous_and_empty_arrays_pass():
    array = np.arange(12, dtype=np.float16).reshape(3, 4)[:, ::2]
    assert carrier(array).tolist() == array.astype(float).tolist()
    assert native(np.zeros((0, 3), np.float32), "bf16").shape == (0, 3)


def test_complex_is_refused_with_advice():
    with pytest.raises(PrecDiffError, match=r"dtype complex64\..*pass real and imaginary parts as two tensors"):
        format_of(np.zeros(1, np.complex64))


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["1.0"]), np.array([1.0], np.longdouble)])
def test_other_dtypes_are_refused_with_what_is_known(array):
    with pytest.raises(PrecDiffError, match=r"no format for an array of dtype .* Known dtypes: float16, bfloat16"):
        carrier(array)
