"""assert_deterministic and assert_order_invariant: what is caught, what is let through, what would test nothing."""

import functools
import itertools

import ml_dtypes
import numpy as np
import pytest

import precdiff
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.report import assertion
from precdiff.testing import PrecisionError, assert_deterministic, assert_order_invariant

X = np.random.default_rng(5).normal(0, 1, (4, 64)).astype(np.float32)


def one_after_another(x):
    """A sum in fp32, in the given order."""
    return np.add.accumulate(x, axis=-1, dtype=np.float32)[..., -1]


def sorted_first(x):
    return one_after_another(np.sort(x, axis=-1))


def failure(assertion, *arguments, **options):
    with pytest.raises(PrecisionError) as caught:
        assertion(*arguments, **options)
    return caught.value


def every_third(step=2.0**-23):
    """Gives 1, but every third time a little more."""
    calls = itertools.count(1)
    return lambda: np.float32([1, 1 + step * (next(calls) % 3 == 0), 1])


def test_equal_bits_pass():
    assert_deterministic(lambda: np.exp(X))
    assert_deterministic(lambda: precdiff.run("softmax", inputs={"x": X}), runs=2)


def test_one_run_of_ten_that_differs_by_one_bit_is_found():
    error = failure(assert_deterministic, every_third())
    failing = [row for row in error.report.tensors if row.verdict == "fail"]

    assert [row.name for row in failing] == ["run 3", "run 6", "run 9"]
    assert all(row.worst[0].index == (1,) and row.max_ulp == 1 for row in failing)
    assert (error.report.findings[0].cause, error.report.findings[0].evidence["different_results"]) == (
        "nondeterminism", 2,
    )  # fmt: skip


def test_the_message():
    error = failure(assert_deterministic, every_third(), msg="exp on the device")

    assert str(error) == "exp on the device\n" + assertion(error.report)
    assert (
        assertion(error.report)
        == """\
FAIL: 3 of 9 tensors; run 3 (fp32 3): worst 1 ULP, abs 1.192e-07, rel 1.192e-07; the expected value rounded once to \
fp32, bit for bit
  over limit    1 of 3 elements (33.3 %)
  mismatched    NaN 0, Inf 0, sign 0
  index      actual  expected  ULP        bits
  (1)    1.00000012         1    1  0x3f800001
  ULP           exact: 2, <= 1: 1
  would pass    only where nothing differs
  likely cause  nondeterminism (candidate) at out: 2 different results in 10 runs
  next          add in a fixed order, without atomics; check that fn leaves its inputs as they were"""
    )


def test_too_few_runs_do_not_see_it():
    assert_deterministic(every_third(), runs=2)


def test_outputs_written_into_the_same_memory_are_not_compared_with_themselves():
    memory = np.zeros(3, np.float32)

    def fn():
        memory[:] += 1
        return memory

    assert failure(assert_deterministic, fn).report.tensors[0].max_abs == 1.0


def test_zeros_of_two_signs_are_two_results():
    signs = itertools.cycle([0.0, -0.0])
    assert "-0" in str(failure(assert_deterministic, lambda: np.float32([next(signs), 1])))


def test_every_output_is_looked_at():
    calls = itertools.count()
    made = {"a": X, "b": X}
    error = failure(assert_deterministic, lambda: {**made, "b": X + np.float32(next(calls))}, runs=3)

    assert [row.name for row in error.report.tensors if row.verdict == "fail"] == ["b, run 2", "b, run 3"]
    calls = itertools.count()
    error = failure(assert_deterministic, lambda: (X, X + np.float32(next(calls))), runs=2)
    assert [row.name for row in error.report.tensors] == ["out0, run 2", "out1, run 2"]


def alternating(*results):
    given = itertools.cycle(results)
    return lambda: next(given)


