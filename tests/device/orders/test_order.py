"""What all orders share: JSON, text, shapes, start values, and large products in slabs."""

import json

import numpy as np
import pytest

from precdiff.device import (
    AdjacentTree,
    AlignedTruncated,
    Groups,
    GroupTrees,
    Once,
    Pairwise,
    Repeats,
    Sequential,
    SequentialFma,
    order_from_json,
    parse_order,
)
from precdiff.device.orders import ORDERS, order
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.rounding import Rounding

FP32 = Rounding("fp32")
SOME = [
    Sequential(), SequentialFma(), Pairwise(), AdjacentTree(), Repeats("tree", elements=64), Groups(4), Once(),
    GroupTrees(8, k0_fp32=4), AlignedTruncated(8, 25, zero_exponent=-133, final="down"),
]  # fmt: skip


@pytest.mark.parametrize("value", SOME, ids=str)
def test_json_and_text_give_the_order_back(value):
    assert order_from_json(json.loads(json.dumps(value.to_json()))) == value
    assert parse_order(str(value)) == value


def test_every_kind_can_be_named_alone():
    assert all(parse_order(kind).kind == kind for kind in ORDERS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sequental", "Did you mean 'sequential'"),
        ("groups(k=4)", "groups has no field 'k'; allowed: k0, k0_fp32"),
        ("groups(k0=many)", "groups: field k0 takes a whole number; found 'many'"),
        ("repeats(outer=trees)", "Did you mean 'tree'"),
    ],
)
def test_wrong_texts_are_answered(text, message):
    with pytest.raises(PrecDiffError, match=message.replace("(", r"\(")):
        parse_order(text)


def test_json_without_a_kind_is_answered():
    with pytest.raises(UnknownNameError, match="unknown summation order None"):
        order_from_json({"k0": 3})


@pytest.mark.parametrize("value", SOME, ids=str)
def test_no_terms(value):
    empty = np.zeros((3, 0), np.float32)

    assert value.sum(empty, FP32).tolist() == [0.0, 0.0, 0.0]
    assert not np.signbit(value.sum(empty, FP32)).any()
    assert value.dot(empty, empty, FP32).tolist() == [0.0, 0.0, 0.0]
    assert value.dot(empty, empty, FP32, c=2.0).tolist() == [2.0, 2.0, 2.0]
    assert value.sum(np.zeros((0, 5), np.float32), FP32).shape == (0,)


@pytest.mark.parametrize("value", SOME, ids=str)
def test_operands_broadcast_like_a_matrix_product(value):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-8, 8, (2, 3, 5)).astype(np.float32), rng.integers(-8, 8, (5, 4)).astype(np.float32)
    c = rng.integers(-8, 8, (3, 4)).astype(np.float32)

    found = value.dot(a[..., :, None, :], b.T[None, :, :], FP32, c=c)

    assert found.dtype == np.float32
    assert np.array_equal(found, a @ b + c)  # small integers: exact in every order


@pytest.mark.parametrize("value", SOME, ids=str)
def test_slabs_do_not_show(value, monkeypatch):
    rng = np.random.default_rng(4)
    a = rng.standard_normal((7, 1, 33)).astype(np.float16).astype(np.float32)
    b = rng.standard_normal((1, 5, 33)).astype(np.float16).astype(np.float32)
    c = rng.standard_normal((7, 5)).astype(np.float32)
    terms = rng.standard_normal((40, 33)).astype(np.float32)
    whole = value.dot(a, b, FP32, c=c), value.sum(terms, FP32)

    monkeypatch.setattr(order, "SLAB", 400)

    assert np.array_equal(value.dot(a, b, FP32, c=c), whole[0])
    assert np.array_equal(value.sum(terms, FP32), whole[1])


@pytest.mark.parametrize("value", SOME, ids=str)
def test_stochastic_sums_repeat_with_their_seed(value):
    terms = np.random.default_rng(6).standard_normal((4, 70)).astype(np.float16).astype(np.float32)
    rounding = Rounding("fp16", "stochastic")

    first, again = (value.sum(terms, rounding, rng=np.random.default_rng(1)) for _ in range(2))

    assert np.array_equal(first, again)
    assert np.allclose(first, terms.sum(axis=-1), atol=0.5)


def test_factors_outside_fp32_are_multiplied_exactly():
    a, b = np.array([1e200, 1.0]), np.array([1e-200, 2.0**-60])

    assert Once().dot(a, b, Rounding("fp64")) == 1.0


def test_an_unbounded_exponent_keeps_the_order():
    # a format whose exponents do not end (what a replay uses to prove overflow)
    a, b = np.array([2.0**200, 2.0**190, 2.0**200]), np.array([2.0**200, 2.0**190, -(2.0**200)])

    assert Groups(2).dot(a, b, Rounding("fp64")) == 2.0**380
