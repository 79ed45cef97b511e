"""assert_ulp_close as its users meet it: what passes, what fails with which words, what is refused."""

import pickle
import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest

from precdiff.comparison import Expected
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.report import assertion
from precdiff.testing import PrecisionError, assert_ulp_close

NAN, INF = np.nan, np.inf
STEP = {np.float16: 2.0**-10, ml_dtypes.bfloat16: 2.0**-7, np.float32: 2.0**-23, np.float64: 2.0**-52}


@pytest.mark.parametrize("dtype", STEP, ids=lambda dtype: np.dtype(dtype).name)
def test_limits_count_in_the_arrays_own_format(dtype):
    actual = np.array([1, 1 + 3 * STEP[dtype]], dtype)
    expected = np.ones(2, dtype)

    assert_ulp_close(actual, expected, max_ulp=3)
    with pytest.raises(PrecisionError, match=r"worst 3 ULP.*error <= 2 ULP"):
        assert_ulp_close(actual, expected, max_ulp=2)


@pytest.mark.parametrize("make", [Fraction, mpmath.mpf, float], ids=["fraction", "mpmath", "float"])
def test_expected_may_be_exact_numbers(make):
    third = make(1) / 3

    assert_ulp_close(np.float16([1 / 3]), [third], max_ulp=0.5)
    with pytest.raises(PrecisionError, match=r"0\.33330078 +|worst"):
        assert_ulp_close(np.float16([1 / 3]), [third], max_ulp=0.1)


def test_mpmath_numbers_are_not_cut_to_fp64():
    with mpmath.workprec(200):
        close = mpmath.mpf(1) + mpmath.mpf(2) ** -90

        assert_ulp_close(np.float64([1.0]), [close], max_ulp=2.0**-38)
        with pytest.raises(PrecisionError):
            assert_ulp_close(np.float64([1.0]), [close], max_ulp=2.0**-39)


def test_scalars():
    assert_ulp_close(np.float32(1.0), 1.0, max_ulp=0)
    assert_ulp_close(1.0, 1.0, max_ulp=0)


# actual, expected, keywords; all within 1 ULP or let off
@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        ([NAN, 1], [NAN, 1], {}),
        ([INF, -INF], [INF, -INF], {}),
        ([0.0], [-0.0], {}),
        ([1e-6], [0.0], {"zero_atol": 1e-5}),
        ([1.5], [1.0], {"atol": 0.5}),
        ([1.5], [1.0], {"rtol": 0.5}),
        ([2, 1, 1, 1], [1, 1, 1, 1], {"allow_fraction": 0.25}),
    ],
)
def test_passes(actual, expected, options):
    assert_ulp_close(np.float16(actual), np.float16(expected), max_ulp=1, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        ([NAN, 1], [NAN, 1], {"equal_nan": False}),
        ([NAN], [1], {"atol": 1e9}),
        ([1], [NAN], {"allow_fraction": 1.0}),
        ([INF], [65504], {"max_ulp": 1e9}),
        ([65504], [INF], {"max_ulp": 1e9}),
        ([1e-6], [0.0], {"zero_atol": 1e-7}),
        ([1.5], [1.0], {"zero_atol": 0.5}),
        ([2, 2, 1, 1], [1, 1, 1, 1], {"allow_fraction": 0.25}),
    ],
)
def test_fails(actual, expected, options):
    with pytest.raises(PrecisionError):
        assert_ulp_close(np.float16(actual), np.float16(expected), **{"max_ulp": 1, **options})


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.float16, np.float32),
        (np.float32, np.float16),
        (np.float64, np.float32),
        (np.float16, ml_dtypes.bfloat16),
        (np.float32, np.int32),
    ],
)
def test_formats_must_agree(actual, expected):
    with pytest.raises(NotComparableError, match=r"actual is \w+, expected is \w+: .* pass dtype='\w+'"):
        assert_ulp_close(np.ones(2, actual), np.ones(2, expected), max_ulp=1)


