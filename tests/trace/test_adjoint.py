"""Shares: to first order they sum to 1, rank the steps as replays do, and foretell every element's error."""

import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.kernels import kernel, run_kernel
from precdiff.trace import Change, Region, replay, sweep
from tests.trace.first_order import errors, prediction_ratios, shares

RNG = np.random.default_rng(7)
X = RNG.uniform(0.3, 3, (6, 20))
Y = RNG.uniform(-1, 1, (6, 20))

KERNELS = {
    "chain": lambda x: ops.exp(ops.log(x) * 1.7) / (x + 0.3),
    "shared": lambda x: ops.sqrt(x) * ops.sqrt(x) - ops.exp(ops.sqrt(x)),
    "softmax": lambda x: ops.exp(x) / ops.sum_(ops.exp(x), axis=-1, keepdims=True),
    "layernorm": lambda x: (x - ops.mean(x, -1, True)) / ops.sqrt(ops.mean(x * x, -1, True) + 1e-3),
    "product": lambda x: ops.matmul(ops.tanh(x), ops.transpose(x)),
    "layout": lambda x: ops.concatenate([x * x, x[::-1] / 3.0], axis=0).reshape(-1, 5) * 1.1,
    "where": lambda x: ops.where(x > 1.0, ops.log(x), x * x / 3.0) + ops.maximum(x, 1.5) * 0.1,
    "casts": lambda x: ops.cast(ops.cast(x * 1.3, "fp32") * 0.7, "fp16") * 1.9,
}  # fmt: skip


@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
@pytest.mark.parametrize("name", KERNELS)
def test_shares_sum_to_one(name, fmt):
    trace = run_kernel(kernel(KERNELS[name]), {"x": X}, format=fmt).trace
    found = shares(trace, trace.outputs["out"])
    total = sum(found.values())
    print(f"{name} {fmt}: sum of shares {total:.4f}")
    assert total == pytest.approx(1, abs=0.02 if fmt == "fp16" else 0.1)


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_random_kernels_sum_to_one(seed):
    """Random straight-line programs of smooth rows."""
    rng = np.random.default_rng(seed)
    unary = [ops.exp, ops.tanh, ops.erf, lambda v: ops.log1p(v * v), lambda v: ops.sqrt(v * v + 0.5), lambda v: v / 3.0]
    binary = [ops.add, ops.sub, ops.mul, lambda u, v: u / (v * v + 0.7)]
    plan = [
        (int(rng.integers(6)), int(rng.integers(4)), int(rng.integers(100)), int(rng.integers(100))) for _ in range(6)
    ]

    def program(x, y):
        made = [x, y]
        for first, second, i, j in plan:
            made.append(unary[first](binary[second](made[i % len(made)] * 0.5, made[j % len(made)] * 0.5)))
        return made[-1] * made[-2]

    trace = run_kernel(kernel(program), {"x": X, "y": Y}, format="fp16").trace
    assert sum(shares(trace, trace.outputs["out"]).values()) == pytest.approx(1, abs=0.05)


def test_a_share_is_what_a_replay_removes():
    """Steps that carry a share of the squared error, made exact and read unrounded, take about that part away."""
    x = np.random.default_rng(1).uniform(0.1, 10, 2000)
    trace = run_kernel(kernel(lambda x: ops.exp(ops.log(x) * 4.1)), {"x": x}, format="fp16").trace
    output = trace.outputs["out"]
    found, exact = shares(trace, output), reference.total(trace)
    before = np.sum(errors(trace, output, exact) ** 2)
    after = np.sum(errors(replay(trace, {Region(("log", "mul")): Change("exact", exit="wide")}), output, exact) ** 2)
    assert 1 - after / before == pytest.approx(found["log"] + found["mul"], abs=0.02)
    assert found["log"] + found["mul"] > 0.3


@pytest.mark.parametrize(
    ("variant", "fmt", "p95"), [("v1", "fp16", 0.005), ("v1", "bf16", 0.03), ("v3", "fp16", 0.005)]
)
def test_predicted_errors_of_pow(variant, fmt, p95):
    """predicted / measured, element by element."""
    ratios = prediction_ratios(variant, fmt, size=2000)
    off = np.abs(ratios - 1)
    print(
        f"pow {variant} {fmt}: predicted/measured median {np.median(ratios):.6f}, "
        f"5-95 % {np.quantile(ratios, 0.05):.5f}-{np.quantile(ratios, 0.95):.5f}, "
        f"|ratio - 1| median {np.median(off):.1e}, p95 {np.quantile(off, 0.95):.1e}, {ratios.size} elements"
    )
    assert np.median(ratios) == pytest.approx(1, abs=1e-3)
    assert np.quantile(off, 0.95) < p95


def test_elements_that_are_not_finite_pass_nothing_on():
    x = np.float16([0.0, 1.0, 2.0])
    trace = run_kernel(kernel(lambda x: ops.log(x) * 2.0), {"x": x}).trace
    found = sweep(trace, trace.values, {trace.outputs["out"]: np.ones(3)})
    assert found["x"].tolist() == [0.0, 2.0, 1.0]


def test_rows_without_a_derivative_pass_nothing_on():
    trace = run_kernel(kernel(lambda x: ops.floor(x) * x), {"x": np.float32([1.5])}).trace
    found = sweep(trace, trace.values, {trace.outputs["out"]: np.ones(1)})
    assert found["x"].tolist() == [1.0]
    assert found["floor"].tolist() == [1.5]


def test_integers_pass_nothing_on():
    trace = run_kernel(kernel(lambda x: ops.cast(ops.cast(x, "i32"), "fp32") * x), {"x": np.float32([2.5])}).trace
    found = sweep(trace, trace.values, {trace.outputs["out"]: np.ones(1)})
    assert found["x"].tolist() == [2.0]
