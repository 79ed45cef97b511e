"""The definition itself, against values worked by hand or by fractions; and: probing an order gives back its tree."""

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.device import AdjacentTree, AlignedTruncated, GroupTrees, Pairwise, Repeats, Sequential, SequentialFma
from precdiff.device.orders import Product, evaluate, visible
from precdiff.device.orders.tree import exact_node
from precdiff.rounding import Rounding, round_exact

FP16, FP32 = Rounding("fp16"), Rounding("fp32")


def test_every_node_rounds():
    terms = [1.0, 2.0**-11, 2.0**-11]

    assert evaluate([[0, 1], 2], terms, FP16) == 1.0  # each addend is half an ulp: ties to even, twice
    assert evaluate([0, [1, 2]], terms, FP16) == 1.0 + 2.0**-10
    assert evaluate([0, 1, 2], terms, FP16) == 1.0 + 2.0**-10


def test_saturation_acts_at_every_node():
    # the ReduceSum example of Huawei's documentation prints -29900 and 35604; the nearest half numbers are these
    terms = [60000.0, 60000.0, -30000.0, 100.0]
    saturating = Rounding("fp16", overflow="saturate", nan="zero")

    assert evaluate([2, 3], terms, saturating) == -29904.0
    assert evaluate([[0, 1], [2, 3]], terms, saturating) == 35584.0
    assert evaluate([[[0, 1], 2], 3], terms, saturating) == 35616.0
    assert evaluate([[0, 1], [2, 3]], terms, FP16) == math.inf


def test_an_exact_product_makes_a_fused_node():
    a = 32 * (1 + 2.0**-10)
    leaves = [Product(a, a), -1026.0]

    assert evaluate([0, 1], leaves, FP16) == 2.0**-10
    assert evaluate([0, 1], [round_exact(a * a, FP16), -1026.0], FP16) == 0.0


@pytest.mark.parametrize(
    ("children", "direction", "expected"),
    [
        ([-0.0, -0.0, -0.0], "nearest-even", -0.0),
        ([-0.0, 0.0, -0.0], "nearest-even", 0.0),
        ([-0.0, 0.0, -0.0], "down", -0.0),
        ([1.0, -1.0, -0.0], "nearest-even", 0.0),
        ([1.0, -1.0, 0.0], "down", -0.0),
        ([0.0, 0.0], "down", 0.0),
        ([Product(-2.0, 0.0), -0.0], "nearest-even", -0.0),
        ([math.inf, -1.0], "nearest-even", math.inf),
        ([math.inf, 1.0, -math.inf], "nearest-even", math.nan),
        ([Product(math.inf, 0.0), 1.0], "nearest-even", math.nan),
    ],
)
def test_zeros_and_specials_of_a_node(children, direction, expected):
    found = exact_node(children, Rounding("fp16", direction))

    assert str(found) == str(expected)


def test_one_child_gets_a_zero_added():
    assert str(evaluate([0], [-0.0], FP16)) == "0.0"
    assert str(evaluate(0, [-0.0], FP16)) == "-0.0"
    assert evaluate([0], [math.nan], Rounding("fp16", overflow="saturate", nan="zero")) == 0.0


def test_a_lone_product_is_rounded():
    assert evaluate(0, [Product(1 + 2.0**-10, 1 + 2.0**-10)], FP16) == 1 + 2.0**-9


def test_trees_may_be_as_deep_as_they_are_long():
    comb = reduce(lambda left, right: [left, right], range(5000))

    assert evaluate(comb, [1.0] * 5000, FP32) == 5000.0


BINARY = [
    Sequential(), SequentialFma(), Pairwise(), AdjacentTree(), GroupTrees(4), Repeats("in-order", 32),
    Repeats("tree", 16),
]  # fmt: skip


def revealed(order, n):
    """The tree FPRev sees (arXiv 2411.00442): +M at i and -M at j swallow the ones added before i and j meet."""
    big, pairs = 2.0**127, [(i, j) for i in range(n) for j in range(i)]
    masks = np.ones((len(pairs), n), np.float32)
    for mask, (i, j) in zip(masks, pairs, strict=True):
        mask[i], mask[j] = big, -big
    meets = dict(zip(pairs, (n - order.sum(masks, FP32)).astype(int).tolist(), strict=True))
    return grown(list(range(n)), lambda i, j: meets[max(i, j), min(i, j)])


def grown(leaves, size_where_they_meet):
    if len(leaves) == 1:
        return leaves[0]
    children, rest = [], leaves
    while rest:
        first = rest[0]
        child = [k for k in rest if k == first or size_where_they_meet(first, k) < len(leaves)]
        children.append(grown(child, size_where_they_meet))
        rest = [k for k in rest if k not in child]
    return children


@given(n=st.integers(2, 24), order=st.sampled_from(BINARY))
def test_probing_gives_back_the_declared_tree(n, order):
    assert revealed(order, n) == visible(order.for_data("fp32").tree(n))


@pytest.mark.parametrize("order", BINARY, ids=str)
def test_probing_gives_back_a_long_tree(order):
    assert revealed(order, 67) == visible(order.for_data("fp32").tree(67))


@pytest.mark.parametrize("n", [5, 16, 17, 40])
def test_probing_sees_the_multiway_nodes_of_a_truncating_unit(n):
    # M at one place of a node cuts the ones beside it away
    order = AlignedTruncated(8, 24)

    assert revealed(order, n) == visible(order.tree(n))


@given(st.lists(st.floats(-1e4, 1e4, width=16), min_size=1, max_size=40))
def test_all_terms_in_one_node_are_the_exact_sum(terms):
    found = evaluate(list(range(len(terms))), terms, FP32)

    assert found == round_exact(sum(map(Fraction, terms), Fraction(0)), FP32)
