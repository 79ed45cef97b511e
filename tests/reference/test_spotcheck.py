"""Spot checks: chosen outputs computed again by mpmath; a reference outside its own radius is a defect and says so."""

import dataclasses

import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.errors import DefectError
from precdiff.kernels import KERNELS, kernel, run_kernel
from precdiff.machine.realarray import FINITE, NAN, POSITIVE_INFINITY, UNKNOWN
from precdiff.reference import spot_check
from precdiff.reference.spotcheck import SEEDED, WORST

N = 4000


def softplus_trace(size=N):
    x = np.random.default_rng(1).uniform(-8, 8, size).astype(np.float32)
    return run_kernel(kernel(lambda x: ops.softplus(x) * 3.0), {"x": x}).trace


def checked(trace, change=None, error=None):
    id = trace.outputs["out"]
    made = reference.total(trace, [id])[id]
    if change:
        made = dataclasses.replace(made, values=change(made.values))
    return spot_check(trace, id, made, np.zeros(made.values.shape) if error is None else error)


def shifted(index, **changes):
    def change(values):
        columns = {name: getattr(values, name).copy() for name in ("hi", "lo", "radius", "kind")}
        for name, value in changes.items():
            columns[name].flat[index] = value(columns[name].flat[index]) if callable(value) else value
        return dataclasses.replace(values, **columns)

    return change


def worst_at(index, size=N):
    error = np.zeros(size)
    error[index] = 5.0
    return error


def test_a_right_reference_passes_and_says_how_many_were_checked():
    found = checked(softplus_trace(), error=np.random.default_rng(0).random(N))
    assert SEEDED <= found.checked <= SEEDED + WORST


def test_few_outputs_are_all_checked():
    assert checked(softplus_trace(5)).checked == 5


@pytest.mark.parametrize(
    "change",
    [
        {"hi": lambda v: v * (1 + 2.0**-40)},
        {"hi": lambda v: v + 1},
        {"lo": lambda v: v + 2.0**-60, "radius": 0.0},
        {"kind": NAN},
        {"kind": POSITIVE_INFINITY},
    ],
    ids=["a hair", "by one", "below fp64", "NaN", "an infinity"],
)
def test_a_wrong_reference_is_a_defect(change):
    """The wrong element is the worst one, so it is among those checked."""
    with pytest.raises(DefectError, match=r"contradicts mpmath.*defect of PrecDiff; please report it"):
        checked(softplus_trace(), shifted(123, **change), worst_at(123))


@pytest.mark.parametrize(
    "change", [{"radius": 1.0, "hi": lambda v: v + 0.5}, {"kind": UNKNOWN}], ids=["wide", "unknown"]
)
def test_what_the_radius_admits_is_no_contradiction(change):
    assert checked(softplus_trace(), shifted(123, **change), worst_at(123)).checked > 0


def test_nan_errors_count_as_the_worst():
    error = np.zeros(N)
    error[200] = np.nan
    with pytest.raises(DefectError):
        checked(softplus_trace(), shifted(200, hi=lambda v: v + 1), error)


@pytest.mark.parametrize("name", ["softmax", "reduce_sum", "matmul", "layernorm", "logsumexp"])
def test_reductions_are_checked_as_a_whole_where_that_is_affordable(name):
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 8), "gamma": (8,), "beta": (8,), "a": (4, 8), "b": (8, 4)}
    given = {n: rng.uniform(0.5, 2, shapes[n]) for n in KERNELS[name].examples}
    trace = run_kernel(name, given, format="fp16").trace
    assert checked(trace).checked > 0


def test_a_cone_that_costs_more_than_a_second_is_not_checked_and_says_so():
    x = np.random.default_rng(0).random((300, 500)).astype(np.float32)
    trace = run_kernel("softmax", {"x": x}).trace
    assert checked(trace).checked == 0


def test_specials_are_compared_by_kind():
    trace = run_kernel(kernel(lambda x: 1.0 / x), {"x": np.float32([0.0, -0.0, np.nan, np.inf, -np.inf, 2.0])}).trace
    found = checked(trace)
    assert (found.checked, found.values.kind.tolist()) == (6, [1, 2, NAN, FINITE, FINITE, FINITE])


def test_no_elements_need_no_check():
    trace = run_kernel(kernel(lambda x: x + 1.0), {"x": np.zeros((0,), np.float32)}).trace
    assert checked(trace).checked == 0
