"""ulp_approx: `==` and `!=` with arrays, numbers, lists and dicts, one bool each, with the message of the assertion."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.report import assertion
from precdiff.testing import ulp_approx
from precdiff.testing.approx import compared

ULP = 2.0**-10
ACTUALS = {
    "array": np.float16([1, 1 + 2 * ULP]),
    "bf16": np.array([1, 1 + 2**-6], ml_dtypes.bfloat16),
    "list": [1.0, 1 + 2.0**-51],
    "tuple": (1.0, 1 + 2.0**-51),
}


@pytest.mark.parametrize("name", ACTUALS)
def test_equality_is_one_bool_on_either_side(name):
    actual = ACTUALS[name]
    for expected in ([1, 1], np.float64([1, 1])):
        assert (actual == ulp_approx(expected, 2)) is True
        assert (actual == ulp_approx(expected, 1.9)) is False
        assert (ulp_approx(expected, 2) == actual) is True
        assert (actual != ulp_approx(expected, 2)) is False
        assert (actual != ulp_approx(expected, 1.9)) is True


@pytest.mark.parametrize("scalar", [1.0, np.float16(1), np.float64(1), np.array(1.0), 1, True])
def test_numbers(scalar):
    assert scalar == ulp_approx(1.0, max_ulp=0)
    assert scalar != ulp_approx(1.5, max_ulp=0)


def test_inside_other_values():
    assert {"a": np.ones(2), "b": 1.0} == {"a": ulp_approx([1, 1], 1), "b": ulp_approx(1, 1)}
    assert [ulp_approx(1, 1), ulp_approx(2, 1)] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "equal"),
    [
        ({"zero_atol": 1e-5}, False),
        ({"atol": 0.1}, False),
        ({"atol": 0.5}, True),
        ({"rtol": 0.5}, True),
        ({"allow_fraction": 0.5}, True),
        ({"dtype": "fp16"}, False),
    ],
)
def test_the_options_of_the_assertion(options, equal):
    assert (np.float32([1, 1.5]) == ulp_approx([1, 1], max_ulp=1, **options)) is equal


def test_dtype():
    actual = np.float32([1 + ULP])

    assert actual == ulp_approx([1], max_ulp=1, dtype="fp16")
    assert actual != ulp_approx([1], max_ulp=1)


def test_nan():
    nan = np.float32([np.nan, 1])

    assert nan == ulp_approx(nan, max_ulp=0)
    assert nan != ulp_approx(nan, max_ulp=0, equal_nan=False)


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (np.ones(3), "actual has shape"),
        (np.zeros((0,)), "actual has shape"),
        (np.complex64([1, 1]), "pass real and imaginary parts"),
        (np.ma.masked_array([1.0, 1.0]), "masked array"),
        (None, "actual"),
        ("ab", "actual"),
    ],
)
def test_what_cannot_be_compared_is_neither_equal_nor_unequal(actual, message):
    for operator in ("__eq__", "__ne__"):
        with pytest.raises(PrecDiffError, match=message):
            getattr(ulp_approx([1, 1], max_ulp=1), operator)(actual)


def test_empty_arrays_are_not_equal_by_having_nothing_to_differ_in():
    with pytest.raises(NotComparableError, match="nothing was compared"):
        assert np.zeros(0) == ulp_approx(np.zeros(0), max_ulp=1)


def test_alone_it_says_nothing():
    with pytest.raises(TypeError, match="compare it: actual == ulp_approx"):
        assert ulp_approx([1], max_ulp=1)
    with pytest.raises(TypeError, match="unhashable"):
        {ulp_approx([1], max_ulp=1)}


def test_bad_limits_are_refused_at_once():
    with pytest.raises(PrecDiffError, match="max_ulp: found -1"):
        ulp_approx([1], max_ulp=-1)


def test_it_shows_what_was_asked_and_then_what_was_found():
    made = ulp_approx(np.float16([1]), max_ulp=2)
    assert repr(made) == "ulp_approx(array([1.], dtype=float16), max_ulp=2)"
    assert np.float16([1]) == made
    assert repr(made) == "ulp_approx(array([1.], dtype=float16), max_ulp=2)"
    assert np.float16([1 + 4 * ULP]) != made
    assert repr(made).endswith("max_ulp=2): FAIL: actual (fp16 1): worst 4 ULP, abs 0.003906, rel 0.003906; "
                               "error <= 2 ULP of fp16")  # fmt: skip


def test_lines_for_pytest():
    made, actual = ulp_approx([1.0], max_ulp=1), [2.0]
    assert compared("==", actual, made) is None
    assert actual != made
    assert compared("==", actual, made) == [
        "actual == ulp_approx(..., max_ulp=1)",
        *assertion(made.report).splitlines(),
    ]
    assert compared("==", made, actual) == compared("==", actual, made)
    assert compared("!=", actual, made) is compared("==", 1, 2) is None


def test_a_failing_test_shows_the_verdict(tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text(
        "import numpy as np\nfrom precdiff.testing import ulp_approx\n\n\n"
        "def test_one():\n    assert np.float16([2, 1]) == ulp_approx([1, 1], max_ulp=1)\n"
    )
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    shown = subprocess.run(run, capture_output=True, text=True, check=False).stdout

    assert "worst 1024 ULP" in shown


@pytest.mark.torch
def test_torch_leaves_equality_to_it():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1, 1 + 2**-6], dtype=torch.bfloat16)

    assert (x == ulp_approx([1, 1], max_ulp=2)) is True
    assert (x == ulp_approx([1, 1], max_ulp=1)) is False
    assert (ulp_approx([1, 1], max_ulp=1) == x) is False
    assert x == ulp_approx(x, max_ulp=0)