REFUSED = {
    "one run": (lambda: assert_deterministic(lambda: X, runs=1), "runs: found 1; allowed is a whole number of at"),
    "runs": (lambda: assert_deterministic(lambda: X, runs=2.5), "runs: found 2.5"),
    "nothing": (lambda: assert_deterministic(lambda: None), "(found None|dtype object|no format)"),
    "no outputs": (lambda: assert_deterministic(dict), "run 1 gave no outputs"),
    "names": (lambda: assert_deterministic(alternating({"a": X}, {"b": X})), "run 2 gave b, the first a"),
    "shapes": (lambda: assert_deterministic(alternating(X, X[:2])), r"'run 2': actual has shape \(2, 64\)"),
    "formats": (lambda: assert_deterministic(alternating(X, X.astype("f2"))), "run 2 gave fp16, the first fp32"),
    "one element": (lambda: assert_order_invariant(np.sum, X[:, :1]), "1 elements along axis have one order only"),
    "equal elements": (lambda: assert_order_invariant(np.sum, np.ones(9)), "the same in every order; give other"),
    "no inputs": (lambda: assert_order_invariant(np.sum), "found no inputs"),
    "axis": (lambda: assert_order_invariant(np.sum, X, axis=2), "axis: found 2 for an input of 2 dimensions"),
    "axes": (lambda: assert_order_invariant(np.sum, X, axis=(0, 1)), "found 2 axes for 1 inputs"),
    "a number": (lambda: assert_order_invariant(np.sum, 3.0), "a number has no order"),
    "lengths": (lambda: assert_order_invariant(np.matmul, X, X, axis=(1, 0)), "found lengths 4, 64; allowed is one"),
    "no axis": (lambda: assert_order_invariant(np.sum, X, axis=(None,)), "found lengths none"),
    "out_axis": (lambda: assert_order_invariant(np.sum, X, out_axis=0), "axis: found 0 for an input of 0 dimensions"),
    "out length": (lambda: assert_order_invariant(np.abs, X, axis=0, out_axis=1), "64 elements, the inputs' axis 4"),
    "orders": (lambda: assert_order_invariant(np.sum, X, orders=0), "orders: found 0"),
    "max_ulp": (lambda: assert_order_invariant(np.sum, X, max_ulp=-1), "max_ulp: found -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, message = REFUSED[name]
    with pytest.raises(PrecDiffError, match=message):
        call()


def test_a_sum_in_the_given_order_depends_on_it():
    error = failure(assert_order_invariant, one_after_another, X, axis=-1)

    assert error.report.findings[0].cause == "reduction_order"
    assert {row.name for row in error.report.tensors} >= {"reversed", "order 2 of seed 0"}


@pytest.mark.parametrize("fn", [sorted_first, lambda x: x.max(axis=-1), lambda x: np.sort(x, axis=-1)])
def test_what_does_not_depend_on_it_passes(fn):
    assert_order_invariant(fn, X, axis=-1)


def test_an_exact_accumulator_makes_a_sum_invariant():
    """Sums of 64 fp16 numbers of one binade are exact in fp64."""
    x = np.random.default_rng(0).uniform(1, 2, (4, 64)).astype(np.float16)

    assert_order_invariant(lambda x: x.sum(axis=1, dtype=np.float64).astype(np.float16), x, axis=1)
    failure(assert_order_invariant, lambda x: np.add.accumulate(x, axis=1, dtype=np.float16)[:, -1], x, axis=1)


def test_a_limit_lets_rounding_differ():
    worst = max(row.max_ulp for row in failure(assert_order_invariant, one_after_another, X).report.tensors)

    assert_order_invariant(one_after_another, X, max_ulp=worst)
    failure(assert_order_invariant, one_after_another, X, max_ulp=worst / 2)


def test_the_seed_says_which_orders_are_tried():
    orders = [
        [row.sha256 for row in failure(assert_order_invariant, one_after_another, X, seed=seed).report.tensors]
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1]
    assert orders[0][0] == orders[2][0] and orders[0][1:] != orders[2][1:]


def test_both_factors_of_a_product_are_permuted_along_the_sum():
    a, b = np.random.default_rng(1).integers(-8, 9, (2, 16, 16)).astype(np.float32)

    assert_order_invariant(np.matmul, a, b, axis=(1, 0))
    with pytest.raises(PrecisionError):
        assert_order_invariant(np.matmul, a, b, axis=(1, None))


def rows_by_rank(x):
    """Wrong for a batch: the result of a row depends on its place."""
    return x * (1 + np.arange(len(x), dtype=x.dtype)[:, None])


def test_rows_of_a_batch_do_not_see_each_other():
    assert_order_invariant(one_after_another, X, axis=0, out_axis=0)
    error = failure(assert_order_invariant, rows_by_rank, X, axis=0, out_axis=0)

    assert error.report.tensors[0].compared == X.size


def test_fn_may_overwrite_its_inputs():
    def fn(x):
        x[...] = np.sort(x, axis=-1)
        return x.sum(axis=-1)

    before = X.copy()
    assert_order_invariant(fn, X, axis=-1)
    assert (before == X).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int32, bool])
def test_other_formats(dtype):
    x = (X > 0).astype(dtype) if dtype is bool else (X * 8).astype(dtype)
    assert_order_invariant(lambda x: x.max(axis=-1), x, axis=-1)


@pytest.mark.torch
def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(X).to(torch.bfloat16)

    assert_deterministic(lambda: torch.softmax(x, dim=-1), runs=3)
    assert_order_invariant(lambda x: x.amax(dim=-1), x, axis=-1)
    with pytest.raises(PrecisionError):
        assert_order_invariant(lambda x: functools.reduce(torch.add, x.unbind(-1)), torch.tensor(X), axis=-1)
    with pytest.raises(NotComparableError, match="the same in every order"):
        assert_order_invariant(torch.sum, torch.ones(3))
