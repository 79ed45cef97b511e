"""What each standard says, row by row; expected verdicts follow from its definition by hand."""

import math

import numpy as np
import pytest

from precdiff.comparison import STANDARDS, Expected, Identity, Limits, Standard, compare_tensor
from precdiff.comparison.standard import Judgement
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import get_format

ULP = 2.0**-10  # of fp16 in [1, 2)


def verdict(standard, actual, expected, format="fp16", **limits):
    carrier = np.float64 if format == "fp64" else np.float32
    actual = np.asarray(actual) if format[0] in "iu" or format == "bool" else np.asarray(actual, carrier)
    expected = expected if isinstance(expected, Expected) else np.asarray(expected, actual.dtype)
    return compare_tensor(actual, expected, format, standard, Limits(**limits)).row


# standard, actual, expected, limits, verdict, elements over the limit
TABLE = [
    ("ulp", [1 + 4 * ULP], [1.0], {"max_ulp": 4}, "pass", 0),
    ("ulp", [1 + 5 * ULP], [1.0], {"max_ulp": 4}, "fail", 1),
    ("ulp", [1 + 4 * ULP], [1.0], {}, "pass", 0),
    ("ulp", [1 + 5 * ULP], [1.0], {}, "fail", 1),
    ("ulp", [1.0], [1.0], {"max_ulp": 0}, "pass", 0),
    ("ulp", [-0.0], [0.0], {"max_ulp": 0}, "pass", 0),
    ("ulp", [2.0**-16], [0.0], {"max_ulp": 4}, "fail", 1),
    ("ulp", [2.0**-16], [0.0], {"max_ulp": 4, "zero_atol": 1e-4}, "pass", 0),
    ("ulp", [1 + 2.0**-7], [1.0], {"max_ulp": 4, "zero_atol": 0.1}, "fail", 1),
    ("ulp", [1 + 2.0**-7], [1.0], {"max_ulp": 4, "atol": 0.1}, "pass", 0),
    ("ulp", [1 + 2.0**-7], [1.0], {"max_ulp": 4, "rtol": 0.001}, "fail", 1),
    ("ulp", [2.0, 1, 1, 1], [1.0, 1, 1, 1], {"allow_fraction": 0.25}, "pass", 1),
    ("ulp", [2.0, 2, 1, 1], [1.0, 1, 1, 1], {"allow_fraction": 0.25}, "fail", 2),
    ("allclose", [1 + ULP], [1.0], {"rtol": 0.0011}, "pass", 0),
    ("allclose", [1 + ULP], [1.0], {"atol": 0.0011}, "pass", 0),
    ("allclose", [1 + 2 * ULP], [1.0], {"rtol": 0.001}, "fail", 1),
    ("allclose", [1 + 2 * ULP], [1.0], {}, "fail", 1),
    ("allclose", [1 + ULP], [1.0], {}, "pass", 0),
    ("bitwise", [1.0], [1.0], {}, "pass", 0),
    ("bitwise", [1.0 + ULP], [1.0], {}, "fail", 1),
    ("bitwise", [0.0], [-0.0], {}, "fail", 1),
    ("bitwise", [1.0], Expected(np.array([1 + 0.49 * ULP])), {}, "pass", 0),
    ("bitwise", [1.0], Expected(np.array([1 + 0.51 * ULP])), {}, "fail", 1),
    ("bitwise", [1.0 + ULP], Expected(np.array([1 + 0.5 * ULP])), {}, "fail", 1),
    ("bound", [1.0], Expected(np.array([1 + 0.5 * ULP])), {"bound": 0.5}, "pass", 0),
    ("bound", [1.0], Expected(np.array([1 + 0.51 * ULP])), {"bound": 0.5}, "fail", 1),
    ("bound", [1.0, 1.5], [1.0, 1.25], {"bound": np.array([0.0, 0.25]), "bound_unit": "absolute"}, "pass", 0),
    ("bound", [1.0, 1.5], [1.0, 1.25], {"bound": np.array([0.25, 0.2]), "bound_unit": "absolute"}, "fail", 1),
    ("backward", [0.5], [0.25], {"backward": 1e-3, "terms": np.array([250.0])}, "pass", 0),
    ("backward", [0.5], [0.25], {"backward": 1e-3, "terms": np.array([249.0])}, "fail", 1),
    ("backward", [0.0], [0.0], {"backward": 1e-3, "terms": np.array([0.0])}, "pass", 0),
    ("backward", [0.5], [0.0], {"backward": 1e-3, "terms": np.array([0.0])}, "fail", 1),
]


