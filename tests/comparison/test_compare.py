"""The frame around metrics and standards: chunks, masks, worst elements, identity, pairing."""

import hashlib
import math
import tracemalloc

import numpy as np
import pytest

from precdiff.comparison import (
    Expected,
    Identity,
    Limits,
    check_shapes,
    compare_tensor,
    over_tensors,
    overall,
    pair,
    require_compared,
)
from precdiff.comparison import compare as frame
from precdiff.errors import NotComparableError

RNG = np.random.default_rng(7)


@pytest.fixture
def noisy():
    expected = RNG.standard_normal((13, 77)).astype(np.float32)
    actual = (expected * (1 + 1e-6 * RNG.standard_normal((13, 77)))).astype(np.float32)
    actual[3, 5], expected[4, 6] = np.nan, np.inf
    return actual, expected


def test_chunks_change_nothing(noisy, monkeypatch):
    whole, mask = compare_tensor(*noisy, "fp32", "ulp")
    monkeypatch.setattr(frame, "CHUNK", 10)
    parts, parts_mask = compare_tensor(*noisy, "fp32", "ulp")

    assert (mask == parts_mask).all()
    for name in ("mean_ulp", "mean_signed_ulp", "rmse", "cosine", "snr_db", "unavoidable_ratio"):
        assert getattr(whole, name) == pytest.approx(getattr(parts, name), rel=1e-12)
    for name in "max_ulp p50_ulp p99_ulp ulp_histogram worst sha256 max_abs max_rel nonfinite".split():
        assert repr(getattr(whole, name)) == repr(getattr(parts, name))


def test_strides_change_nothing(noisy):
    actual, expected = noisy
    plain = compare_tensor(actual.T.copy(), expected.T.copy(), "fp32", "ulp")
    strided = compare_tensor(actual.T, expected.T, "fp32", "ulp")

    assert repr(plain.row) == repr(strided.row)
    assert (plain.failing == strided.failing).all()


def test_mask_and_index_have_the_tensors_shape(noisy):
    row, failing = compare_tensor(*noisy, "fp32", "ulp", Limits(max_ulp=4))
    places = [tuple(int(i) for i in place) for place in np.argwhere(failing)]

    assert failing.shape == (13, 77)
    assert row.over_limit == len(places)
    assert {worst.index for worst in row.worst} <= set(places)


def test_a_scalar_tensor():
    row, failing = compare_tensor(np.float32(2.0), np.float32(1.0), "fp32", "ulp")

    assert (row.shape, failing.shape, row.worst[0].index, row.verdict) == ((), (), (), "fail")


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_nothing_to_compare(shape):
    row, failing = compare_tensor(np.zeros(shape, np.float32), np.zeros(shape, np.float32), "fp32")

    assert (row.verdict, row.compared, failing.shape) == ("not_compared", 0, shape)
    assert math.isnan(row.max_ulp) and row.ulp_histogram == ()


def test_only_nan_is_nothing_to_compare():
    assert compare_tensor(np.float32([np.nan]), np.float32([np.nan]), "fp32").row.verdict == "not_compared"


def test_worst_elements_come_worst_first():
    actual = np.float32([1, 3, np.inf, 2, 5, 1.5, 1, 3])
    expected = np.ones(8, np.float32)
    row, _ = compare_tensor(actual, expected, "fp32", "ulp")

    assert [worst.index[0] for worst in row.worst] == [2, 4, 1, 7, 3, 5]
    assert (row.worst[0].actual, row.worst[0].actual_bits, row.worst[0].expected) == (math.inf, "0x7f800000", 1.0)


def test_an_excused_element_is_not_among_the_worst():
    row, _ = compare_tensor(np.float32([2.0**-10, 1.5]), np.float32([0, 1]), "fp16", "ulp", Limits(zero_atol=1e-2))

    assert [worst.index for worst in row.worst] == [(1,)]
    assert row.excused == 1


@pytest.mark.parametrize("count", [9, 10, 11, 5000])
def test_of_equally_bad_elements_the_first_are_kept(count):
    row, _ = compare_tensor(np.full(count, 2, np.float32), np.ones(count, np.float32), "fp32", "ulp")

    assert [worst.index[0] for worst in row.worst] == list(range(min(count, 10)))


def test_worst_elements_match_a_full_sort():
    expected = RNG.standard_normal(100_000)
    actual = expected * (1 + 1e-12 * RNG.standard_normal(100_000))
    row, _ = compare_tensor(actual, expected, "fp64", "ulp")
    ulps = np.abs(actual - expected) / np.spacing(np.abs(expected))

    assert [worst.index[0] for worst in row.worst] == np.argsort(-ulps, kind="stable")[:10].tolist()


