"""The twin of the measuring pass says what the plain one says, to the last bit; the plain one is checked by fsum."""

import itertools
import math
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precdiff import formats
from precdiff._accel import backend
from precdiff.comparison import Limits, Piece, compare_pieces, compare_tensor
from precdiff.comparison.elements import CHUNK, Conventions, Elements
from precdiff.comparison.expected import Expected
from precdiff.comparison.figures import LANES, measured, product, total
from precdiff.comparison.histogram import EDGES, UlpHistogram, places
from precdiff.comparison.pieces import Rows
from precdiff.rounding import Rounding, round_array

FORMATS = ["fp16", "bf16", "fp32", "fp64", "e4m3fn", "e5m2", "tf32"]
PLAIN = ["ordinary", "zeros", "subnormal", "equal", "one", "few"]
SPECIAL = ["nan", "inf", "overflow", "tiny", "huge"]


def rounded(values, format):
    return round_array(np.asarray(values, np.float64), Rounding(format))


def values(kind, format, rng):
    row = formats.get_format(format)
    n = {"one": 1, "few": LANES + 3}.get(kind, 5000)
    expected = rng.standard_normal(n) * (row.min_normal if kind == "subnormal" else 1.0)
    actual = expected * (1 + 3 * row.u * rng.standard_normal(n))
    if kind in {"zeros", "few"}:
        expected[::3] = actual[::3] = 0.0
        actual[::6] = -0.0
        actual[1::6] = -expected[1::6]
    if kind == "equal":
        actual = expected
    if kind in {"nan", "inf"}:
        actual[7] = expected[9] = math.nan if kind == "nan" else -math.inf
    if kind == "overflow":
        expected[5] = row.max_finite * 2
    if kind == "huge":
        expected[3], actual[3] = row.max_finite, row.max_finite / 2
    if kind == "tiny":
        expected *= 2.0**-1000
    return rounded(actual, format), expected


def chunk(actual, expected, format, reals, fast):
    row = formats.get_format(format)
    against = Expected.reals(expected) if reals else Expected.array(rounded(expected, format), row)
    return Elements(Rows.of(actual, against), slice(0, actual.size), row, Conventions(), not reals, fast)


@pytest.mark.parametrize("reals", [False, True], ids=["same_format", "reals"])
@pytest.mark.parametrize("kind", PLAIN + SPECIAL)
@pytest.mark.parametrize("format", FORMATS)
def test_the_twin_gives_the_same_bits(format, kind, reals):
    actual, expected = values(kind, format, np.random.default_rng(1))
    plain, fast = (chunk(actual, expected, format, reals, fast) for fast in (False, True))
    assert repr(fast.figures) == repr(plain.figures)  # NaN included
    assert np.array_equal(fast.ulps.view(np.int64), plain.ulps.view(np.int64))
    if kind in {"nan", "inf"}:
        assert fast._measured is None


def test_the_twin_is_what_ran():
    actual, expected = values("ordinary", "fp32", np.random.default_rng(1))
    assert chunk(actual, expected, "fp32", False, True)._measured is not None


@pytest.mark.parametrize("reals", [False, True], ids=["same_format", "reals"])
def test_every_fp16_against_random_expected(reals):
    every = formats.from_bits(np.arange(2**16), "fp16")
    finite = every[np.isfinite(every)]
    expected = finite * (1 + np.random.default_rng(2).normal(0, 2e-3, finite.size))
    found = [chunk(finite, np.clip(expected, -65504, 65504), "fp16", reals, fast) for fast in (False, True)]
    assert found[1]._measured is not None
    assert found[0].figures == found[1].figures
    assert np.array_equal(found[0].ulps, found[1].ulps)


@pytest.mark.parametrize("n", [0, 1, LANES - 1, LANES, LANES + 1, 32768])
def test_a_sum_is_near_the_exact_one(n):
    x = np.random.default_rng(n).standard_normal(n) * 10.0
    assert total(x) == pytest.approx(math.fsum(x), rel=1e-12, abs=1e-12 * np.abs(x).sum())
    assert math.ldexp(*product(x, x)) == pytest.approx(math.fsum(v * v for v in x.tolist()), rel=1e-13)


def test_places_are_the_smallest_edge_not_below():
    near = [EDGES, np.nextafter(EDGES, np.inf), np.nextafter(EDGES[1:], 0.0), [5e-324, 1e-300, 1.7e308]]
    errors = np.concatenate([*near, np.exp(np.random.default_rng(3).normal(0, 20, 100_000))])
    assert np.array_equal(places(errors), np.searchsorted(EDGES, errors))
    plain, fast = UlpHistogram(), UlpHistogram()
    plain.add(errors)
    fast.add(errors, fast=True)
    assert np.array_equal(plain._counts, fast._counts)


@pytest.mark.parametrize("cause", ["turned off", "no numba", "nowhere to cache"])
def test_without_twins_the_plain_definition_runs(cause, monkeypatch):
    if cause == "turned off":
        monkeypatch.setenv("PRECDIFF_ACCEL", "0")
    else:
        raised = ImportError("no numba") if cause == "no numba" else RuntimeError("no locator available")
        monkeypatch.setattr(backend.importlib, "import_module", Mock(side_effect=raised))
    backend.accelerator.cache_clear()
    try:
        x = np.ones(3, np.float32)
        assert measured(x, x, formats.get_format("fp32"), True, math.inf) is None
        assert chunk(x, x, "fp32", False, True).figures.error_error == (0.0, 0)
    finally:
        backend.accelerator.cache_clear()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10 * CHUNK), max_size=5), st.booleans())
def test_a_tensor_in_pieces_of_whole_chunks_has_the_row_of_the_whole(cuts, reals):
    rng = np.random.default_rng(5)
    row, shape = formats.get_format("fp16"), (5, CHUNK + 7)
    truth = rounded(rng.standard_normal(math.prod(shape)), "fp16")
    actual = rounded(truth * (1 + 2e-3 * rng.standard_normal(truth.size)), "fp16")
    expect = Expected.reals if reals else lambda x: Expected.array(x, row)
    ends = sorted({0, truth.size, *(cut - cut % CHUNK for cut in cuts if cut < truth.size)})
    pieces = [Piece(a, actual[a:b], expect(truth[a:b])) for a, b in itertools.pairwise(ends)]
    whole = compare_tensor(actual.reshape(shape), expect(truth.reshape(shape)), row, "ulp", Limits(max_ulp=4.0))
    assert compare_pieces(pieces, shape, row, "ulp", Limits(max_ulp=4.0)) == whole.row
    assert whole.row.over_limit == np.count_nonzero(whole.failing)
