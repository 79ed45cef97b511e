"""Losses against a baseline: which figure got worse, by how much, and whether that is allowed."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff import api
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.report import Report
from precdiff.report.regression import Allowance, against_baseline, facts, figures, losses, outputs_of

INF, NAN = math.inf, math.nan
DB = 10 ** (1 / 20)  # one decibel is this factor in amplitude


# before, after, figures that got worse, of them those that fail; 1 dB and 0.5 ULP are allowed
@pytest.mark.parametrize(
    ("before", "after", "worse", "fails"),
    [
        ({"max_ulp": 1.0}, {"max_ulp": 1.0}, [], []),
        ({"max_ulp": 1.0}, {"max_ulp": 0.5}, [], []),
        ({"max_ulp": 1.0}, {"max_ulp": 1.5}, ["max_ulp"], []),
        ({"max_ulp": 1.0}, {"max_ulp": 1.51}, ["max_ulp"], ["max_ulp"]),
        ({"max_ulp": 1000.0}, {"max_ulp": 1000 * DB - 0.1}, ["max_ulp"], []),
        ({"max_ulp": 1000.0}, {"max_ulp": 1000 * DB + 0.1}, ["max_ulp"], ["max_ulp"]),
        ({"max_ulp": 1.0}, {"max_ulp": INF}, ["max_ulp"], ["max_ulp"]),
        ({"max_ulp": INF}, {"max_ulp": INF}, [], []),
        ({"max_ulp": NAN}, {"max_ulp": 3.0}, [], []),
        ({"snr_db": 60.0}, {"snr_db": 61.0}, [], []),
        ({"snr_db": 60.0}, {"snr_db": 59.0}, ["snr_db"], []),
        ({"snr_db": 60.0}, {"snr_db": 58.9}, ["snr_db"], ["snr_db"]),
        ({"snr_db": 60.0}, {"snr_db": -INF}, ["snr_db"], ["snr_db"]),
        ({"snr_db": INF}, {"snr_db": 60.0}, [], []),
        ({}, {"max_ulp": 9.0, "snr_db": 0.0}, [], []),
        ({"max_ulp": 1.0, "snr_db": 60.0}, {}, [], []),
    ],
)
def test_losses(before, after, worse, fails):
    found = losses("out", before, after, Allowance())
    assert [loss.figure for loss in found] == worse
    assert [loss.figure for loss in found if loss.fails] == fails


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 20), st.floats(0, 10))
def test_more_allowance_never_fails_more(before, after, db, ulp):
    def failing(allowed):
        return {loss.figure for loss in losses("x", {"max_ulp": before}, {"max_ulp": after}, allowed) if loss.fails}

    assert failing(Allowance(db + 1, ulp + 1)) <= failing(Allowance(db, ulp))


@pytest.mark.parametrize("given", [{"db": -1}, {"ulp": NAN}])
def test_an_allowance_is_a_number_of_at_least_0(given):
    with pytest.raises(PrecDiffError, match="allowed is a number of at least 0"):
        Allowance(**given)


def report(error=0.0):
    truth = np.linspace(1, 1.9, 64)
    return api.compare({"out": np.float16(truth + error * 2.0**-10)}, {"out": truth}, max_ulp=100)


def test_a_report_that_passes_fails_where_it_lost_too_much():
    kept = {name: figures(row) for name, row in outputs_of(report()).items()}
    same = against_baseline(report(), kept, Allowance(), "b.h5")
    assert same.verdict == "pass" and facts(same) == [("baseline", "b.h5"), ("lost", "nothing")]
    worse = against_baseline(report(3), kept, Allowance(), "b.h5")
    assert (report(3).verdict, worse.verdict, worse.tensors[0].verdict) == ("pass", "fail", "fail")
    assert worse.tensors[0].rule.startswith("worse than its baseline: out: 0.4857 -> 3.486 ULP, more than the 0.5 ULP")
    assert Report.from_json(worse.to_json()) == worse
    assert against_baseline(report(3), kept, Allowance(db=100, ulp=100), "b.h5").verdict == "pass"


def test_a_verdict_is_never_made_better():
    failing = dataclasses.replace(report(), verdict="undecided")
    kept = {name: figures(row) for name, row in outputs_of(failing).items()}
    assert against_baseline(failing, kept, Allowance(), "b.h5").verdict == "undecided"


def test_nothing_shared_is_trouble_and_the_rest_is_named():
    with pytest.raises(NotComparableError, match=r"no tensor of the report: it has y, the report out"):
        against_baseline(report(), {"y": {}}, Allowance(), "b.h5")
    two = against_baseline(report(), {"out": {}, "y": {}}, Allowance(), "b.h5")
    assert facts(two) == [("baseline", "b.h5"), ("lost", "nothing"), ("only in it", "y")]