def test_the_hash_is_that_of_the_bits_on_disk():
    values = np.float16([1.5, -0.0, 65504])
    row, _ = compare_tensor(values.astype(np.float32), values.astype(np.float32), "fp16")

    assert row.sha256 == hashlib.sha256(values.astype("<f2").tobytes()).hexdigest()


def test_identity_reaches_the_row():
    identity = Identity(
        id="s1", name="exp", layer="softmax", op="exp", source="k.py:3", iteration=2, rank=1, sha256="ab"
    )
    row = compare_tensor(np.ones(1, np.float32), np.ones(1, np.float32), "fp32", identity=identity).row

    assert (row.id, row.sha256, row.layer, row.source) == ("s1", "ab", "softmax", "k.py:3")
    assert (row.iteration, row.rank) == (2, 1)


def test_the_widest_radius_is_kept_in_ulp():
    radius = np.array([0.0, 2.0**-12])
    info = Expected.reals([1.0]).info
    expected = Expected(np.ones(2), np.zeros(2), radius, np.zeros(2, np.uint8), info=info)

    assert compare_tensor(np.ones(2, np.float32), expected, "fp16").row.reference.max_radius_ulp == 0.25


def test_memory_is_the_mask_and_a_few_chunks():
    expected = RNG.standard_normal(2_000_000).astype(np.float32)
    for _ in range(3):  # by then numba is loaded, if it is there
        compare_tensor(expected, expected, "fp32", "ulp")
    tracemalloc.start()
    compare_tensor(expected, expected, "fp32", "ulp")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < expected.size + 8e6  # one byte an element, and chunks


def test_shapes_must_agree():
    with pytest.raises(NotComparableError, match=r"'y': actual has shape \(2, 3\), expected has shape \(3, 2\)"):
        check_shapes("y", (2, 3), (3, 2))
    with pytest.raises(NotComparableError, match="actual has shape"):
        compare_tensor(np.ones(3, np.float32), np.ones(1, np.float32), "fp32")


def test_per_element_data_must_fit():
    with pytest.raises(NotComparableError, match=r"array of shape \(2,\) does not fit a tensor of shape \(3,\)"):
        compare_tensor(np.ones(3, np.float32), np.ones(3, np.float32), "fp32", "bound", Limits(bound=np.ones(2)))


def test_bounds_may_be_broadcast():
    limits = Limits(bound=np.array([[0.0], [1.0]]))
    row, failing = compare_tensor(np.ones((2, 3)) + 2.0**-52, np.ones((2, 3)), "fp64", "bound", limits)

    assert failing.tolist() == [[True] * 3, [False] * 3]
    assert row.rule == "error of the step <= its op's bound (0 to 1 ULP of fp64)"


def test_pairs_by_name_keep_the_order_and_list_the_rest():
    found = pair({"c": 1, "a": 2, "x": 3}, {"a": 20, "c": 10, "y": 30})

    assert [(p.name, p.actual, p.expected) for p in found.pairs] == [("c", 1, 10), ("a", 2, 20)]
    assert {p.paired_by for p in found.pairs} == {"name"}
    assert found.unmatched() == {"actual": ["x"], "expected": ["y"]}


def test_two_tensors_of_different_names_are_not_guessed():
    found = pair({"a": 1, "b": 2}, {"c": 3})

    assert found.pairs == ()
    assert found.unmatched() == {"actual": ["a", "b"], "expected": ["c"]}


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        (["pass", "fail", "undecided"], "fail"),
        (["pass", "undecided"], "undecided"),
        (["pass", "not_compared"], "not_compared"),
        (["not_compared"], "not_compared"),
        ([], "not_compared"),
    ],
)
def test_overall_verdict(verdicts, wanted):
    assert overall(verdicts) == wanted


@pytest.mark.parametrize(
    ("roles", "wanted"),
    [(("output", "intermediate"), "pass"), (("intermediate", "output"), "not_compared")],
    ids=["a step without numbers", "an output without numbers"],
)
def test_a_pass_means_that_every_output_was_compared(roles, wanted):
    nan = np.float32([np.nan])
    rows = [
        compare_tensor(values, values, "fp32", identity=Identity(role=role)).row
        for role, values in zip(roles, (np.ones(1, np.float32), nan), strict=True)
    ]

    assert over_tensors(rows) == wanted


def test_nothing_compared_is_trouble():
    row = compare_tensor(np.zeros(0, np.float32), np.zeros(0, np.float32), "fp32", identity=Identity(name="y")).row

    with pytest.raises(NotComparableError, match=r"nothing was compared: y \(0,\) holds no elements"):
        require_compared([row])
