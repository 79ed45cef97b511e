"""Each cause that one run or several can show: an input where it is named, and a like one where it must not be."""

from pathlib import Path

import numpy as np
import pytest

from precdiff import api, kernel, ops
from precdiff.device import get_profile
from precdiff.device.approximation import Approximation
from precdiff.diagnose import RULES
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.rules.nondeterminism import repeated
from precdiff.diagnose.rules.wrong_reference_or_tolerance import misjudged
from precdiff.errors import PrecDiffError
from precdiff.rounding import round_array

PAGE = Path(__file__).parents[2] / "docs" / "definitions.md"
RNG = np.random.default_rng(15)


def named(run, **settings):
    found = api.explain(run, **settings).findings
    return {c for f in found if f.standing != "insufficient" for c in (f.cause, *f.also)}


@kernel
def angle(x, y, v):
    norms = ops.sqrt(x * x + y * y) * ops.sqrt(x * x + v * v)
    return ops.acos((x * x + y * v) / norms)


def test_domain_error_where_rounding_leaves_the_domain():
    x, y = RNG.uniform(1, 2, (2, 100)).astype(np.float32)
    near = api.run(angle, inputs={"x": x, "y": y, "v": np.nextafter(y, np.float32(3))})
    assert np.isnan(near.outputs["out"]).any()
    first = api.explain(near).findings[0]
    assert (first.cause, first.standing, first.step) == ("domain_error", "verified", "acos")
    assert "domain_error" not in named(api.run(angle, inputs={"x": x, "y": y, "v": y + 1}))


def test_nan_of_the_mathematics_is_nobodys_fault():
    @kernel
    def root(x):
        return ops.sqrt(x)

    assert named(api.run(root, inputs={"x": np.float32([-1.0, 0.0, 2.0])})) == set()


def meant(x):
    return ops.exp(x)


@kernel(reference=meant)
def by_infinities(x):
    limit = ops.exp(x * 0.0 + float("inf"))
    return ops.exp(x + (limit - limit))


def test_nan_propagation_where_the_formula_makes_its_own_infinities():
    run = api.run(by_infinities, inputs={"x": RNG.normal(size=8).astype(np.float32)})
    assert np.isnan(run.outputs["out"]).all()
    assert "nan_propagation" in named(run)


def test_no_propagation_where_the_input_is_nan():
    @kernel
    def centred(x):
        return ops.exp(x - ops.max_(x, axis=-1, keepdims=True))

    assert named(api.run(centred, inputs={"x": np.float32([[np.nan, 1.0], [0.5, 1.0]])})) == set()


@kernel
def growth(x):
    return ops.exp(x)


def test_inaccurate_intrinsic_where_the_function_is_off():
    def high(operands, rounding):
        return round_array(np.exp(np.asarray(operands[0], np.float64)) * (1 + 2.0**-18), rounding)

    off = get_profile("ieee").with_(approximations={"exp": Approximation("test-high", "made up here", 1.0, high)})
    x = RNG.uniform(1, 2, 50).astype(np.float32)
    assert "inaccurate_intrinsic" in named(api.run(growth, inputs={"x": x}, profile=off), max_ulp=4)
    assert named(api.run(growth, inputs={"x": x}), max_ulp=4) == set()


@kernel
def solved(a, b):
    return ops.solve(a, b)


def test_ill_conditioned_where_the_backward_error_is_small():
    hilbert = (1 / (np.arange(6)[:, None] + np.arange(6) + 1)).astype(np.float32)
    first = api.explain(api.run(solved, inputs={"a": hilbert, "b": np.ones((6, 1), np.float32)}), max_ulp=4).findings[0]
    assert first.cause == "ill_conditioned" and first.standing != "verified"


@kernel
def twice_rounded(x):
    return ops.cast(ops.cast(x, "fp16"), "bf16")


def test_double_rounding_beside_a_cast_that_loses_nothing():
    # just below the midpoint of 1 and 1 + 2^-7: fp16 rounds it up to the midpoint, whose even neighbour above is wrong
    tie = np.float32([1 + 3 * 2.0**-8 - 2.0**-13])
    assert "wrong_rounding_cast" in named(api.run(twice_rounded, inputs={"x": tie}), max_ulp=0.5)
    assert named(api.run(twice_rounded, inputs={"x": np.float32([1.0, 1.5])}), max_ulp=0.5) == set()


@kernel
def summed(x):
    return ops.sum_(x, axis=-1)


def outcome(run):
    (tensor,) = run.trace.outputs.values()
    return tensor, Judgement(run.trace, run.kernel).intended[tensor].values


def test_nondeterminism_where_runs_differ():
    run = api.run(summed, inputs={"x": RNG.normal(size=(1, 64)).astype(np.float16)})
    tensor, exact = outcome(run)
    one = run.trace.values[tensor]
    assert repeated(run.trace, [one, one, one], exact) is None
    found = repeated(run.trace, [one, one + one.dtype.type(0.25)], exact)
    assert found is not None and found.cause == "nondeterminism" and found.evidence["different_results"] == 2
    with pytest.raises(PrecDiffError, match="two or more runs"):
        repeated(run.trace, [one], exact)


def test_an_expectation_is_blamed_only_where_the_actual_values_are_right():
    run = api.run(growth, inputs={"x": RNG.uniform(1, 2, 20).astype(np.float32)})
    tensor, exact = outcome(run)
    right = run.trace.values[tensor]
    found = misjudged(run.trace, tensor, exact, right * 1.001)
    assert found is not None and found.cause == "wrong_reference_or_tolerance"
    assert misjudged(run.trace, tensor, exact, right) is None
    run.trace.values[tensor] = (right * np.float32(1.001)).astype(np.float32)
    assert misjudged(run.trace, tensor, exact, right) is None


@pytest.mark.parametrize("cause", [name for name, _ in RULES.items()])
def test_the_page_defines_the_cause_as_the_command_does(cause):
    assert f"| `{cause}` | {RULES[cause].definition} |" in PAGE.read_text(encoding="utf-8").splitlines()
