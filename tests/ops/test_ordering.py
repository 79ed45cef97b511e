"""sort, argsort, topk, argmax: numpy's stable order on every row, and references that decide or say they cannot."""

import numpy as np
import pytest

from precdiff import kernel, ops
from precdiff.kernels import run_kernel
from precdiff.machine import BallMachine, DoubleDoubleMachine, IntervalMachine
from precdiff.reference import total
from precdiff.trace import evaluate

ROWS, LENGTH = 100_000, 12


def rows(format, seed=7):
    """Rows full of ties, zeros of both signs and NaN."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, (ROWS, LENGTH)).astype(format)
    values[rng.random(values.shape) < 0.2] *= 0.5
    values[rng.random(values.shape) < 0.1] = -0.0
    values[rng.random(values.shape) < 0.05] = np.nan
    return values


@kernel
def ordered(x):
    values, indices = ops.topk(x, 4)
    return {
        "sort": ops.sort(x), "argsort": ops.argsort(x), "argmax": ops.argmax(x), "argmin": ops.argmin(x),
        "down": ops.sort(x, descending=True), "argdown": ops.argsort(x, descending=True), "topk": values,
        "top": indices,
    }  # fmt: skip


@pytest.fixture(scope="module", params=["float16", "float32"])
def both(request):
    x = rows(request.param)
    return x, run_kernel(ordered, {"x": x}).outputs


def same_bits(a, b):
    kind = f"u{a.dtype.itemsize}"
    return (np.ascontiguousarray(a).view(kind) == np.ascontiguousarray(b).view(kind)).all()


def test_ascending_is_numpys_stable_order(both):
    x, found = both
    order = np.argsort(x, axis=-1, kind="stable")
    assert (found["argsort"] == order).all()
    assert same_bits(found["sort"], np.take_along_axis(x, order, -1))


def test_descending_keeps_the_lower_index_first_and_nan_last(both):
    x, found = both
    order = np.argsort(-x, axis=-1, kind="stable")
    assert (found["argdown"] == order).all()
    assert same_bits(found["down"], np.take_along_axis(x, order, -1))
    assert (found["top"] == order[:, :4]).all() and same_bits(found["topk"], found["down"][:, :4])


def test_extreme_indices_are_numpys(both):
    x, found = both
    assert (found["argmax"] == np.argmax(x, -1)).all()
    assert (found["argmin"] == np.argmin(x, -1)).all()


@pytest.mark.parametrize("descending", [False, True])
def test_integers_of_either_sign(descending):
    x = np.array([[5, -128, 127, 5, 0], [0, 0, -1, 1, -1]], np.int8)

    @kernel
    def order(x):
        return ops.argsort(x, descending=descending)

    expected = np.argsort(-x.astype(int) if descending else x, axis=-1, kind="stable")
    assert run_kernel(order, {"x": x}).outputs["out"].tolist() == expected.tolist()


@pytest.mark.parametrize("machine", [IntervalMachine(), DoubleDoubleMachine(), BallMachine(128)], ids=lambda m: m.name)
def test_references_of_exact_values_decide_everything(machine):
    x = rows("float16")[:50]
    trace = run_kernel(ordered, {"x": x}).trace
    values = evaluate(trace, machine)
    for name, tensor in trace.outputs.items():
        known = machine.reals(values[tensor])
        assert (known.kind != 4).all() and (known.radius == 0).all(), name
        np.testing.assert_array_equal(known.values(), np.asarray(trace.values[tensor], float), err_msg=name)


@kernel
def of_thirds(x):
    y = x / 3.0
    return {"sort": ops.sort(y), "argsort": ops.argsort(y), "argmax": ops.argmax(y)}


def test_equal_inexact_values_are_undecided_not_chosen():
    trace = run_kernel(of_thirds, {"x": np.float16([[1.0, 1.0, 5.0, 2.0]])}).trace
    found = total(trace)
    values, indices = found["sort"], found["argsort"]
    assert values.status == "certified"
    np.testing.assert_allclose(values.values.values(), [[1 / 3, 1 / 3, 2 / 3, 5 / 3]], rtol=1e-15)
    assert indices.status == "undecided"
    low, high = indices.values.bounds()
    assert (low[0, :2] <= 0).all() and (high[0, :2] >= 1).all(), "either may come first"
    assert low[0, 2:].tolist() == high[0, 2:].tolist() == [3, 2], "the others are decided"
    assert found["argmax"].status == "certified" and found["argmax"].values.hi.tolist() == [2]


def test_an_index_nobody_knows_leaves_what_it_selects_open():
    @kernel
    def chosen(x):
        y = x / 3.0
        return ops.take(x, ops.argmax(y), axis=0)

    trace = run_kernel(chosen, {"x": np.float16([1.0, 1.0])}).trace
    assert total(trace)["take"].status == "undecided"
