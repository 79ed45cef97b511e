"""Noise or bug: legal orders are never called a bug, wrong arithmetic always is; the statistic by hand."""

import os

import numpy as np
import pytest

from precdiff.device.orders import AdjacentTree, Groups, Pairwise, Repeats, Sequential
from precdiff.diagnose.noise import ensemble, noise_verdict
from precdiff.diagnose.proportion import Proportion
from precdiff.kernels import run_kernel
from precdiff.trace import Change, replay

#: 3,000 tensors under make test-all
TENSORS = 3000 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 150
DATA = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0, 1, shape),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape).clip(-1e3, 1e3),
    "lognormal": lambda rng, shape: np.exp(rng.normal(0, 2, shape)).clip(0, 1e3),
    "many sizes": lambda rng, shape: rng.normal(size=shape) * 4.0 ** rng.integers(-4, 4, shape),
    "sorted": lambda rng, shape: np.sort(rng.uniform(0, 1, shape), axis=-1),
}
LEGAL = [Sequential(), Pairwise(), AdjacentTree(), Groups(16), Groups(8), Repeats()]


def summed(rng, kind, count, length, fmt, profile, op):
    """The trace of a sum or a product of matrices; its inputs permuted is a legal run of the same terms."""
    make = DATA[kind]
    if op == "sum":
        acc = {"acc": "fp32"} if rng.random() < 0.5 else {}
        return run_kernel(
            "reduce_sum", {"x": make(rng, (count, length))}, format=fmt, profile=profile, options=acc
        ).trace
    inputs = {"a": make(rng, (count, length)), "b": make(rng, (length, count))}
    return run_kernel("matmul", inputs, format=fmt, profile=profile).trace


def legal(rng, trace, op):
    """The result of another legal run: another order, half of the time of permuted terms."""
    moved = trace
    if rng.random() < 0.5:
        length = trace.values[trace.steps[0].inputs[0]].shape[-1]
        order = rng.permutation(length)
        kernel = "reduce_sum" if op == "sum" else "matmul"
        values = {n: trace.values[n] for n in trace.inputs}
        axes = {"x": -1, "a": -1, "b": 0}
        inputs = {n: np.take(v, order, axis=axes[n]) for n, v in values.items()}
        formats = {trace.formats[n] for n in inputs}
        options = {k: v for k, v in trace.options.items() if v}
        moved = run_kernel(kernel, inputs, format=formats.pop(), profile=trace.profile, options=options).trace
    return replay(moved, {op: Change("order", LEGAL[rng.integers(len(LEGAL))])}).values[op]


def test_legal_orders_are_noise():
    rng = np.random.default_rng(12)
    alarms = []
    for number in range(TENSORS):
        kind, fmt = str(rng.choice(list(DATA))), str(rng.choice(["fp16", "bf16", "fp32"]))
        profile, op = str(rng.choice(["ieee", "ascend-910b", "numpy-pairwise"])), str(rng.choice(["sum", "matmul"]))
        count, length = int(rng.choice([1, 4, 40])), int(rng.choice([2, 3, 8, 64, 300]))
        trace = summed(rng, kind, count, length, fmt, profile, op)
        verdict = noise_verdict(trace, op, legal(rng, trace, op), seed=number)
        if not verdict.consistent:
            alarms.append((kind, fmt, profile, op, count, length, verdict.line))
    print(f"false alarms {Proportion(len(alarms), TENSORS)}")
    assert len(alarms) <= 0.001 * TENSORS, alarms


FAULTS = {
    "a truncating adder": Change("direction", "toward-zero"),
    "operands of 9 bits": Change("operands", "fp32@p9"),
    "an fp16 accumulator": Change("accumulator", "fp16"),
    "a bf16 accumulator": Change("accumulator", "bf16"),
    "a dropped product": Change("drop_term", 7),
    "a scale": Change("scale", 1 + 2.0**-9),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["normal", "positive", "lognormal"])
@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_arithmetic_is_not(fault, kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    inputs = {"a": DATA[kind](rng, (24, 512)), "b": DATA[kind](rng, (512, 24))}
    trace = run_kernel("matmul", inputs, format="fp16", profile="ieee", options={"acc": "fp32", "out": "fp32"}).trace
    verdict = noise_verdict(trace, "matmul", replay(trace, {"matmul": FAULTS[fault]}).values["matmul"])
    assert not verdict.consistent, verdict.line
    assert verdict.line.startswith("not explainable by order")


def test_products_rounded_to_fp16_are_found():
    """Products rounded before they are added, as a unit without wide products does."""
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape).astype(np.float16) for shape in ((16, 400), (400, 16)))
    trace = run_kernel("matmul", {"a": a, "b": b}, profile="ieee", options={"acc": "fp32", "out": "fp32"}).trace
    products = (a[:, :, None] * b[None, :, :]).astype(np.float16)  # numpy rounds each product to fp16
    actual = np.cumsum(products.astype(np.float32), axis=1, dtype=np.float32)[:, -1]
    assert not noise_verdict(trace, "matmul", actual).consistent


def test_the_statistic_by_hand():
    x = np.array([[1.0, 2.0**-12, -1.0, 2.0**-12]], np.float16)
    trace = run_kernel("reduce_sum", {"x": x}, profile="ieee", options={"acc": "fp16"}).trace
    # fp16 in order: 1 + 2^-12 = 1 (tie to even), 1 - 1 = 0, 0 + 2^-12: 2^-12 instead of 2^-11; u = 2^-11, sum 2 + 2^-11
    verdict = noise_verdict(trace, "sum", trace.values["sum"])
    assert verdict.statistic == pytest.approx(2.0**-12 / (2.0**-11 * (2 + 2.0**-11)))
    assert verdict.consistent and verdict.members == 29 and len(ensemble(trace, "sum")) == 29
    assert verdict.a_priori == pytest.approx(4 / (1 - 4 * 2.0**-11)) and verdict.probabilistic == 2


def test_a_nan_in_place_of_a_number_is_no_noise():
    trace = run_kernel("reduce_sum", {"x": np.ones((3, 9), np.float16)}, profile="ieee").trace
    actual = trace.values["sum"].copy()
    actual[1] = np.nan
    assert not noise_verdict(trace, "sum", actual).consistent
