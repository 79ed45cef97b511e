"""Figures of a whole tensor: what they are, how far the reference's radius leaves them open, and what follows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.comparison import Expected, Limits, compare_tensor
from precdiff.comparison.elements import CHUNK
from precdiff.comparison.standard import Judgement, Standard
from precdiff.comparison.whole import Angle, Below, Counts, Mean, Share, Sizes, Span, Worst, all_of, any_of, of_tensor
from precdiff.formats import get_format


class Kept:
    """Keeps what it is shown, and decides by the mean relative error and the cosine."""

    def __init__(self, limits, format, shape):
        self.worst, self.mean, self.below, self.angle = Worst(), Mean(), Below(0.25), Angle(format)
        self.peers = 0

    def add(self, elements):
        low, high = Sizes.of(elements).relative()
        for figure in (self.worst, self.mean, self.below):
            figure.add(low, high)
        self.angle.add(elements)
        self.peers += elements.peer is not None

    def decide(self, counts):
        return of_tensor(self.mean.span().within(0.5), "mean relative error <= 0.5", counts, 7.0)


def figures(actual, expected, radius=None, peer=None):
    kept = []

    def whole(*given):
        kept.append(Kept(*given))
        return kept[-1]

    def judge(elements, limits):
        return Judgement.of(np.abs(elements.error) > 0.5 * np.abs(elements.truth), np.abs(elements.error), 0.5)

    hi = np.asarray(expected, np.float64)
    wanted = Expected(hi, np.zeros(hi.shape), np.full(hi.shape, radius or 0.0), np.zeros(hi.shape, np.uint8))
    standard = Standard("kept", lambda limits, format: "a rule", judge, whole=whole, takes=("peer",))
    limits = Limits(peer=None if peer is None else np.float32(peer))
    compared = compare_tensor(np.float32(actual), wanted, "fp32", standard, limits)
    return kept[0], compared


def test_figures_are_over_all_chunks():
    rng = np.random.default_rng(1)
    size = 2 * CHUNK + 3
    expected = rng.integers(1, 9, size).astype(np.float64)
    actual = expected + rng.integers(-2, 3, size)
    kept, _ = figures(actual, expected)
    relative = np.abs(actual - expected) / expected

    assert kept.worst.span() == (relative.max(), relative.max())
    assert kept.mean.span().low == pytest.approx(relative.mean(), rel=1e-12)
    assert kept.below.span() == ((relative < 0.25).mean(),) * 2
    cosine = actual @ expected / np.linalg.norm(actual) / np.linalg.norm(expected)
    assert kept.angle.span() == pytest.approx((cosine, cosine), rel=1e-12)


@given(
    st.lists(st.tuples(st.integers(1, 64), st.integers(-8, 8), st.integers(-4, 4)), min_size=1, max_size=20),
)
def test_every_figure_of_every_true_value_lies_in_its_span(rows):
    """The true value is r + shift / 8, |shift| <= 4: the reference knows r to within 1/2."""
    expected = [Fraction(r) for r, _, _ in rows]
    actual = [r + Fraction(d, 4) for r, (_, d, _) in zip(expected, rows, strict=True)]
    true = [r + Fraction(s, 8) for r, (_, _, s) in zip(expected, rows, strict=True)]
    kept, _ = figures([float(a) for a in actual], [float(r) for r in expected], radius=0.5)
    relative = [abs(a - t) / abs(t) for a, t in zip(actual, true, strict=True)]
    below = Fraction(sum(e < Fraction(1, 4) for e in relative), len(rows))
    cosine = sum(a * t for a, t in zip(actual, true, strict=True)) / math.sqrt(
        max(sum(a * a for a in actual) * sum(t * t for t in true), Fraction(1, 10**9))
    )

    for span, value in (
        (kept.worst.span(), max(relative)),
        (kept.mean.span(), sum(relative) / len(rows)),
        (kept.below.span(), below),
    ):
        assert span.low - 1e-12 <= value <= span.high + 1e-12
    if any(actual):
        span = kept.angle.span()
        assert span.low - 1e-9 <= cosine <= span.high + 1e-9


@pytest.mark.parametrize(
    ("span", "limit", "within", "strict", "above"),
    [
        (Span(1.0, 2.0), 3.0, "pass", "pass", "fail"),
        (Span(1.0, 2.0), 2.0, "pass", "undecided", "fail"),
        (Span(1.0, 2.0), 1.5, "undecided", "undecided", "undecided"),
        (Span(1.0, 2.0), 1.0, "undecided", "fail", "undecided"),
        (Span(1.0, 2.0), 0.5, "fail", "fail", "pass"),
        (Span(math.nan, math.nan), 0.5, "fail", "fail", "fail"),
    ],
)
def test_a_span_passes_where_both_ends_do(span, limit, within, strict, above):
    assert (span.within(limit), span.within(limit, strict=True), span.above(limit)) == (within, strict, above)


def test_outcomes_join():
    assert all_of(["pass", "undecided"]) == "undecided"
    assert all_of(["undecided", "fail"]) == "fail"
    assert any_of(["fail", "undecided"]) == "undecided"
    assert any_of(["undecided", "pass"]) == "pass"
    assert (all_of([]), any_of([])) == ("pass", "fail")


@pytest.mark.parametrize(
    ("allowed", "over", "maybe", "wanted"),
    [
        (0.29, 29, 0, "pass"),
        (0.29, 30, 0, "fail"),
        (0.29, 29, 1, "undecided"),
        (0.0, 0, 0, "pass"),
        (0.0, 1, 0, "fail"),
    ],
)
def test_a_share_counts_exactly(allowed, over, maybe, wanted):
    """0.29 * 100 is 28.999... in binary: the share decides, not a truncated count."""
    assert Share(allowed, "rule").decide(Counts(100, over, maybe)).outcome == wanted


def test_where_figures_pass_no_element_is_beyond_and_where_they_fail_the_judged_ones_are():
    _, passing = figures([1.0, 1.0, 1.75], [1.0, 1.0, 1.0])
    _, failing = figures([1.0, 2.0, 1.75], [1.0, 1.0, 1.0])

    assert (passing.row.verdict, passing.row.over_limit, passing.failing.any()) == ("pass", 0, False)
    assert (failing.row.verdict, failing.row.over_limit) == ("fail", 2)
    assert failing.row.extra["needed_factor"] == 7.0
    assert failing.row.rule == "mean relative error <= 0.5"


def test_a_value_that_is_not_finite_fails_whatever_the_figures_say():
    _, compared = figures([1.0, math.nan], [1.0, 1.0])

    assert (compared.row.verdict, compared.failing.tolist()) == ("fail", [False, True])


def test_what_the_radius_leaves_open_is_undecided():
    _, compared = figures([1.4], [1.0], radius=0.1)

    assert compared.row.verdict == "undecided"


def test_a_peer_is_seen_beside_every_chunk():
    kept, _ = figures(np.ones(CHUNK + 1), np.ones(CHUNK + 1), peer=np.ones(CHUNK + 1))

    assert kept.peers == 2


def test_the_angle_of_nothing_is_nan():
    kept, _ = figures([0.0], [1.0])

    assert math.isnan(kept.angle.span().low)
    assert (kept.angle.actual_moves, kept.angle.expected_moves) == (False, True)
    assert math.isnan(Angle(get_format("fp32")).span().high)