@pytest.mark.parametrize(("standard", "actual", "expected", "limits", "wanted", "over"), TABLE)
def test_table(standard, actual, expected, limits, wanted, over):
    row = verdict(standard, actual, expected, **limits)

    assert (row.verdict, row.over_limit) == (wanted, over)


# a reference known to lie within a radius (in ULP here): what can be said for certain
@pytest.mark.parametrize(
    ("standard", "limits", "distance", "radius", "wanted"),
    [
        ("ulp", {"max_ulp": 4}, 3.0, 0.5, "pass"),
        ("ulp", {"max_ulp": 4}, 4.0, 0.5, "undecided"),
        ("ulp", {"max_ulp": 4}, 4.4, 0.5, "undecided"),
        ("ulp", {"max_ulp": 4}, 4.6, 0.5, "fail"),
        ("ulp", {"max_ulp": 4}, 1.0, math.inf, "undecided"),
        ("ulp", {"max_ulp": 4}, 1.0, math.nan, "undecided"),
        ("allclose", {"atol": 4 * ULP}, 3.0, 0.5, "pass"),
        ("allclose", {"atol": 4 * ULP}, 4.2, 0.5, "undecided"),
        ("allclose", {"atol": 4 * ULP}, 5.0, 0.5, "fail"),
        ("bound", {"bound": 4.0}, 3.9, 0.2, "undecided"),
        ("bound", {"bound": 4 * ULP, "bound_unit": "absolute"}, 3.9, 0.2, "undecided"),
        ("bound", {"bound": 4 * ULP, "bound_unit": "absolute"}, 5.0, 0.2, "fail"),
        ("backward", {"backward": ULP, "terms": np.array([4.0])}, 4.4, 0.2, "undecided"),
        ("backward", {"backward": ULP, "terms": np.array([4.0])}, 4.8, 0.2, "fail"),
        ("bitwise", {}, 0.3, 0.1, "pass"),
        ("bitwise", {}, 0.45, 0.1, "undecided"),
        ("bitwise", {}, 0.55, 0.1, "undecided"),
        ("bitwise", {}, 0.7, 0.1, "fail"),
    ],
)
def test_within_the_radius_nothing_is_claimed(standard, limits, distance, radius, wanted):
    expected = Expected(np.array([1 + distance * ULP]), np.zeros(1), np.array([radius * ULP]), np.zeros(1, np.uint8))
    row = verdict(standard, [1.0], expected, **limits)

    assert row.verdict == wanted
    assert row.extra["undecided"] == (wanted == "undecided")


def test_an_undecided_element_stays_undecided_and_out_of_the_figures():
    kind = np.uint8([0, 4])
    expected = Expected(np.array([1.0, 0.0]), np.zeros(2), np.zeros(2), kind)
    row = verdict("ulp", [1.0, 7.0], expected)

    assert (row.verdict, row.compared, row.max_ulp, row.extra["undecided"]) == ("undecided", 1, 0.0, 1)


def test_a_failure_outweighs_a_doubt():
    expected = Expected(np.array([1.0, 1.0]), np.zeros(2), np.array([0.0, 1.0]), np.zeros(2, np.uint8))
    row = verdict("ulp", [2.0, 1.0], expected)

    assert (row.verdict, row.over_limit, row.extra["undecided"]) == ("fail", 1, 1)


def test_kinds_stand_for_specials():
    kind = np.uint8([0, 1, 2, 3])
    expected = Expected(np.ones(4), np.zeros(4), np.zeros(4), kind)
    row = verdict("ulp", [1.0, math.inf, -math.inf, math.nan], expected)

    assert (row.verdict, row.compared, row.max_ulp) == ("pass", 4, 0.0)


