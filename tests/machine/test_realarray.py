"""RealArray: rounding what is known of a real, and saying where it is not enough."""

from fractions import Fraction

import numpy as np
import pytest

from precdiff.formats import get_format
from precdiff.machine import RealArray, exactly
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN
from precdiff.rounding import Rounding, round_exact
from tests.machine.truth import same


def real(hi, lo=0.0, radius=0.0, kind=FINITE):
    columns = np.broadcast_arrays(*(np.asarray(c, np.float64) for c in (hi, lo, radius, kind)))
    return RealArray(*(c.copy() for c in columns[:3]), columns[3].astype(np.uint8))


TIE = 1 + 2.0**-11


@pytest.mark.parametrize(
    ("value", "direction", "expected", "decided"),
    [
        (real(TIE), "nearest-even", 1.0, True),
        (real(TIE, 1e-40), "nearest-even", 1 + 2.0**-10, True),
        (real(TIE, -1e-40), "nearest-away", 1.0, True),
        (real(TIE, 1e-40, 1e-45), "nearest-even", 1 + 2.0**-10, True),
        (real(TIE, 1e-40, 1e-39), "nearest-even", 1.0, False),
        (real(TIE, -1e-40, 1e-39), "nearest-away", 1 + 2.0**-10, False),
        (real(1.0, 0.0, 1e-30), "up", 1.0, False),
        (real(1.0, 1e-20, 1e-30), "up", 1 + 2.0**-10, True),
        (real(0.0), "nearest-even", 0.0, True),
        (real(-0.0), "nearest-even", -0.0, True),
        (real(-0.0), "down", -0.0, True),
        (real(0.0), "down", 0.0, True),
        (real(0.0, 0.0, 1e-300), "nearest-even", 0.0, False),
        (real(-1e-30, 0.0, 1e-40), "nearest-even", -0.0, True),
        (real(1e6), "nearest-even", np.inf, True),
        (real(1e6), "toward-zero", 65504.0, True),
        (real(0.0, kind=POSITIVE_INFINITY), "toward-zero", np.inf, True),
        (real(0.0, kind=NEGATIVE_INFINITY), "up", -np.inf, True),
        (real(0.0, kind=NAN), "nearest-even", np.nan, True),
        (real(0.0, kind=UNKNOWN), "nearest-even", np.nan, False),
    ],
)  # fmt: skip
def test_rounded(value, direction, expected, decided):
    found, known = value.rounded(Rounding("fp16", direction))
    assert same(found, expected)
    assert bool(known) is decided


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "e4m3fn"])
@pytest.mark.parametrize("direction", ["nearest-even", "up", "toward-zero"])
def test_pairs_round_as_their_exact_sum(fmt, direction):
    rng = np.random.default_rng(4)
    hi = rng.uniform(-4, 4, 300)
    hi[::3] = np.round(hi[::3] * 64) / 64 + rng.choice([0, 2.0**-12, 2.0**-9], hi[::3].size)
    lo = hi * 2.0**-53 * rng.uniform(-0.5, 0.5, 300) * rng.choice([0.0, 1.0, 1e-20], 300)
    found, known = real(hi, lo).rounded(Rounding(fmt, direction))
    expected = [
        round_exact(Fraction(a) + Fraction(b), Rounding(fmt, direction))
        for a, b in zip(hi.tolist(), lo.tolist(), strict=True)
    ]
    assert known.all()
    assert same(found, expected).all()


def test_stochastic_rounding_is_a_draw_and_never_undecided():
    value = real(np.full(1000, 1 + 2.0**-12), 0.0, 1e-30)
    found, known = value.rounded(Rounding("fp16", "stochastic"), np.random.default_rng(0))
    assert known.all()
    assert 0.15 < np.mean(found > 1.0) < 0.35


def test_values_and_bounds():
    value = real(
        [1.5, 0.0, 0.0, 0.0, 0.0, -0.0], [2.0**-60, 0, 0, 0, 0, 0], [2.0**-70, 0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 0]
    )
    assert same(value.values(), [1.5, np.inf, -np.inf, np.nan, np.nan, -0.0]).all()
    low, high = value.bounds()
    assert low[0] < 1.5 + 2.0**-60 < high[0]
    assert same(low[1:], [np.inf, -np.inf, np.nan, -np.inf, -0.0]).all()
    assert same(high[1:], [np.inf, -np.inf, np.nan, np.inf, -0.0]).all()


def test_the_radius_in_ulps():
    value = real([1.0, 0.0, 0.0, 0.0, 1e30], 0.0, [2.0**-12, 2.0**-24, 0.0, 0.0, 8.0], [0, 0, 3, 4, 0])
    assert value.radius_ulp(get_format("fp16")).tolist() == [0.25, 1.0, 0.0, np.inf, 0.25]


def test_exactly():
    value = exactly(np.float32([1.5, np.inf, -np.inf, np.nan, -0.0]))
    assert value.kind.tolist() == [FINITE, POSITIVE_INFINITY, NEGATIVE_INFINITY, NAN, FINITE]
    assert not value.radius.any()
    assert np.signbit(value.hi[4])


def test_where_takes_the_other_at_the_mask():
    mixed = real([1.0, 2.0]).where(np.array([True, False]), real([5.0, 6.0], 0.0, 0.5))
    assert (mixed.hi.tolist(), mixed.radius.tolist()) == ([5.0, 2.0], [0.5, 0.0])
