"""The changes a device's faults are made of: operands, tables, double rounding, tie order, stale and poisoned reads.

Expected values by numpy and Fractions on the same inputs.
"""

from fractions import Fraction

import numpy as np
import pytest

from precdiff import kernel, ops
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format
from precdiff.kernels import run_kernel
from precdiff.rounding import Rounding, round_exact
from precdiff.trace import Change, replay

RNG = np.random.default_rng(4)
A, B = RNG.normal(0, 1, (3, 8)).astype(np.float32), RNG.normal(0, 1, (8, 2)).astype(np.float32)


def replayed(function, inputs, changes):
    trace = run_kernel(kernel(function), inputs).trace
    made = replay(trace, {step: Change.from_json(Change(*row).to_json()) for step, row in changes.items()})
    return np.asarray(made.values[trace.outputs["out"]])


def exponential(x):
    return ops.exp(x)


def narrowed(x, fmt):
    return np.vectorize(lambda v: round_exact(Fraction(float(v)), Rounding(fmt)))(x)


def test_a_format_of_fewer_bits():
    made = get_format("fp32@p14")
    assert (made.p, made.emin, made.emax, made.carrier) == (14, -126, 127, "float32")
    assert round_exact(Fraction(1) + Fraction(1, 2**14) + Fraction(1, 2**20), Rounding(made)) == 1 + 2**-13
    for wrong in ("fp32@p25", "fp32@p1", "i8@p4", "fp32@px", "fp33@p3"):
        with pytest.raises(PrecDiffError):
            get_format(wrong)


@pytest.mark.parametrize("fmt", ["bf16", "tf32", "hf32", "fp32@p5"])
def test_operands_are_rounded_first(fmt):
    found = replayed(ops.matmul, {"a": A, "b": B}, {"matmul": ("operands", fmt)})
    # products of two such factors are exact in fp32 for p <= 12, and so the whole sum in fp64
    exact = narrowed(A, fmt).astype(np.float64) @ narrowed(B, fmt).astype(np.float64)
    assert np.abs(found - exact).max() < 8 * 2**-24 * (np.abs(A) @ np.abs(B)).max()
    assert np.abs(found - A @ B).max() > 2**-13


@pytest.mark.parametrize("fmt", ["bf16", "fp16@p5"])
def test_a_function_from_a_table(fmt):
    x = RNG.normal(0, 1, 50).astype(np.float16)
    found = replayed(exponential, {"x": x}, {"exp": ("approximation", fmt)})
    assert found.tolist() == narrowed(narrowed(np.exp(x.astype(np.float64)), fmt), "fp16").tolist()


def test_double_rounding():
    # 1 + 2^-9 + 2^-11 + 2^-13 in two steps: through fp16 it is 1 + 2^-9 + 2^-11 ... in bf16 the tie then goes to even
    x = np.float32([1 + 2**-8 + 2**-20])
    found = replayed(lambda x: ops.cast(x, "bf16"), {"x": x}, {"cast": ("cast", {"through": ["fp16"]})})
    assert found.tolist() == [1.0]  # one rounding gives 1 + 2^-7
    half = np.float16([1 + 2**-10]), np.float16([2**-11 + 2**-21])
    found = replayed(
        lambda x, y: x + y, dict(zip("xy", half, strict=True)), {"add": ("cast", {"through": ["fp32", "fp16"]})}
    )
    assert found.tolist() == [round_exact(Fraction(1) + Fraction(3, 2**11) + Fraction(1, 2**21), Rounding("fp16"))]


def test_equal_elements_last():
    x = np.float16([[1, 3, 3, 0], [2, 2, 2, 2]])
    last = {"argmax": ("tie_rule", "last")}
    assert replayed(lambda x: ops.argmax(x, axis=1), {"x": x}, last).tolist() == [2, 3]
    assert replayed(lambda x: ops.argmax(x, axis=0), {"x": x}, last).tolist() == [1, 0, 0, 1]
    found = replayed(lambda x: ops.argsort(x, axis=1), {"x": x}, {"argsort": ("tie_rule", "last")})
    assert found.tolist() == [[3, 0, 2, 1], [3, 2, 1, 0]]
    with pytest.raises(PrecDiffError, match="allowed are argsort, argmax"):
        replayed(exponential, {"x": x}, {"exp": ("tie_rule", "last")})


def test_reads():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    kernel_ = lambda x: 10.0 * (x + 1.0)  # noqa: E731
    where = {"input": 1, "where": [2, 6]}
    stale = replayed(kernel_, {"x": x}, {"mul": ("reads", {**where, "version": "x"})})
    assert stale.ravel().tolist() == [10, 20, 20, 30, 40, 50, 70, 80]
    shifted = replayed(kernel_, {"x": x}, {"mul": ("reads", {**where, "from": [0, 4]})})
    assert shifted.ravel().tolist() == [10, 20, 10, 20, 30, 40, 70, 80]
    poison = replayed(kernel_, {"x": x}, {"mul": ("reads", {**where, "version": "poison"})})
    assert np.isnan(poison.ravel()).tolist() == [False] * 2 + [True] * 4 + [False] * 2
    huge = replayed(kernel_, {"x": x}, {"mul": ("reads", {**where, "version": "poison", "value": 1e6})})
    assert huge.ravel()[2:6].tolist() == [1e7] * 4
    for wrong in ({"input": 5}, {"input": 1, "version": "nowhere"}):
        with pytest.raises(PrecDiffError):
            replayed(kernel_, {"x": x}, {"mul": ("reads", {"where": [0, 2], **wrong})})