def test_near_the_overflow_limit_the_radius_decides():
    expected = Expected(np.array([65519.0]), np.zeros(1), np.array([2.0]), np.zeros(1, np.uint8))

    assert verdict("ulp", [math.inf], expected).verdict == "undecided"
    assert verdict("ulp", [65504.0], expected).verdict == "undecided"


@pytest.mark.parametrize(
    ("format", "role", "limits", "stated"),
    [
        ("i32", "output", {}, "bit for bit"),
        ("bool", "output", {}, "bit for bit"),
        ("fp16", "output", {}, "error <= 4 ULP of fp16 (default: no limit known)"),
        ("fp16", "output", {"max_ulp": 2}, "error <= 2 ULP of fp16"),
        ("fp16", "output", {"max_ulp": 2, "bound": 0.5}, "error <= 2 ULP of fp16"),
        ("fp16", "output", {"backward": 1e-3, "terms": np.ones(1)}, "error <= 0.001 sum of |terms| + 1/2 ULP of fp16"),
        ("fp16", "intermediate", {"bound": 0.5}, "error of the step <= its op's bound (0.5 ULP of fp16)"),
        ("fp16", "intermediate", {"bound": 0.5, "max_ulp": 2}, "error of the step <= its op's bound (0.5 ULP of fp16)"),
        ("fp16", "output", {"bound": 0.5}, "error of the step <= its op's bound (0.5 ULP of fp16)"),
    ],
)
def test_auto_chooses_by_what_it_is_given(format, role, limits, stated):
    values = np.ones(1, {"i32": np.int32, "bool": bool}.get(format, np.float32))
    row = compare_tensor(values, values, format, "auto", Limits(**limits), Identity(role=role)).row

    assert stated in row.rule
    assert row.verdict == "pass"


def test_rules_say_what_was_excused():
    row = verdict("ulp", [0.5, 1], [0.0, 1], max_ulp=2, zero_atol=1.0)

    assert row.rule == "error <= 2 ULP of fp16, excused where |expected| and |error| <= 1"
    assert (row.excused, row.extra["excused_max_ulp"]) == (1, 0.5 / 2**-24)


@pytest.mark.parametrize(
    ("standard", "limits", "key", "needed"),
    [
        ("ulp", {"max_ulp": 2}, "needed_limit", 512.0),
        ("bound", {"bound": 2.0}, "needed_limit", 512.0),
        ("allclose", {"atol": 0.125}, "needed_factor", 4.0),
        ("backward", {"backward": 0.25 - ULP / 2, "terms": np.ones(2)}, "needed_factor", 2.0),
    ],
)
def test_the_limit_that_would_pass_is_found(standard, limits, key, needed):
    assert verdict(standard, [1.5, 1.0], [1.0, 1.0], **limits).extra[key] == needed


def test_nothing_passes_a_mismatch():
    assert verdict("ulp", [math.nan, 1.5], [1.0, 1.0]).extra["needed_limit"] == math.inf


def test_data_a_standard_lacks_is_named():
    with pytest.raises(PrecDiffError, match=r"standard 'bound' needs Limits\.bound, found none"):
        verdict("bound", [1.0], [1.0])


def test_an_unknown_standard_names_its_neighbour():
    with pytest.raises(UnknownNameError, match=r"unknown standard 'upl'\. Did you mean 'ulp'\?"):
        verdict("upl", [1.0], [1.0])


def test_anyone_can_bring_a_standard():
    def judge(elements, limits):
        over = elements.value != 0.0
        return Judgement(over, np.zeros(len(elements), bool), elements.distance, 0.0)

    zero = Standard("zero", lambda limits, format: "all zero", judge)

    assert compare_tensor(np.float32([0, 1]), np.float32([0, 1]), "fp32", zero).failing.tolist() == [False, True]


def test_every_standard_states_a_rule():
    limits = Limits(max_ulp=1, bound=0.5, backward=1.0, terms=np.ones(1), op="exp")

    assert all(standard.rule(limits, get_format("fp32")) for _, standard in STANDARDS.items())
