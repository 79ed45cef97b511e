"""A-priori bounds, by hand: rounding once, approximations, sums, and what a profile declares."""

import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.device import get_profile
from precdiff.kernels import kernel, run_kernel

U16, U32, ULP1 = 2.0**-11, 2.0**-24, 2.0**-10


def bounds_of(function, profile="ieee", format="fp16", **inputs):
    trace = run_kernel(kernel(function), inputs, format=format, profile=profile).trace
    step = trace.steps[-1]
    return reference.bound(trace, step, reference.local(trace, [step.id])[step.id].values)


def with_(**fields):
    return get_profile("ieee").with_(**fields)


@pytest.mark.parametrize(
    ("function", "x", "profile", "expected"),
    [
        (lambda x: x + x, [0.5, 1.0, 1.5], "ieee", [ULP1 / 2, ULP1, ULP1]),
        (lambda x: ops.exp(-x), [0.0], "ieee", [ULP1 / 2]),
        (lambda x: x * x, [0.0, 2.0**-12], "ieee", [2.0**-25, 2.0**-25]),
        (lambda x: x * x, [1.0], with_(direction="up"), [ULP1]),
        (lambda x: -x, [1.5], "ieee", [0.0]),
        (lambda x: ops.maximum(x, 1.0), [1.5], "ieee", [0.0]),
        (lambda x: ops.max_(x, keepdims=True), [1.5], "ieee", [0.0]),
        (lambda x: x < 1.0, [1.5], "ieee", [0.0]),
        (lambda x: ops.where(x < 1.0, x, -x), [1.5], "ieee", [0.0]),
        (lambda x: ops.reshape(x, (1, 1)), [1.5], "ieee", [[0.0]]),
        (lambda x: ops.cast(x, "bf16"), [1.5], "ieee", [2.0**-8]),
        (lambda x: ops.cast(x, "bf16", mode="down"), [1.5], "ieee", [2.0**-7]),
        (lambda x: ops.cast(x, "i8"), [1.5], "ieee", [0.0]),
        (lambda x: ops.cast(x, "i8"), [1.5], with_(direction="up"), [1.0]),
        (lambda x: ops.cast(x, "i8", mode="up"), [1.5], with_(direction="up"), [0.0]),
    ],
)  # fmt: skip
def test_one_rounding(function, x, profile, expected):
    np.testing.assert_allclose(bounds_of(function, profile, x=np.array(x)), expected, rtol=1e-9, atol=0)


def gamma(n, u):
    return n * u / (1 - n * u)


@pytest.mark.parametrize(
    ("n", "profile", "factor"),
    [
        (4, "ieee", gamma(4, U16)),
        (1000, "ieee", 6 * 1000**0.5 * U16),
        (4, "numpy-pairwise", gamma(4, U32)),
        (4, with_(direction="up"), gamma(4, 2 * U16)),
        (1000, with_(direction="toward-zero"), gamma(1000, 2 * U16)),
        (1025, with_(direction="up"), np.inf),
    ],
)
def test_a_sum_is_bounded_by_its_terms(n, profile, factor):
    """min(gamma_n, 6 sqrt(n) u) sum |x| and the result's rounding; no square root where roundings go one way."""
    x = np.full((1, n), 1.0)
    direction = profile if isinstance(profile, str) else profile.direction.value
    own = (0.5 if direction in ("ieee", "numpy-pairwise") else 1.0) * 2.0 ** (np.floor(np.log2(n)) - 10)
    assert bounds_of(lambda x: ops.sum_(x, axis=-1), profile, x=x)[0] == pytest.approx(factor * n + own, rel=1e-12)


def test_acc_and_out_count():
    found = bounds_of(lambda x: ops.sum_(x, axis=-1, acc="fp32", out="fp32"), x=np.ones((1, 8)))
    assert found[0] == pytest.approx(gamma(8, U32) * 8 + 2.0**-21)


def test_a_matrix_product_counts_c_and_underflowing_products():
    a, b, c = np.full((1, 3), 2.0), np.full((3, 1), -1.0), np.full((1, 1), 5.0)
    found = bounds_of(ops.matmul, a=a, b=b, c=c)
    exact = abs(-6.0 + 5.0)
    assert found[0, 0] == pytest.approx(gamma(4, U16) * 11 + exact * ULP1 / 2 + 4 * 2.0**-25, rel=1e-12)


class TestDepartures:
    """What the profile declares is no fault of the step."""

    least = 2.0**-24
    flushing = with_(subnormal_inputs="flush", subnormal_outputs="flush")

    def test_flushed_results(self):
        found = bounds_of(lambda x: x * 0.25, self.flushing, x=np.array([2.0**-13, 1.0]))
        assert found.tolist() == [2.0**-14 + 2.0**-25, ULP1 / 8]

    def test_flushed_operands(self):
        """x + y with x = 2^-20 read as 0."""
        found = bounds_of(lambda x: x + 2.0**-14, self.flushing, x=np.array([2.0**-20, 2.0**-14]))
        assert 2.0**-20 <= found[0] <= 2.0**-20 + 2.0**-24
        assert found[1] == 2.0**-24

    def test_a_flushed_divisor_may_give_anything(self):
        assert bounds_of(lambda x: 1.0 / x, self.flushing, x=np.array([2.0**-20]))[0] == np.inf

    def test_flushed_comparisons(self):
        assert bounds_of(lambda x: x > 0.0, self.flushing, x=np.array([2.0**-20, 1.0])).tolist() == [1 + 2.0**-50, 0.0]

    def test_an_unequal_nan(self):
        profile = with_(nan_compare_ne="false")
        x = np.array([np.nan, 1.0])
        assert bounds_of(lambda x: ops.ne(x, x), profile, x=x).tolist() == [1.0, 0.0]
        assert bounds_of(lambda x: ops.ne(x, x), "ieee", x=x).tolist() == [0.0, 0.0]

    def test_an_fma_that_rounds_its_product(self):
        x = np.array([3.0])
        fused = bounds_of(lambda x: ops.fma(x, x, -9.0), "ieee", x=x)
        separate = bounds_of(lambda x: ops.fma(x, x, -9.0), with_(fused_multiply_add=False), x=x)
        assert separate[0] - fused[0] == 8 * ULP1 / 2


def test_a_profile_that_does_not_flush_departs_by_nothing():
    x = np.array([2.0**-20])
    assert bounds_of(lambda x: x + 2.0**-14, x=x)[0] == 2.0**-25
