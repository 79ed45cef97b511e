"""The terms a `backward` limit speaks of: found behind moves, storage and division, and nowhere else."""

import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.kernels import kernel, run_kernel

A, B = np.float16([[1.0, -2.0], [3.0, 4.0]]), np.float16([[5.0, 6.0], [-7.0, 8.0]])
PRODUCT = [[19.0, 22.0], [43.0, 50.0]]


def summed(function, *, profile="ieee"):
    trace = run_kernel(kernel(function), {"a": A, "b": B}, profile=profile).trace
    return reference.summed(trace, trace.outputs["out"])


@pytest.mark.parametrize(
    ("function", "terms"),
    [
        (lambda a, b: a + b, [[6.0, 8.0], [10.0, 12.0]]),
        (lambda a, b: a - b, [[6.0, 8.0], [10.0, 12.0]]),
        (lambda a, b: ops.fma(a, b, b), [[10.0, 18.0], [28.0, 40.0]]),
        (lambda a, b: ops.sum_(a * b, axis=0), [26.0, 44.0]),
        (lambda a, b: ops.mean(a, axis=1), [1.5, 3.5]),
        (lambda a, b: a @ b, PRODUCT),
        (lambda a, b: -ops.matmul(a, b).transpose(), np.transpose(PRODUCT).tolist()),
        (lambda a, b: ops.concatenate([a + b, a - b])[1:3], [[10.0, 12.0], [6.0, 8.0]]),
    ],
)
def test_the_terms_move_with_the_sum(function, terms):
    found = summed(function)
    assert (found[0].tolist(), found[1]) == (terms, 2.0**-11)


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a * b, lambda a, b: a.transpose(), lambda a, b: a / (a + b), lambda a, b: ops.exp(a + b)],
)
def test_anything_else_has_none(function):
    assert summed(function) is None


def test_the_unit_is_the_accumulators():
    assert summed(lambda a, b: a @ b, profile="ascend-910b")[1] == 2.0**-24
    assert summed(lambda a, b: ops.cast(ops.cast(a, "fp32") + ops.cast(b, "fp32"), "fp16"))[1] == 2.0**-24
