import numpy as np
import pytest

from precdiff.device import AdjacentTree, Repeats, Sequential, SequentialFma
from precdiff.rounding import Rounding


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_it_is_numpys_cumsum(dtype, n):
    # FPRev shows cumsum to be sequential, float16 rounded at every step
    terms = np.random.default_rng(n).standard_normal(n).astype(dtype)

    found = Sequential().sum(terms.astype(np.float32), Rounding({2: "fp16", 4: "fp32"}[terms.itemsize]))

    assert found == np.cumsum(terms)[-1]


@pytest.mark.parametrize(
    ("order", "fmt", "expected"),
    [
        (Sequential(), "fp16", 2048),  # 2048 + 1 is a tie and goes back to 2048
        (Sequential(), "bf16", 256),
        (AdjacentTree(), "fp16", 8192),
        (AdjacentTree(), "bf16", 8192),
        (Repeats("tree"), "fp16", 8192),
        (Repeats("in-order"), "fp16", 8192),
    ],
)
def test_swamping_of_8192_ones(order, fmt, expected):
    assert order.sum(np.ones(8192, np.float32), Rounding(fmt)) == expected


def test_exact_products_are_fused_multiply_adds():
    a = np.float32(64 * (1 + 2.0**-18))
    b = np.float32(1 - 2.0**-18)
    c = 2.0**30 + 128

    fused = SequentialFma().dot(np.array([a]), np.array([b]), Rounding("fp32"), "rounded", c=c)
    exact = Sequential().dot(np.array([a]), np.array([b]), Rounding("fp32"), "exact", c=c)

    assert fused == exact == 1073741952.0  # by exact arithmetic; fp64 on the way would give ...080


def test_the_probe_for_fused_half_instructions():
    # the probe for Axpy and MulAddDst: fused gives 2^-10, two roundings give 0
    a = np.array([32 * (1 + 2.0**-10)], np.float32)

    assert Sequential().dot(a, a, Rounding("fp16"), "exact", c=-1026.0) == 2.0**-10
    assert Sequential().dot(a, a, Rounding("fp16"), "rounded", c=-1026.0) == 0.0


def test_a_fused_node_in_half_is_not_rounded_to_float_on_the_way():
    # 99 * 331 = 2^15 + 1: the exact sum 1 + 2^-11 + 2^-26 lies above a tie of half, its float is the tie
    a, b = np.array([99 * 2.0**-13]), np.array([331 * 2.0**-13])

    assert Sequential().dot(a, b, Rounding("fp16"), c=1.0) == 1 + 2.0**-10
    assert Sequential().dot(a, b, Rounding("fp16"), "rounded", c=1.0) == 1.0
