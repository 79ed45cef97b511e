"""Every metric against its definition, computed another way: with fractions and mpmath, element by element."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from precdiff.comparison import Errors, Expected, Limits, compare_tensor

SEED = 20261130


def ulp_of(r, p, emin, emax):
    """ulp(r) by the definition in DESIGN 4: the exponent of |r|, clamped."""
    if r == 0:
        return Fraction(2) ** (emin - p + 1)
    exponent = 0
    while Fraction(2) ** (exponent + 1) <= abs(r):
        exponent += 1
    while Fraction(2) ** exponent > abs(r):
        exponent -= 1
    return Fraction(2) ** (min(max(exponent, emin), emax) - p + 1)


def fp16(values):
    return np.asarray(values, np.float16).astype(np.float32)


@pytest.fixture(scope="module")
def exact():
    """Values in fp16 against reals hi + lo; everything about them in fractions."""
    rng = np.random.default_rng(SEED)
    hi = rng.standard_normal(500) * 10.0 ** rng.integers(-8, 4, 500)
    hi[:4] = [0.0, 1.0, 6e-8, -(2.0**-24)]
    lo = hi * 2.0**-60
    actual = fp16(hi * (1 + 2e-3 * rng.standard_normal(500)))
    real = [Fraction(h) + Fraction(low) for h, low in zip(hi, lo, strict=True)]
    error = [Fraction(float(a)) - r for a, r in zip(actual, real, strict=True)]
    ulps = [e / ulp_of(r, 11, -14, 15) for e, r in zip(error, real, strict=True)]
    row, _ = compare_tensor(actual, Expected(hi, lo, measures="total"), "fp16", "ulp")
    return {"row": row, "real": real, "error": error, "ulps": ulps, "actual": actual}


def test_ulp_figures(exact):
    row, ulps = exact["row"], exact["ulps"]
    distance = sorted(abs(u) for u in ulps)

    assert row.max_ulp == pytest.approx(float(distance[-1]), rel=1e-14)
    assert row.mean_ulp == pytest.approx(float(sum(distance) / 500), rel=1e-13)
    assert row.mean_signed_ulp == pytest.approx(float(sum(ulps) / 500), rel=1e-10)
    assert row.errors == Errors(total=row.max_ulp)


@pytest.mark.parametrize(("name", "share"), [("p50_ulp", 0.5), ("p99_ulp", 0.99)])
def test_quantiles_are_upper_edges_of_a_sixteenth_octave(exact, name, share):
    true = float(sorted(abs(u) for u in exact["ulps"])[math.ceil(share * 500) - 1])
    found = getattr(exact["row"], name)

    assert true <= found <= true * 2 ** (1 / 16)
    assert math.log2(found) * 16 == pytest.approx(round(math.log2(found) * 16), abs=1e-9)


def test_histogram_counts_every_element_at_its_edge(exact):
    edges = [0, Fraction(1, 2), *range(1, 65), *(2**k for k in range(7, 1024))]
    counts = {}
    for u in exact["ulps"]:
        edge = float(next(edge for edge in edges if abs(u) <= edge))
        counts[edge] = counts.get(edge, 0) + 1

    assert dict(exact["row"].ulp_histogram) == counts


def test_absolute_and_relative(exact):
    error, real = exact["error"], exact["real"]

    assert exact["row"].max_abs == pytest.approx(float(max(abs(e) for e in error)), rel=1e-14)
    assert exact["row"].max_rel == pytest.approx(
        float(max(abs(e / r) for e, r in zip(error, real, strict=True) if r)), rel=1e-13
    )


def test_rmse_cosine_and_snr_with_mpmath(exact):
    with mpmath.workprec(300):
        error = [mpmath.mpf(e.numerator) / e.denominator for e in exact["error"]]
        real = [mpmath.mpf(r.numerator) / r.denominator for r in exact["real"]]
        actual = [mpmath.mpf(float(a)) for a in exact["actual"]]
        noise, signal = mpmath.fdot(error, error), mpmath.fdot(real, real)
        cosine = mpmath.fdot(actual, real) / mpmath.sqrt(mpmath.fdot(actual, actual) * signal)
        snr = 10 * mpmath.log10(signal / noise)

    assert exact["row"].rmse == pytest.approx(float(mpmath.sqrt(noise / 500)), rel=1e-13)
    assert exact["row"].cosine == pytest.approx(float(cosine), rel=1e-13)
    assert exact["row"].snr_db == pytest.approx(float(snr), rel=1e-12)


def nearest_fp16(r):
    """Nearest fp16 number by search among all of them; the codes order them."""
    codes = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    place = int(np.searchsorted(codes.astype(np.float64), float(abs(r))))
    near = [Fraction(float(codes[i])) for i in range(max(place - 1, 0), min(place + 2, 0x7C00))]
    return min(near, key=lambda value: abs(value - abs(r))) * (1 if r >= 0 else -1)


def test_unavoidable_ratio_and_snr_loss(exact):
    floor = [nearest_fp16(r) - r for r in exact["real"]]
    in_ulps = [f / ulp_of(r, 11, -14, 15) for f, r in zip(floor, exact["real"], strict=True)]
    rms_floor = math.sqrt(float(sum(u * u for u in in_ulps)) / 500)
    rms_total = math.sqrt(float(sum(u * u for u in exact["ulps"])) / 500)
    loss = 10 * math.log10(float(sum(e * e for e in exact["error"]) / sum(f * f for f in floor)))

    assert exact["row"].unavoidable_ratio == pytest.approx(rms_total / max(rms_floor, 0.29), rel=1e-12)
    assert exact["row"].snr_loss_db == pytest.approx(loss, rel=1e-11)


def test_correctly_rounded_values_have_a_ratio_of_one_and_lose_nothing():
    hi = np.random.default_rng(SEED).uniform(1, 2, 20000)
    row, _ = compare_tensor(fp16(hi), Expected(hi), "fp16", "ulp", Limits(max_ulp=0.5))

    assert row.verdict == "pass"
    assert row.unavoidable_ratio == pytest.approx(1.0, abs=0.01)
    assert row.snr_loss_db == 0.0
    assert row.max_ulp <= 0.5


# field reports on other comparison tools, one a row: what they said wrongly
def test_small_unsigned_integers_do_not_wrap():
    row, _ = compare_tensor(np.uint8([10, 10]), np.uint8([9, 14]), "u8", "allclose", Limits(atol=3.0))

    assert (row.verdict, row.max_abs, row.over_limit) == ("fail", 4.0, 1)


def test_sixty_four_bit_integers_are_compared_exactly():
    actual = np.uint64([2**64 - 1, 2**53 + 1])
    row, failing = compare_tensor(actual, np.uint64([2**64 - 2, 2**53 + 1]), "u64", "bitwise")

    assert failing.tolist() == [True, False]
    assert row.max_abs == 1.0


def test_relative_error_where_both_are_zero_is_zero():
    row, _ = compare_tensor(np.int64([0, 1]), np.int64([0, 2]), "i64", "allclose", Limits(rtol=1e-3))

    assert row.max_rel == 0.5


def test_cosine_of_a_scaled_tensor_is_one_and_decides_nothing():
    expected = np.array([1.0, -2.0, 3.0, 0.5])
    row, _ = compare_tensor(expected / 2, expected, "fp64", "ulp")

    assert row.cosine == 1.0
    assert row.verdict == "fail"


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_squares_neither_overflow_nor_vanish(scale):
    expected = np.array([3.0, -4.0]) * scale
    row, _ = compare_tensor(expected * 1.5, expected, "fp64", "ulp")

    assert row.rmse == pytest.approx(scale * math.sqrt(3.125), rel=1e-12)
    assert row.cosine == pytest.approx(1.0, rel=1e-12)
    assert row.snr_db == pytest.approx(20 * math.log10(2), rel=1e-12)
    assert row.snr_loss_db == math.inf


def test_zero_vectors_have_neither_cosine_nor_signal():
    row, _ = compare_tensor(np.zeros(3), np.zeros(3), "fp64", "ulp")

    assert (row.verdict, row.max_ulp, row.rmse) == ("pass", 0.0, 0.0)
    assert math.isnan(row.cosine) and math.isnan(row.snr_db)


def test_signs_are_counted():
    row, _ = compare_tensor(fp16([1, -1, 0, -0.0]), fp16([-1, -1, 1, 1]), "fp16", "ulp")

    assert row.extra["sign_mismatched"] == 1
