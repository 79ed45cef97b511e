"""The histogram of ULP errors: every edge, both sides of it."""

import math

import numpy as np
import pytest

from precdiff.comparison.histogram import UlpHistogram

EDGES = [0.0, 0.5, *map(float, range(1, 65)), *(2.0**k for k in range(7, 1024)), math.inf]


def rows(*values):
    histogram = UlpHistogram()
    histogram.add(np.array(values, np.float64))
    return histogram.rows()


@pytest.mark.parametrize("place", [*range(70), 200, 1000, len(EDGES) - 2])
def test_an_error_at_an_edge_belongs_to_it_and_one_above_to_the_next(place):
    edge = EDGES[place]

    assert rows(edge) == [(edge, 1)]
    assert rows(np.nextafter(edge, math.inf)) == [(EDGES[place + 1], 1)]


def test_infinite_errors_have_their_own_edge():
    assert rows(math.inf, 1.0) == [(1.0, 1), (math.inf, 1)]


def test_chunks_add_up():
    values = np.random.default_rng(1).lognormal(0, 4, 5000)
    whole, parts = UlpHistogram(), UlpHistogram()
    whole.add(values)
    for start in range(0, 5000, 999):
        parts.add(values[start : start + 999])

    assert whole.rows() == parts.rows()
    assert sum(count for _, count in whole.rows()) == whole.count == 5000
    assert whole.quantile(0.9) == parts.quantile(0.9)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.99, 1.0])
def test_quantiles(share):
    values = np.random.default_rng(2).lognormal(0, 6, 4000)
    histogram = UlpHistogram()
    histogram.add(values)
    true = np.sort(values)[math.ceil(share * 4000) - 1]

    assert true <= histogram.quantile(share) <= true * 2 ** (1 / 16)


def test_quantiles_at_the_ends():
    histogram = UlpHistogram()
    assert math.isnan(histogram.quantile(0.5))

    histogram.add(np.array([0.0, 0.0, math.inf]))
    assert (histogram.quantile(0.5), histogram.quantile(0.99)) == (0.0, math.inf)
