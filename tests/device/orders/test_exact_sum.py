"""The exact sum and its one rounding, against math.fsum and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from precdiff.device.orders.exact_sum import exact_sum
from precdiff.device.orders.node import Node
from precdiff.rounding import DIRECTIONS, Rounding, round_exact

MODES = [Rounding(fmt, d) for fmt in ("fp16", "fp32", "fp64") for d in DIRECTIONS if d != "stochastic"]
ANY = st.floats(allow_nan=False, allow_infinity=False)
NARROW = st.floats(width=32, allow_nan=False, allow_infinity=False)


@example([[2.0, 0.0, 0.0], [2.0**53 - 1, 9.7e288, 0.0], [7e-230, 0.0, 0.0]])
@given(st.lists(st.lists(ANY, min_size=3, max_size=3), min_size=1, max_size=30))
def test_the_pair_rounds_as_the_sum(rows):
    terms = np.array(rows)
    exact = [sum(map(Fraction, column), Fraction(0)) for column in terms.T.tolist()]

    for rounding in MODES:
        found = Node(rounding, held=False).add_all(terms)
        assert [f or 0.0 for f in found.tolist()] == [round_exact(e, rounding) if e else 0.0 for e in exact], rounding


@given(st.lists(st.tuples(NARROW, NARROW), min_size=1, max_size=40))
def test_the_leading_part_of_exact_products_is_fsum(pairs):
    products = np.array([a * b for a, b in pairs])

    hi, _ = exact_sum(products)

    assert hi == math.fsum(products)


def test_what_lies_below_the_second_part_decides_a_tie():
    # 1 + 2^-24 is a tie of fp32; a term 200 binades below it breaks the tie
    for below, expected in ((2.0**-200, 1 + 2.0**-23), (-(2.0**-200), 1.0), (0.0, 1.0)):
        terms = np.array([2.0**90, 1.0, 2.0**-24, -(2.0**90), below])
        assert Node(Rounding("fp32"), held=True).add_all(terms) == expected
    # the same for fp64, whose tie lies in `lo`
    for below, expected in ((2.0**-200, 1 + 2.0**-52), (-(2.0**-200), 1.0), (0.0, 1.0)):
        terms = np.array([2.0**90, 1.0, 2.0**-53, -(2.0**90), below])
        assert Node(Rounding("fp64"), held=True).add_all(terms) == expected


def test_cancellation_over_the_whole_exponent_range():
    terms = np.array([2.0**900, 2.0**400, 2.0**-1074, -(2.0**900), -(2.0**400)])

    assert exact_sum(terms)[0] == 2.0**-1074


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([math.inf, -math.inf, 1.0], math.nan),
        ([math.nan, math.inf], math.nan),
        ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
        ([1.7e308, 1.7e308], math.inf),
    ],
)
def test_specials_and_large_terms(terms, expected):
    found = float(Node(Rounding("fp64"), held=True).add_all(np.array(terms)))

    assert str(found) == str(expected)


def test_overflow_of_a_large_sum_obeys_the_direction():
    top = Node(Rounding("fp64", "toward-zero"), held=True).add_all(np.array([1.7e308, 1.7e308]))

    assert top == np.finfo(np.float64).max
