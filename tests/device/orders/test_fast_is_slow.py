"""Two spellings, one truth: the vectorised sum of every order equals its tree evaluated in integers, bit for bit."""

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
)
from precdiff.device.orders import ORDERS
from precdiff.rounding import DIRECTIONS, Rounding
from tests.device.orders.columns import ORDINARY, SPECIAL, row, same

ALL = [
    Sequential(), SequentialFma(), Pairwise(), AdjacentTree(), Once(), Repeats("in-order"), Repeats("tree"),
    Repeats("tree", 16), Groups(16, k0_fp32=4), Groups(3), GroupTrees(16, k0_fp32=4),
    AlignedTruncated(16, 24, k0_fp32=4), AlignedTruncated(4, 11, zero_exponent=-20, final="nearest-even"),
]  # fmt: skip
IDS = [str(order) for order in ALL]
FORMATS = ("fp16", "bf16", "fp32", "fp64", "e4m3fn", "e5m2")
SHORT = (1, 2, 3, 7, 8, 9, 15, 16, 17, 33)
LONG = (64, 65, 127, 128, 129, 255, 256, 257, 300, 1000)
MODES = [
    *(Rounding("fp16", direction) for direction in DIRECTIONS if direction not in ("nearest-even", "stochastic")),
    Rounding("fp16", overflow="saturate", nan="zero"),
    Rounding("fp16", subnormals="flush"),
    Rounding("bf16", "up", "saturate", "flush", "zero"),
    Rounding("fp32", "toward-zero"),
    Rounding("fp32", "down", subnormals="flush"),
    Rounding("fp32", "to-odd", "saturate", nan="zero"),
    Rounding("fp64", "down"),
    Rounding("fp64", "nearest-away"),
    Rounding("e4m3fn", overflow="saturate"),
]
MODE_IDS = [f"{r.format}-{r.direction}-{r.overflow}-{r.subnormals}" for r in MODES]


def assert_sums(order, rounding, kinds, n):
    terms = np.stack([row(kind, rounding.format, n) for kind in kinds])

    fast = order.sum(terms, rounding)

    slow = [order.for_data(rounding.format).define_sum(terms_of_one.tolist(), rounding) for terms_of_one in terms]
    assert fast.dtype == rounding.format.carrier
    assert same(fast, slow), (n, kinds, fast.tolist(), slow)


def assert_dots(order, rounding, product, data, n, kinds=(*ORDINARY, *SPECIAL)):
    a, b = (np.stack([row(kind, data, n, seed) for kind in kinds]) for seed in (1, 2))
    starts = np.array([row(kind, rounding.format, 2, 3)[0] for kind in kinds])
    fixed = order.for_data(data)

    for start in (None, starts):
        fast = order.dot(a, b, rounding, product, c=start, data=data)
        slow = [
            fixed.define_dot(x.tolist(), y.tolist(), rounding, product, c=None if start is None else z, data=data)
            for x, y, z in zip(a, b, starts.tolist(), strict=True)
        ]
        assert same(fast, slow), (n, start, fast.tolist(), slow)


def test_every_order_is_listed():
    assert {order.kind for order in ALL} == set(ORDERS)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("order", ALL, ids=IDS)
def test_sums(order, fmt):
    for n in SHORT:
        assert_sums(order, Rounding(fmt), (*ORDINARY, *SPECIAL), n)
    for n in LONG:
        assert_sums(order, Rounding(fmt), ("normal", "cancelling") if n < 300 else ("all exponents",), n)


@pytest.mark.parametrize("rounding", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("order", ALL, ids=IDS)
def test_sums_in_every_mode(order, rounding):
    for n in (1, 2, 3, 9, 17, 130):
        assert_sums(order, rounding, (*ORDINARY, *SPECIAL), n)


@pytest.mark.parametrize("product", ["exact", "rounded"])
@pytest.mark.parametrize(
    ("data", "accumulator"), [("fp16", "fp32"), ("bf16", "fp32"), ("fp32", "fp32"), ("fp16", "fp16"), ("e5m2", "fp32")]
)
@pytest.mark.parametrize("order", ALL, ids=IDS)
def test_dot_products(order, data, accumulator, product):
    for n in (1, 2, 5, 16, 17, 33):
        assert_dots(order, Rounding(accumulator), product, data, n)


@pytest.mark.parametrize("product", ["exact", "rounded"])
@pytest.mark.parametrize("order", ALL, ids=IDS)
def test_dot_products_in_other_modes(order, product):
    assert_dots(order, Rounding("fp16", overflow="saturate", nan="zero"), product, "fp16", 19)
    assert_dots(order, Rounding("fp32", "toward-zero", subnormals="flush"), product, "bf16", 19)
    assert_dots(order, Rounding("fp64"), product, "fp64", 7)
