"""What an element is: RN(r), its unavoidable error, and numbers against specials."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.comparison import Conventions, Expected, Limits, compare_tensor
from precdiff.comparison.elements import Elements
from precdiff.comparison.pieces import Rows
from precdiff.formats import get_format, widen

INF, NAN = np.inf, np.nan


def elements(hi, lo, format):
    hi = np.atleast_1d(np.float64(hi))
    expected = Expected(hi, np.atleast_1d(np.float64(lo)))
    actual = np.zeros(hi.shape, get_format(format).carrier)
    return Elements(Rows.of(actual, expected), slice(0, hi.size), get_format(format), Conventions(), False)


def nearest_fp16(r):
    """Nearest, ties to even, by search: even codes are even significands."""
    numbers = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    place = int(np.searchsorted(numbers, float(abs(r))))
    near = range(max(place - 1, 0), min(place + 2, 0x7C00))
    code = min(near, key=lambda i: (abs(Fraction(float(numbers[i])) - abs(r)), i % 2))
    return float(numbers[code])


@given(st.floats(-65504, 65504), st.integers(-(2**20), 2**20))
def test_rounding_once_is_nearest_even_of_the_sum(hi, sixty_fourths):
    lo = sixty_fourths * 2.0**-20 * float(np.spacing(np.abs(hi))) / 2
    real = Fraction(hi) + Fraction(lo)
    nearest, distance = elements(hi, lo, "fp16").rounded

    assert abs(nearest[0]) == nearest_fp16(real)
    unit = Fraction(float(elements(hi, lo, "fp16").spacing[0]))
    assert distance[0] == pytest.approx(float(abs(Fraction(float(nearest[0])) - real) / unit), abs=1e-12)


@pytest.mark.parametrize(
    ("hi", "lo", "rounded"),
    [
        (1 + 2.0**-11, 0.0, 1.0),
        (1 + 2.0**-11, 2.0**-80, 1 + 2.0**-10),
        (1 + 2.0**-11, -(2.0**-80), 1.0),
        (1 + 3 * 2.0**-11, 0.0, 1 + 2.0**-9),
        (1 + 3 * 2.0**-11, -(2.0**-80), 1 + 2.0**-10),
        (-(1 + 2.0**-11), -(2.0**-80), -(1 + 2.0**-10)),
        (2.0**-25, 0.0, 0.0),
        (2.0**-25, 2.0**-90, 2.0**-24),
    ],
)
def test_ties_are_broken_by_the_low_part(hi, lo, rounded):
    assert elements(hi, lo, "fp16").rounded[0][0] == rounded


# one row: actual, expected hi, lo, what becomes of the element
SPECIALS = [
    ("nan, nan", NAN, NAN, 0.0, "nothing but NaN"),
    ("nan, number", NAN, 1.0, 0.0, "mismatched"),
    ("number, nan", 1.0, NAN, 0.0, "mismatched"),
    ("inf, inf", INF, INF, 0.0, "agreed"),
    ("-inf, inf", -INF, INF, 0.0, "mismatched"),
    ("inf, largest", INF, 65504.0, 0.0, "mismatched"),
    ("largest, inf", 65504.0, INF, 0.0, "mismatched"),
    ("inf, just below the limit", INF, 65519.99, 0.0, "mismatched"),
    ("inf, at the limit", INF, 65520.0, 0.0, "agreed"),
    ("inf, a hair below the limit", INF, 65520.0, -1e-12, "mismatched"),
    ("largest, a hair below the limit", 65504.0, 65520.0, -1e-12, "number"),
    ("largest, at the limit", 65504.0, 65520.0, 0.0, "mismatched"),
    ("inf, far beyond", INF, 1e300, 0.0, "agreed"),
    ("-inf, far below", -INF, -1e300, 0.0, "agreed"),
    ("nan, far beyond", NAN, 1e300, 0.0, "mismatched"),
]
VERDICTS = {"nothing but NaN": "not_compared", "mismatched": "fail", "agreed": "pass", "number": "pass"}


@pytest.mark.parametrize(("actual", "hi", "lo", "state"), [pytest.param(*row[1:], id=row[0]) for row in SPECIALS])
@pytest.mark.parametrize(
    ("standard", "limits"),
    [
        ("ulp", Limits(max_ulp=1e9)),
        ("ulp", Limits(max_ulp=1e9, allow_fraction=1.0, zero_atol=1e30)),
        ("allclose", Limits(rtol=1e9, atol=1e9)),
        ("bound", Limits(bound=np.float64(INF))),
        ("backward", Limits(backward=1e9, terms=np.float64([1e9]))),
        ("auto", Limits(max_ulp=1e9)),
    ],
)
def test_specials_under_every_standard(actual, hi, lo, state, standard, limits):
    expected = Expected(np.array([hi]), np.array([lo]))
    row, failing = compare_tensor(np.float32([actual]), expected, "fp16", standard, limits)

    assert row.verdict == VERDICTS[state]
    assert failing.tolist() == [state == "mismatched"]
    assert row.compared == 1
    assert row.nonfinite.mismatched == (state == "mismatched")


def test_bitwise_judges_specials_alike():
    for _, actual, hi, lo, state in SPECIALS:
        expected = Expected(np.array([hi]), np.array([lo]))
        assert compare_tensor(np.float32([actual]), expected, "fp16", "bitwise").row.verdict == VERDICTS[state]


def test_saturation_agrees_with_its_own_rule():
    limits = Limits(max_ulp=1, conventions=Conventions(overflow="saturate"))
    expected = Expected(np.array([1e6, -1e6, 1e6]))
    row, failing = compare_tensor(np.float32([65504, -65504, INF]), expected, "fp16", "ulp", limits)

    assert failing.tolist() == [False, False, True]
    assert row.nonfinite.mismatched == 1
    assert row.max_ulp == 0.0


def test_e4m3fn_overflows_to_nan_above_464():
    expected = Expected(np.array([464.0, 465.0]))
    row, failing = compare_tensor(np.float32([448, NAN]), expected, "e4m3fn", "ulp", Limits(max_ulp=1))

    assert (row.verdict, failing.tolist(), row.compared) == ("pass", [False, False], 2)
    assert (row.max_ulp, row.ulp_histogram) == (0.5, ((0.0, 1), (0.5, 1)))


def test_an_output_that_overflowed_to_nan_throughout_was_compared():
    row = compare_tensor(np.float32([NAN, NAN]), Expected(np.array([1e6, -1e6])), "e4m3fn", "ulp").row

    assert (row.verdict, row.compared, row.max_ulp, row.nonfinite.expected) == ("pass", 2, 0.0, 2)


def test_nan_where_nan_is_expected_is_compared_and_exact():
    row = compare_tensor(np.float32([NAN, 1.0]), np.float32([NAN, 1.0]), "fp16", "ulp").row

    assert (row.verdict, row.compared, row.ulp_histogram, row.mean_ulp) == ("pass", 2, ((0.0, 2),), 0.0)
    assert row.extra["nan_pairs"] == 1


def test_nan_is_no_match_where_equal_nan_is_off():
    limits = Limits(conventions=Conventions(equal_nan=False))
    row, failing = compare_tensor(np.float32([NAN, 1]), np.float32([NAN, 1]), "fp16", "ulp", limits)

    assert (row.verdict, failing.tolist(), row.max_ulp) == ("fail", [True, False], INF)


def test_means_leave_mismatches_out_and_maxima_do_not():
    row, _ = compare_tensor(np.float32([NAN, 1.0009765625]), np.float32([1, 1]), "fp16", "ulp")

    assert (row.max_ulp, row.mean_ulp, row.max_abs) == (INF, 1.0, 2.0**-10)
    assert row.ulp_histogram == ((1.0, 1), (INF, 1))
    assert (row.extra["nan_mismatched"], row.extra["inf_mismatched"]) == (1, 0)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([mpmath.mpf(1) / 3, mpmath.pi], "mpmath"),
        ([Fraction(1, 3), Fraction(22, 7)], "fraction"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reals_are_split_into_two_parts(values, name):
    with mpmath.workprec(200):
        values = [mpmath.mpf(1) / 3, +mpmath.pi] if name == "mpmath" else values
        expected = Expected.reals(values)
        for value, hi, lo in zip(values, expected.hi, expected.lo, strict=True):
            rest = value - type(value)(float(hi)) - type(value)(float(lo))
            assert abs(rest) <= 2.0**-100


def test_reals_beyond_fp64_are_infinite():
    expected = Expected.reals([Fraction(10) ** 400, -(Fraction(10) ** 400), float("nan")])

    assert expected.hi[:2].tolist() == [INF, -INF] and np.isnan(expected.hi[2])


@given(st.integers(-(2**63), 2**63 - 1))
def test_widening_keeps_every_integer(value):
    hi, lo = widen(np.int64([value]))

    assert int(hi[0]) + int(lo[0]) == value
