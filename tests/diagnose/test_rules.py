"""One rule after another: an input where it holds, one where it must not be named, and two faults at once."""

import numpy as np
import pytest

from precdiff import api, kernel, ops
from precdiff.device import get_profile
from precdiff.device.orders import Sequential
from precdiff.diagnose import RULES
from precdiff.kernels import ulp

RNG = np.random.default_rng(8)


def causes(run, **settings):
    found = api.explain(run, **settings).findings
    return [f.cause for f in found if f.standing != "insufficient"], found


def test_every_cause_of_a_run_has_a_rule_and_says_what_it_is():
    assert {
        "overflow", "underflow_ftz", "domain_error", "nan_propagation", "cancellation", "stagnation", "reduction_order",
        "intermediate_too_narrow", "accumulated_rounding", "biased_rounding", "error_amplification",
        "inaccurate_intrinsic", "wrong_rounding_cast", "constant_truncated", "ill_conditioned", "tie_flip",
        "wrong_formula",
    } <= {name for name, _ in RULES.items()}  # fmt: skip
    assert all(rule.definition for _, rule in RULES.items())


@kernel(limit=ulp(8))
def total(x):
    return ops.sum_(x, axis=-1, acc="fp32")


def test_biased_rounding_where_the_device_truncates():
    x = RNG.uniform(0, 1, (4, 3000)).astype(np.float32)
    truncating = get_profile("ieee").with_(direction="toward-zero")
    named, found = causes(api.run(total, inputs={"x": x}, profile=truncating), max_ulp=60)
    assert named[0] == "biased_rounding" and found[0].evidence["towards_zero"] == 1.0
    assert "biased_rounding" not in causes(api.run(total, inputs={"x": x}), max_ulp=8)[0]


def test_reduction_order_where_another_order_keeps_the_limit():
    x = RNG.uniform(0, 1, (2, 200_000)).astype(np.float32)
    running = get_profile("ieee").with_(sum_order=Sequential())
    run = api.run(total, inputs={"x": x}, profile=running)
    _, found = causes(run)
    everything = [c for f in found for c in (f.cause, *f.also)]
    assert "reduction_order" in everything and found[0].standing == "verified"
    assert "reduction_order" not in causes(api.run(total, inputs={"x": x}, profile="numpy-pairwise"))[0]


def doubled(x):
    return x + x


@kernel(reference=doubled)
def tripled(x):
    return x + x + x


@kernel(reference=doubled)
def twice(x):
    return 2.0 * x


def test_wrong_formula_where_no_precision_helps():
    x = RNG.normal(size=50).astype(np.float16)
    named, found = causes(api.run(tripled, inputs={"x": x}))
    assert named[0] == "wrong_formula"
    assert found[0].evidence["error_in_exact_arithmetic"] == pytest.approx(
        found[0].evidence["error_as_recorded"], rel=0.01
    )
    assert causes(api.run(twice, inputs={"x": x}))[0] == []


def stable(x, y):
    return ops.log1p(x) + ops.log1p(y)


@kernel(reference=stable, limit=ulp(2))
def unstable_twice(x, y):
    return ops.log(1.0 + x) + ops.log(1.0 + y)


def test_two_causes_of_equal_size_are_both_found():
    """Neither logarithm alone removes three quarters; each is a candidate, or both are changed at once."""
    x = RNG.uniform(1e-5, 2e-5, 200).astype(np.float32)
    _, found = causes(api.run(unstable_twice, inputs={"x": x, "y": x[::-1].copy()}))
    assert found and found[0].standing in ("verified", "candidate")
    steps = {id for f in found for id in f.region}
    assert {"add", "add#2"} <= steps


@kernel
def exact_ties(x):
    return ops.floor(x + 0.5)


def test_no_tie_is_blamed_where_nothing_flips():
    assert causes(api.run(exact_ties, inputs={"x": np.float16([0.25, 1.75, 2.0])}))[0] == []


@kernel
def solved(a, b):
    return ops.solve(a, b)


def test_a_well_conditioned_system_excuses_nobody():
    a = (np.eye(4) * 4 + RNG.normal(size=(4, 4)) * 0.1).astype(np.float32)
    b = RNG.normal(size=(4, 1)).astype(np.float32)
    assert "ill_conditioned" not in causes(api.run(solved, inputs={"a": a, "b": b}), max_ulp=0.1)[0]


@kernel
def area(r):
    return ops.cast(ops.cast(3.14159265358979 * (r * 0.0 + 1.0), "bf16"), "fp32") * r * r


def test_a_value_that_depends_on_an_input_is_no_constant():
    named, found = causes(api.run(area, inputs={"r": RNG.uniform(1, 2, 20).astype(np.float32)}))
    assert named[0] == "intermediate_too_narrow"
    assert "constant_truncated" not in {c for f in found for c in (f.cause, *f.also)}


def test_a_cast_to_nearest_is_not_blamed():
    @kernel
    def narrowed(x):
        return ops.cast(x, "fp16")

    assert causes(api.run(narrowed, inputs={"x": RNG.normal(size=30).astype(np.float32)}))[0] == []


def test_inputs_that_lost_the_digits():
    """NIST's NumAcc3 in fp32: 1,000,000.1, .2, .3: the spread is gone before the first step."""
    x = 1_000_000.2 + np.tile([-0.1, 0.1], 50)

    @kernel
    def spread(x):
        wide = ops.cast(x, "fp64")
        centred = wide - ops.mean(wide, axis=-1, keepdims=True)
        return ops.cast(ops.sqrt(ops.mean(centred * centred, axis=-1)), "fp32")

    run = api.run(spread, inputs={"x": x.astype(np.float32)[None, :]})
    first = api.explain(run, unrounded={"x": x[None, :]}).findings[0]
    assert first.cause == "input_quantisation" and first.evidence["error_of_the_inputs"] > 1e4
    assert first.evidence["error_of_the_kernel"] < 0.01 * first.evidence["error_of_the_inputs"]
    exact = np.round(x * 8) / 8
    run = api.run(spread, inputs={"x": exact.astype(np.float32)[None, :]})
    assert "input_quantisation" not in causes(run, unrounded={"x": exact[None, :]})[0]
