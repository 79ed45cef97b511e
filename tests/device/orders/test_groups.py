"""Groups along K: against fractions, and against the published spread of the candidates for Ascend's Cube."""

import math
from fractions import Fraction

import numpy as np
import pytest

from precdiff.device import AlignedTruncated, Groups, GroupTrees, Once, Sequential
from precdiff.errors import PrecDiffError
from precdiff.rounding import Rounding, round_exact

FP32 = Rounding("fp32")


def half(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16).astype(np.float32)


def test_each_group_is_exact_and_rounded_once():
    rng = np.random.default_rng(7)
    a, b = half(rng, 40), half(rng, 40)
    acc = Fraction(np.pi.as_integer_ratio()[0], 2**48)
    c = round_exact(acc, FP32)

    acc = c
    for first in (0, 16, 32):
        exact = sum(
            Fraction(x) * Fraction(y) for x, y in zip(a[first:][:16].tolist(), b[first:][:16].tolist(), strict=True)
        )
        acc = round_exact(Fraction(acc) + exact, FP32)

    assert Groups(16).dot(a, b, FP32, c=c) == acc


def test_once_is_fsum():
    rng = np.random.default_rng(8)
    a, b = half(rng, 20, 1000), half(rng, 20, 1000)

    found = Once().dot(a, b, FP32)

    assert found.tolist() == [np.float32(math.fsum(np.float64(x) * y)) for x, y in zip(a, b, strict=True)]


def test_a_group_hides_cancellation_that_a_chain_shows():
    a = np.array([2.0**14, 2.0**-12, -(2.0**14)])
    b = np.array([2.0**11, 2.0**-11, 2.0**11])

    assert Groups(16).dot(a, b, FP32) == 2.0**-23
    assert Sequential().dot(a, b, FP32) == 0.0


def test_the_format_of_the_data_decides_the_size():
    order = Groups(16, k0_fp32=4)

    assert [order.for_data(fmt).k0 for fmt in ("fp16", "bf16", "fp32")] == [16, 16, 4]
    assert GroupTrees(16, k0_fp32=4).for_data("fp32") == GroupTrees(4)
    assert AlignedTruncated(16, 24, k0_fp32=4).for_data("fp32") == AlignedTruncated(4, 24)
    assert order.for_data("fp16").for_data("fp32").k0 == 16  # once fixed, it stays


def test_a_group_has_terms():
    with pytest.raises(PrecDiffError, match="found k0=0; allowed are 1 to 4095"):
        Groups(0)


# research of the project, 2000 dot products of normal half numbers, in units of sum |a b| 2^-24: rms and maximum
PUBLISHED = [
    (Sequential(), 0.43, 2.6),
    (Groups(16), 0.12, 0.8),
    (GroupTrees(16), 0.15, 0.8),
    (AlignedTruncated(16, 24), 0.52, 4.1),
    (Once(), 0.04, 0.2),
]


@pytest.mark.parametrize(("order", "rms", "largest"), PUBLISHED, ids=lambda v: getattr(v, "label", None))
def test_the_spread_of_the_candidates_at_k_256(order, rms, largest):
    rng = np.random.default_rng(256)
    a, b = half(rng, 2000, 256), half(rng, 2000, 256)
    products = a.astype(np.float64) * b
    exact = np.array([math.fsum(line) for line in products])

    error = (order.dot(a, b, FP32, data="fp16") - exact) / (np.abs(products).sum(axis=1) * 2.0**-24)

    assert np.sqrt(np.mean(error**2)) == pytest.approx(rms, rel=0.15)
    assert np.abs(error).max() == pytest.approx(largest, rel=0.35)


def test_a_truncating_unit_betrays_itself_by_a_bias_toward_zero():
    rng = np.random.default_rng(4096)
    a, b = half(rng, 200, 4096), half(rng, 200, 4096)
    products = a.astype(np.float64) * b
    exact = np.array([math.fsum(line) for line in products])
    unit = np.abs(products).sum(axis=1) * 2.0**-24

    def bias(order):
        return np.mean((order.dot(a, b, FP32, data="fp16") - exact) / unit * np.sign(exact))

    assert bias(AlignedTruncated(16, 24)) < -0.5
    assert abs(bias(Groups(16))) < 0.05
