"""What an expected side adds: a model of three calls in fp32, run again in bf16, with and without faults."""

import math

import ml_dtypes
import numpy as np
import pytest

from precdiff.comparison.alignment import align
from precdiff.diagnose.recorded.explaining import explained
from precdiff.diagnose.recorded.judging import Recording
from precdiff.diagnose.recorded.partners import Sides
from tests.diagnose.recorded.memory import recorded

RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(6, 16)), RNG.normal(size=(8, 16))


def model(dtype, **changed):
    """linear, an unknown block that hands on the linear's result, relu of that; `changed` tensors by name."""
    held = {"x": X.astype(dtype), "w": W.astype(dtype)}
    y = (held["x"].astype(np.float64) @ held["w"].astype(np.float64).T).astype(dtype)
    held |= {"y": y, "block": y, "z": y, "relu": np.maximum(y, dtype(0))}
    held |= {name: change(held[name]) for name, change in changed.items()}
    return recorded(
        ("Functional.linear.0.forward", "Functional.linear", {"input.0": held["x"], "input.1": held["w"]},
         {"output.0": held["y"]}),
        ("Module.b.Block.forward.0", "Module.Block", {"input.0": held["x"], "parameters.weight": held["w"]},
         {"output.0": held["block"]}),
        ("Functional.relu.0.forward", "Functional.relu", {"input.0": held["z"]}, {"output.0": held["relu"]}),
    )  # fmt: skip


def sides(dtype=ml_dtypes.bfloat16, **changed):
    actual, expected = model(dtype, **changed), model(np.float32)
    return Sides(Recording(actual), Recording(expected), align(actual, expected).pairs)


def judged(**changed):
    both = sides(**changed)
    return {j.row.id: j for step in both.actual.dump.steps for j in both.judged(step)}


def failing(**changed):
    return [id for id, j in judged(**changed).items() if j.row.verdict == "fail"]


def moved(ulps):
    def change(x):
        codes = x.copy().view(np.uint16)
        codes[2, 3] += ulps
        return codes.view(x.dtype)

    return change


def test_the_same_program_in_a_narrower_format_passes():
    rows = judged()
    assert {id: j.row.verdict for id, j in rows.items() if j.row.verdict != "pass"} == {}
    total = rows["Functional.linear.0.forward.output.0"].row.errors
    assert total.total > total.local  # what the inputs were rounded by is no fault of the call


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("y", "Functional.linear.0.forward.output.0"), ("block", "Module.b.Block.forward.0.output.0"),
        ("z", "Functional.relu.0.forward.input.0"), ("relu", "Functional.relu.0.forward.output.0"),
        ("w", "Module.b.Block.forward.0.parameters.weight"),
    ],
)  # fmt: skip
def test_sixteen_ulp_in_one_element_show_at_their_tensor(name, id):
    assert id in failing(**{name: moved(16)})


def test_a_tensor_nothing_made_and_that_is_no_parameter_is_not_compared_where_it_differs():
    found = judged(x=moved(16))["Functional.linear.0.forward.input.0"].row
    assert (found.verdict, found.rule) == ("not_compared", "nothing recorded made it, here or on the expected side")


def test_a_copy_that_lost_digits_is_named_with_its_grid():
    def narrowed(x):
        return x.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(x.dtype)

    actual, expected = (
        model(np.float32, block=lambda x: x.astype(ml_dtypes.bfloat16).astype(x.dtype)),
        model(np.float32),
    )
    both = Sides(Recording(actual), Recording(expected), align(actual, expected).pairs)
    (bad,) = (j for s in actual.steps for j in both.judged(s) if j.row.verdict == "fail")
    assert bad.row.id == "Module.b.Block.forward.0.output.0"
    assert "lies on the bf16 grid (8 of 24 significand bits)" in bad.row.rule
    (found,) = explained(both.actual, bad)
    assert (found.cause, found.standing) == ("intermediate_too_narrow", "verified")
    assert found.counterfactual.reproduces_bits
    assert found.counterfactual.change["steps"] == [bad.row.id]
    assert failing(block=narrowed) == [bad.row.id]


def test_a_factor_is_found_and_named():
    both = sides(np.float32, block=lambda x: x * np.float32(1.01))
    (bad,) = (j for s in both.actual.dump.steps for j in both.judged(s) if j.row.verdict == "fail")
    (found,) = explained(both.actual, bad)
    assert (found.cause, found.counterfactual.change["kind"]) == ("wrong_formula", "scale")
    assert math.isclose(found.counterfactual.change["value"], 1.01, rel_tol=1e-6)


def test_noise_without_a_pattern_is_not_named():
    rng = np.random.default_rng(5)
    both = sides(np.float32, block=lambda x: (x + rng.normal(size=x.shape)).astype(x.dtype))
    (bad,) = (j for s in both.actual.dump.steps for j in both.judged(s) if j.row.verdict == "fail")
    (found,) = explained(both.actual, bad)
    assert (found.cause, found.standing, found.counterfactual) == ("unexplained", "insufficient", None)


def test_an_unknown_call_is_compared_where_it_was_given_the_same():
    def one(made):
        return recorded(("Functional.mystery.0.forward", "Functional.mystery", {"input.0": X}, {"output.0": made}))

    def verdict(made):
        actual, expected = one(made), one(np.sin(X))
        both = Sides(Recording(actual), Recording(expected), align(actual, expected).pairs)
        return both.judged(actual.steps[0])[-1].row.verdict

    assert verdict(np.sin(X)) == "pass"
    assert verdict(np.sin(X) * (1 + 1e-10)) == "fail"
