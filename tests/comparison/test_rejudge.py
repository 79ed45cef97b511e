"""Judging a stored row again: never another verdict than comparing again would give, and a range where that is open."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.comparison import Expected, Identity, Limits, ReferenceInfo, compare_tensor
from precdiff.comparison.rejudge import counts_beyond, rejudge
from precdiff.errors import FileError


def row_of(ulps, limit=4.0, **more):
    """A stored row of errors that are whole or half ulps of fp32 at 1 (2^-23)."""
    expected = np.ones(len(ulps)) + np.array(ulps, np.float64) * 2.0**-23
    limits = Limits(max_ulp=limit, role="output", **more)
    identity = Identity("out", "out", role="output")
    return compare_tensor(np.ones(len(ulps), np.float32), Expected.reals(expected), "fp32", "ulp", limits, identity).row


@given(
    st.lists(st.integers(0, 4000).map(lambda n: n / 2), min_size=1, max_size=40),
    st.integers(0, 5000).map(lambda n: n / 2),
)
def test_it_agrees_with_comparing_again(ulps, limit):
    again, fresh = rejudge(row_of(ulps), limit), row_of(ulps, limit)
    assert again.verdict == fresh.verdict
    assert again.low <= fresh.over_limit <= again.high


@pytest.mark.parametrize("limit", [0, 0.5, 1, 2, 3, 63, 64, 128, 4096])
def test_counts_are_exact_at_the_edges(limit):
    ulps = [n / 2 for n in range(300)]
    again = rejudge(row_of(ulps), limit)
    assert again.low == again.high == sum(n > limit for n in ulps)


def test_between_edges_the_count_is_a_range():
    # 70 and 100 share the bin (64, 128]: at 80 one of them is beyond for certain, because the largest error is stored
    again = rejudge(row_of([1.0, 70.0, 100.0]), 80)
    assert (again.verdict, again.low, again.high) == ("fail", 1, 2)
    assert rejudge(row_of([1.0, 70.0, 100.0]), 100).verdict == "pass"
    assert counts_beyond([(1.0, 1), (128.0, 2)], 80) == (0, 2)


def test_a_limit_within_the_radius_stays_undecided():
    info = ReferenceInfo("ball", 128, "certified", 0.25, 0)
    row = dataclasses.replace(row_of([1.0, 8.0]), reference=info)
    assert [rejudge(row, limit).verdict for limit in (7.5, 7.9, 8.1, 8.5)] == ["fail", "undecided", "undecided", "pass"]


def test_what_was_excused_does_not_count():
    # the first element is beyond 4 ULP and excused by atol
    row = row_of([100.0, 3.0], atol=100 * 2.0**-23)
    assert row.excused == 1
    assert rejudge(row, 3).verdict == "pass" and rejudge(row, 2).verdict == "fail"


def test_mismatched_values_fail_under_any_limit():
    row = compare_tensor(np.float32([np.nan, 1]), np.float32([1, 1]), "fp32", "ulp", Limits(max_ulp=4)).row
    assert rejudge(row, 1e300).verdict == "fail"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compared": -1}, "a count is negative or larger than the tensor"),
        ({"over_limit": 3}, "a count is negative or larger than the tensor"),
        ({"ulp_histogram": ((1.0, -1), (8.0, 3))}, "a count is negative or larger than the tensor"),
        ({"ulp_histogram": ((1.0, 1),)}, "the histogram counts 1 elements, compared are 2"),
        ({"ulp_histogram": ((0.7, 1), (8.0, 1))}, "an edge of the histogram is none"),
        ({"ulp_histogram": ((-1.0, 1), (8.0, 1))}, "an edge of the histogram is none"),
        ({"max_ulp": math.nan}, "an ULP error is none"),
        ({"max_ulp": math.inf}, "max_ulp is not in the last class of the histogram"),
        ({"max_ulp": 2.0}, "max_ulp is not in the last class of the histogram"),
    ],
)
def test_a_row_that_contradicts_itself_has_no_verdict(change, message):
    with pytest.raises(FileError, match=f"out: the report contradicts itself: {message}"):
        rejudge(dataclasses.replace(row_of([1.0, 8.0]), **change), 4)


@given(st.lists(st.floats(0, exclude_min=False), min_size=1, max_size=20))
def test_no_row_that_was_compared_contradicts_itself(values):
    row = compare_tensor(np.array(values), np.zeros(len(values)), "fp64", "ulp").row
    assert rejudge(row, 4).verdict == row.verdict


def test_other_rules_keep_their_verdict():
    row = row_of([100.0])
    step = dataclasses.replace(row, role="intermediate", rule="error of the step <= its op's bound (0.5 ULP of fp32)")
    whole = dataclasses.replace(row, format="i32")
    unknown = dataclasses.replace(row, verdict="not_compared")
    assert [rejudge(r, 1000).verdict for r in (step, whole, unknown)] == ["fail", "fail", "not_compared"]
    assert rejudge(row, 1000).verdict == "pass"