@pytest.mark.parametrize("dtype", ["fp16", "float16", np.float16, np.dtype(np.float16)], ids=str)
def test_dtype_says_which_ulp_is_meant(dtype):
    actual = np.float32([1 + 2 * STEP[np.float16]])

    assert_ulp_close(actual, np.float32([1]), max_ulp=2, dtype=dtype)
    with pytest.raises(PrecisionError, match=r"error <= 1 ULP of fp16"):
        assert_ulp_close(actual, np.float32([1]), max_ulp=1, dtype=dtype)


def test_values_that_dtype_cannot_hold_are_refused():
    with pytest.raises(NotComparableError, match=r"actual holds np\.float32\(1\.0000001\), which fp16 does not"):
        assert_ulp_close(np.float32([1, 1 + 2.0**-23]), np.float32([1, 1]), max_ulp=1, dtype="fp16")


def test_an_unknown_dtype_is_named():
    with pytest.raises(PrecDiffError, match=r"dtype: found 'fp17', allowed are dtypes and fp16, bf16"):
        assert_ulp_close(np.float32([1]), np.float32([1]), max_ulp=1, dtype="fp17")


def test_shapes_must_agree():
    with pytest.raises(NotComparableError, match=r"actual has shape \(2,\), expected has shape \(1, 2\)"):
        assert_ulp_close(np.ones(2), np.ones((1, 2)), max_ulp=1)


def test_empty_arrays_are_trouble_not_success():
    with pytest.raises(NotComparableError, match=r"nothing was compared: actual \(0, 3\) holds no elements"):
        assert_ulp_close(np.ones((0, 3)), np.ones((0, 3)), max_ulp=1)


def test_nothing_but_nan_is_trouble_not_success():
    with pytest.raises(NotComparableError, match=r"actual \(2,\) holds nothing but NaN"):
        assert_ulp_close(np.float32([NAN, NAN]), np.float32([NAN, NAN]), max_ulp=1)


@pytest.mark.parametrize("limits", [{"max_ulp": NAN}, {"max_ulp": -1}, {"rtol": NAN}, {"allow_fraction": "1"}], ids=str)
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(PrecDiffError, match=rf"{next(iter(limits))}: found .*; allowed is a number of at least 0"):
        assert_ulp_close(np.float32([1]), np.float32([2]), **{"max_ulp": 1, **limits})


def test_the_error_carries_the_report_and_the_users_words():
    with pytest.raises(PrecisionError) as caught:
        assert_ulp_close(np.float16([2]), np.float16([1]), max_ulp=4, msg="layer 3")

    assert caught.value.report.tensors[0].max_ulp == 1024.0
    assert str(caught.value) == "layer 3\n" + assertion(caught.value.report)


def test_the_error_travels_between_processes():
    with pytest.raises(PrecisionError) as caught:
        assert_ulp_close(np.float16([2]), np.float16([1]), max_ulp=4, msg="layer 3")
    copy = pickle.loads(pickle.dumps(caught.value))

    assert str(copy) == str(caught.value)
    assert copy.report == caught.value.report


def test_reals_are_not_taken_for_representable():
    with pytest.raises(PrecisionError) as caught:
        assert_ulp_close(np.float16([1.0]), np.float64([1 + 0.4 * 2.0**-10]), max_ulp=0.3)

    assert caught.value.report.tensors[0].snr_loss_db == 0.0
    assert Expected.reals([0.1]).format is None


def test_the_traceback_ends_in_the_test(pytester_lines):
    assert "assert_ulp_close(np.float16([2]), np.float16([1]), max_ulp=1)" in pytester_lines
    assert "assertions.py" not in pytester_lines


@pytest.fixture
def pytester_lines(tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text(
        "import numpy as np\nfrom precdiff.testing import assert_ulp_close\n\n\n"
        "def test_one():\n    assert_ulp_close(np.float16([2]), np.float16([1]), max_ulp=1)\n"
    )
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    return subprocess.run(run, capture_output=True, text=True, check=False).stdout


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, precdiff.testing; print({'numpy', 'precdiff.report'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "set()"
