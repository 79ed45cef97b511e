"""Six public reports on comparison tools (tests/field/cases): each is compared here without the reported defect.

Where the report states the right figures they are the expected values; the wrong ones are asserted to be wrong, by the
tool's own rule, so that a case cannot pass for another reason.
"""

import json
import tracemalloc
from fractions import Fraction
from pathlib import Path

import h5py
import ml_dtypes
import numpy as np
import pytest

import precdiff
from precdiff.dump import DumpWriter
from precdiff.errors import NotComparableError
from precdiff.testing import PrecisionError, assert_precise, assert_ulp_close

CASES = Path(__file__).parents[1] / "field" / "cases"


def case(name):
    return json.loads((CASES / f"field-{name}.json").read_text(encoding="utf-8"))


def inputs(row):
    kinds = {"fp64": np.float64, "uint8": np.uint8, "int64": np.int64}
    arrays = (row["inputs"][name] for name in ("actual", "expected"))
    return [np.array(array["values"], kinds[array["dtype"]]) for array in arrays]


def failure(*arguments, **options):
    with pytest.raises(PrecisionError) as caught:
        assert_precise(*arguments, **options)
    return caught.value.report.tensors[0]


def test_068_cosine_does_not_decide():
    row = case("068-t-cos-scale")
    actual, expected = inputs(row)
    found = failure(actual, expected)

    assert found.cosine == row["observed_wrong"]["values"]["cosine"] == 1.0
    assert found.max_rel == row["expected_right_value"]["exact"]["max_rel"]
    assert found.over_limit == 4


@pytest.mark.parametrize("scale", [1, 1 + 2**-10, 2, 1000])
@pytest.mark.parametrize("standard", ["auto", "ulp", "allclose", "bitwise"])
def test_068_nor_does_any_scale_hide(scale, standard):
    _, expected = inputs(case("068-t-cos-scale"))
    if scale == 1:
        assert_precise(expected * scale, expected, standard)
    else:
        assert failure(expected * scale, expected, standard).cosine == pytest.approx(1.0)


def test_072_bf16_comes_back_from_hdf5_as_bf16(tmp_path):
    row = case("072-t-h5-bf16")
    codes = np.array([int(code, 16) for code in row["inputs"]["x"]["bits"]], np.uint16)
    values = codes.view(ml_dtypes.bfloat16)
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", values.astype(np.float32), "bf16")
    with precdiff.open_dump(tmp_path / "run.h5") as dump:
        found = dump.tensor("x").astype(ml_dtypes.bfloat16)

    assert_ulp_close(found, [Fraction(text) for text in row["expected_right_value"]["exact"]], max_ulp=0)
    assert found.view(np.uint16).tolist() == codes.tolist()


def test_072_bytes_without_a_type_are_refused(tmp_path):
    row = case("072-t-h5-bf16")
    codes = np.array([int(code, 16) for code in row["inputs"]["x"]["bits"]], np.uint16)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = codes.view(row["observed_wrong"]["stored_dtype"])
        found = file["x"][:]

    assert codes.view(np.float16).tolist() == row["observed_wrong"]["values"]
    with pytest.raises(NotComparableError, match="actual: no format for an array of dtype void16"):
        assert_ulp_close(found, [1.0, -2.5, 0.15625], max_ulp=0)


def test_073_values_below_a_power_of_two_are_stored_rounded_right(tmp_path):
    row = case("073-t-h5-half")
    x = np.array(row["inputs"]["x"]["values"])
    rounded = precdiff.round_array(x, "fp16")
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", rounded.astype(np.float32), "fp16")
    with precdiff.open_dump(tmp_path / "run.h5") as dump:
        found = dump.tensor("x").astype(np.float16)

    bits = [f"0x{code:04x}" for code in found.view(np.uint16)]
    assert bits == row["expected_right_value"]["correctly_rounded"]["bits"]
    exact = [Fraction(text) for text in row["expected_right_value"]["exact"]]
    assert_ulp_close(found, exact, max_ulp=0.5)
    with pytest.raises(PrecisionError, match="over limit    3 of 4 elements"):
        assert_ulp_close(np.float16(row["observed_wrong"]["values"]), exact, max_ulp=0.5)


@pytest.fixture(scope="module")
def large():
    """The case's two tensors: equal, but for element 7."""
    gen = case("077-t-memory")["inputs"]["actual"]["gen"]
    actual = np.random.Generator(np.random.PCG64(gen["seed"])).standard_normal(gen["shape"]).astype(np.float32)
    expected = actual.copy()
    expected[7] += 1.0
    return actual, expected


def peak(function):
    tracemalloc.start()
    function()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_077_one_element_in_two_million_is_found(large):
    row = failure(*large, rtol=case("077-t-memory")["inputs"]["rtol"])

    assert f"{row.over_limit}/{row.compared}" == case("077-t-memory")["expected_right_value"]["exact"]["mismatched"]
    assert row.worst[0].index == (7,)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8])
@pytest.mark.parametrize("strided", [False, True], ids=["whole", "strided"])
def test_077_comparing_takes_little_memory_of_its_own(large, dtype, strided):
    actual = large[0].astype(dtype)
    actual = np.repeat(actual, 2)[::2] if strided else actual
    for _ in range(3):  # by then numba is loaded, if it is there
        assert_ulp_close(actual, actual, max_ulp=0)
    own = peak(lambda: assert_ulp_close(actual, actual, max_ulp=0))

    assert own < actual.size + 12e6  # a mask of a byte an element, and some chunks


def test_079_unsigned_integers_do_not_wrap_around():
    row = case("079-t-uint8")
    actual, expected = inputs(row)
    found = failure(actual, expected, "allclose", atol=row["inputs"]["atol"], rtol=0.0)
    exact = row["expected_right_value"]["exact"]

    assert np.abs(actual - expected).max() == row["observed_wrong"]["values"]["max_abs"] == 252
    assert (found.max_abs, f"{found.over_limit}/{found.compared}") == (exact["max_abs"], exact["mismatched"])
    assert found.max_rel == float(Fraction(exact["max_rel"].split()[0]))


def test_080_zero_against_zero_is_no_relative_error():
    row = case("080-t-zero")
    actual, expected = inputs(row)
    found = failure(actual, expected, "allclose", rtol=row["inputs"]["rtol"], atol=0.0)
    exact = row["expected_right_value"]["exact"]

    assert (found.max_abs, found.max_rel) == (exact["max_abs"], exact["max_rel"])
    assert f"{found.over_limit}/{found.compared}" == exact["mismatched"]
