"""Ascend's reduction order, against the documentation's examples and values worked by hand."""

import numpy as np
import pytest

from precdiff.device import AdjacentTree, Pairwise, Repeats
from precdiff.device.orders import visible
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.rounding import Rounding

FP16, FP32 = Rounding("fp16"), Rounding("fp32")
SATURATING = Rounding("fp16", overflow="saturate", nan="zero")
WAYS = [Repeats("in-order"), Repeats("tree")]


@pytest.mark.parametrize("order", WAYS, ids=str)
def test_the_worked_example_of_reduce_sum(order):
    terms = np.array([60000.0, 60000.0, -30000.0, 100.0])

    # asc-devkit prints 65504, -29900 and 35604: the tree is theirs, the roundings are half's
    assert order.sum(terms, SATURATING) == 35584.0
    assert order.sum(terms, FP16) == np.inf


@pytest.mark.parametrize(("fmt", "elements"), [("fp16", 128), ("bf16", 128), ("fp32", 64), ("i8", 256)])
def test_the_width_of_the_data_decides_what_a_repeat_holds(fmt, elements):
    assert Repeats().for_data(fmt).elements == elements


def test_a_wide_accumulator_does_not_change_the_repeat():
    # half data: the small ones share the second repeat of 128; float data: they stand in two repeats of 64
    terms = np.zeros(256, np.float32)
    terms[[0, 128, 192]] = 1.0, 2.0**-24, 2.0**-24

    assert Repeats("in-order").sum(terms, FP32, data="fp16") == 1.0 + 2.0**-23
    assert Repeats("in-order").sum(terms, FP32) == 1.0


def test_the_two_ways_add_repeats_differently():
    # repeat 0 is 1, repeats 2 and 3 are 2^-24: added in order both are lost, in a tree they meet first
    terms = np.zeros(4 * 64, np.float32)
    terms[[0, 128, 192]] = 1.0, 2.0**-24, 2.0**-24

    assert Repeats("in-order").sum(terms, FP32) == 1.0
    assert Repeats("tree").sum(terms, FP32) == 1.0 + 2.0**-23


def test_trees_by_hand():
    four = {"bytes": 8, "elements": 4}

    assert Repeats("in-order", **four).tree(10) == [[[[[0, 1], [2, 3]]], [[4, 5], [6, 7]]], [[8, 9]]]
    assert Repeats("tree", **four).tree(10) == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [[8, 9]]]
    assert Repeats("tree", **four).tree(3) == [[0, 1], [2]]
    assert Repeats("in-order", **four).tree(2, start=True) == [2, [[0, 1]]]


def test_results_of_repeats_are_reduced_until_one_is_left():
    order = Repeats("tree", elements=4)  # 40 terms: 10 repeats, 3, 1

    quarters = [[[4 * r, 4 * r + 1], [4 * r + 2, 4 * r + 3]] for r in range(10)]
    first, second = ([[q[0], q[1]], [q[2], q[3]]] for q in (quarters[:4], quarters[4:8]))
    assert visible(order.tree(40)) == [[first, second], [quarters[8], quarters[9]]]


@pytest.mark.parametrize("order", WAYS, ids=str)
def test_masked_off_elements_count_as_positive_zero(order):
    minus = np.full(127, -0.0, np.float32)

    assert not np.signbit(order.sum(minus, FP16))
    assert np.signbit(AdjacentTree().sum(minus, FP16))


def test_a_full_repeat_of_negative_zeros():
    minus = np.full(128, -0.0, np.float32)

    assert np.signbit(Repeats("tree").sum(minus, FP16))
    assert not np.signbit(Repeats("in-order").sum(minus, FP16))  # the accumulator starts at +0


def test_the_probe_for_the_node_width_of_half_reductions():
    # 1.0 and 127 times 2^-11. Half nodes: the pair (1, 2^-11) ties to 1; then 2^-10, 2^-9 ... 2^-5 are added in full
    terms = np.array([1.0] + [2.0**-11] * 127)

    half = Repeats().sum(terms, FP16)
    wide = np.float16(Repeats().sum(terms, FP32, data="fp16"))

    assert half == 1 + 126 * 2.0**-11
    assert wide == np.float16(1 + 127 * 2.0**-11) == 1 + 128 * 2.0**-11
    assert half != wide


def test_a_lone_nan_in_saturation_mode_becomes_zero_where_its_neighbour_is_masked_off():
    terms = np.array([1.0, 2.0, np.nan])

    assert Repeats().sum(terms, SATURATING) == 3.0
    assert np.isnan(Repeats().sum(terms, FP16))


def test_an_undecided_width_is_said():
    with pytest.raises(PrecDiffError, match=r"call for_data\('fp16'\) first"):
        Repeats().tree(4)


def test_wrong_fields_are_said():
    with pytest.raises(UnknownNameError, match="Did you mean 'in-order'"):
        Repeats("inorder")
    with pytest.raises(PrecDiffError, match="power of two"):
        Repeats(elements=100)


def test_it_is_not_numpys_order():
    terms = np.random.default_rng(5).standard_normal(1000).astype(np.float32)

    assert Repeats().sum(terms, FP32) != Pairwise().sum(terms, FP32)
