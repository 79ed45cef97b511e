"""What every rounding has in common: monotone, idempotent, between its directed neighbours, symmetric in sign."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from precdiff.formats import is_representable, next_down, next_up, ulp_error
from precdiff.rounding import Rounding, round_array
from tests.rounding.edges import same

FLOATS = st.sampled_from(["fp16", "bf16", "e4m3fn", "e5m2", "fp32", "fp64"])
DIRECTED = st.sampled_from(["nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd"])
OVERFLOW = st.sampled_from(["ieee", "saturate"])
SUBNORMALS = st.sampled_from(["keep", "flush"])
#: numbers from all over fp64, and those near what the narrow formats hold
NUMBERS = st.one_of(
    st.floats(allow_nan=False, width=64),
    st.floats(allow_nan=False, width=32),
    st.builds(
        lambda m, e, d: (m + d) * 2.0**e,
        st.integers(-4096, 4096),
        st.integers(-30, 10),
        st.sampled_from([0, 0.5, 1e-9]),
    ),
)
ARRAYS = st.lists(NUMBERS, min_size=1, max_size=20).map(np.array)
ROUNDINGS = st.builds(Rounding, FLOATS, DIRECTED, OVERFLOW, SUBNORMALS)
MIRROR = {"up": "down", "down": "up"}


@given(ARRAYS, ROUNDINGS)
def test_monotone(x, rounding):
    rounded = round_array(np.sort(x), rounding)
    rounded = rounded[~np.isnan(rounded)]  # e4m3fn overflow
    assert (rounded[1:] >= rounded[:-1]).all()


@given(ARRAYS, ROUNDINGS)
def test_idempotent(x, rounding):
    once = round_array(x, rounding)
    assert same(round_array(once, rounding), once).all()


@given(ARRAYS, ROUNDINGS)
def test_results_are_values_of_the_format(x, rounding):
    assert is_representable(round_array(x, rounding), rounding.format).all()


@given(ARRAYS, FLOATS, DIRECTED, OVERFLOW, SUBNORMALS)
def test_sign_symmetric(x, name, direction, overflow, subnormals):
    there = round_array(-x, Rounding(name, direction, overflow, subnormals))
    back = round_array(x, Rounding(name, MIRROR.get(direction, direction), overflow, subnormals))
    assert same(there, -back).all()


@given(ARRAYS, ROUNDINGS)
def test_values_of_the_format_stay(x, rounding):
    x = x[is_representable(x, rounding.format) & np.isfinite(x)]
    flushed = (np.abs(x) < rounding.format.min_normal) & (rounding.subnormals == "flush")
    assert same(round_array(x, rounding), np.where(flushed, np.copysign(0.0, x), x)).all()


@given(ARRAYS, FLOATS, DIRECTED)
def test_every_direction_lies_between_down_and_up(x, name, direction):
    low, high = (round_array(x, Rounding(name, way, "saturate")) for way in ("down", "up"))
    rounded = round_array(x, Rounding(name, direction, "saturate"))
    assert ((rounded == low) | (rounded == high)).all()


@given(NUMBERS, FLOATS)
def test_nearest_is_within_half_an_ulp_of_what_it_rounds(x, name):
    rounded = round_array([x], Rounding(name))
    assume(not np.isnan(rounded).any())
    assert ulp_error(rounded, [x], name) <= 0.5


@given(NUMBERS, FLOATS)
def test_neighbours_undo_each_other(x, name):
    value = round_array([x], Rounding(name, overflow="saturate"))
    assume(np.abs(value) < Rounding(name).format.max_finite)
    assert next_down(next_up(value, name), name) == value
    assert next_up(next_down(value, name), name) == value


@given(ARRAYS, FLOATS, st.integers(0, 2**32))
def test_stochastic_is_sign_symmetric_for_the_same_seed(x, name, seed):
    rounding = Rounding(name, "stochastic", "saturate")
    there, back = (round_array(s * x, rounding, np.random.default_rng(seed)) for s in (1, -1))
    assert same(there, -back).all()
