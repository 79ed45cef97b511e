"""Folds, gathers, convolution, solving, decisions: against numpy and definitions; errors that name op and shapes."""

import mpmath
import numpy as np
import pytest

from precdiff import api, kernel, ops
from precdiff.errors import KernelError
from precdiff.kernels import run_kernel
from precdiff.reference import total

RNG = np.random.default_rng(5)


def run(function, **inputs):
    return run_kernel(kernel(function), inputs)


def test_cumsum_and_prod_round_every_step():
    x = RNG.normal(0, 1, (6, 40)).astype(np.float16)
    found = run(lambda x: {"sum": ops.cumsum(x), "prod": ops.prod(x, axis=1)}, x=x).outputs
    assert (found["sum"].view("u2") == np.cumsum(x, axis=1, dtype=np.float16).view("u2")).all()
    product = x[:, 0]
    for column in x.T[1:]:
        product = (product * column).astype(np.float16)
    assert (found["prod"].view("u2") == product.view("u2")).all()


def test_min_is_the_mirror_of_max():
    x = np.float16([[1, -0.0, 0.0], [2, np.nan, 1]])
    found = run(lambda x: ops.min_(x, axis=1), x=x).outputs["out"]
    assert np.signbit(found[0]) and found[0] == 0 and np.isnan(found[1])


def test_take_and_scatter_are_numpys():
    x, index = RNG.normal(0, 1, (5, 3)).astype(np.float32), np.array([[4, 0], [-1, 2]], np.int32)
    written = RNG.normal(0, 1, (3, 3)).astype(np.float32)
    at = np.array([1, 3, 1], np.int64)
    made = run(
        lambda x, i, w, at: {
            "take": ops.take(x, i), "set": ops.scatter(x, at, w),
            "add": ops.scatter_add(x, at, w),
        },
        x=x, i=index, w=written, at=at,
    ).outputs  # fmt: skip
    assert (made["take"] == np.take(x, index, axis=0)).all()
    expected = x.copy()
    expected[at] = written
    assert (made["set"] == expected).all()
    summed = x.copy()
    for place, row in zip(at, written, strict=True):
        summed[place] += row
    assert (made["add"] == summed).all()


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), ((1, 2), (0, 2))])
def test_conv2d_against_the_definition(stride, padding):
    x, w = RNG.normal(0, 1, (2, 3, 7, 8)).astype(np.float16), RNG.normal(0, 1, (4, 3, 3, 2)).astype(np.float16)
    made = run(lambda x, w: ops.conv2d(x, w, stride, padding, acc="fp32", out="fp32"), x=x, w=w)
    s, p = (v if isinstance(v, tuple) else (v, v) for v in (stride, padding))
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])))
    shape = made.outputs["out"].shape
    expected = np.zeros(shape)
    for i, j in np.ndindex(*shape[2:]):
        window = padded[:, :, i * s[0] : i * s[0] + 3, j * s[1] : j * s[1] + 2]
        expected[:, :, i, j] = np.einsum("ncij,ocij->no", window, w.astype(float))
    np.testing.assert_allclose(made.outputs["out"], expected, rtol=0, atol=2e-5)
    reference = total(made.trace, [made.trace.outputs["out"]])[made.trace.outputs["out"]]
    np.testing.assert_allclose(reference.values.values(), expected, rtol=1e-13, atol=1e-13)
    assert reference.status == "certified"


def test_solve_and_inv_pivot_and_are_certified():
    a = np.float32([[0, 2, 1], [1, 1, 0], [3, 0, 5]])
    b = np.float32([[1], [2], [3]])
    made = run(lambda a, b: {"x": ops.solve(a, b), "inv": ops.inv(a)}, a=a, b=b)
    with mpmath.workdps(40):
        exact = mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.matrix(b.ravel().tolist()))
        inverse = mpmath.matrix(a.tolist()) ** -1
    found = total(made.trace, made.trace.outputs.values())
    x, inv = (found[made.trace.outputs[n]] for n in ("x", "inv"))
    assert x.status == inv.status == "certified"
    np.testing.assert_allclose(x.values.values().ravel(), [float(v) for v in exact], rtol=1e-15)
    np.testing.assert_allclose(inv.values.values().ravel(), [float(v) for v in inverse], rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(made.outputs["x"].ravel(), [float(v) for v in exact], rtol=1e-6)


def test_a_loop_takes_the_recorded_path_and_stops():
    def halve(x):
        return ops.while_loop(lambda v: v > 1.0, lambda v: v * 0.5, x)[0]

    made = run(halve, x=np.float16(40))
    assert float(made.outputs["out"]) == 0.625
    assert [s.params["taken"] for s in made.trace.steps if s.op == "decide"] == [True] * 6 + [False]
    with pytest.raises(KernelError, match="still running after 3 iterations; raise --max-iterations"):
        run_kernel(kernel(halve), {"x": np.float16(40)}, max_iterations=3)


def test_a_decision_the_truth_would_take_otherwise_is_named():
    def branch(x):
        y = x + 1.0
        return ops.cond(y == x, lambda: y, lambda: y - x)

    report = api.compare(run(branch, x=np.float16(4096)))
    assert report.provenance["decided_otherwise"][0].startswith("decide (")
    assert api.compare(run(branch, x=np.float16(4))).provenance["decided_otherwise"] == []


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda x: ops.take(x, x), {"x": np.float16([1.0])}, "take: the indices are fp16; allowed are integers"),
        (ops.take, {"x": np.float16([1.0]), "indices": np.int32([3])}, "index 3 is out of range for 1"),
        (ops.conv2d, {"x": np.zeros((1, 2, 4, 4), "f2"), "w": np.zeros((1, 3, 2, 2), "f2")},
         r"conv2d: shapes \(1, 2, 4, 4\), \(1, 3, 2, 2\)"),
        (ops.conv2d, {"x": np.zeros((1, 2, 4, 4), "f2"), "w": np.zeros((1, 2, 5, 2), "f2")},
         "larger than the padded image"),
        (ops.solve, {"a": np.zeros((2, 3), "f4"), "b": np.zeros((2, 1), "f4")},
         r"solve: shapes \(2, 3\), \(2, 1\)"),
        (lambda x: ops.cond(x, lambda: x, lambda: x), {"x": np.float16(1)}, "decide: found fp16"),
        (lambda x: ops.max_(x, axis=0), {"x": np.zeros((0, 2), "f2")}, "max: no elements along axes"),
    ],
    ids=["float index", "index out of range", "channels", "filter too large", "not square", "not bool", "empty max"],
)  # fmt: skip
def test_errors_name_the_op_and_what_is_allowed(function, inputs, message):
    with pytest.raises(KernelError, match=message):
        run(function, **inputs)


@pytest.mark.parametrize("name", ["sqrt", "expm1", "log1p", "tanh", "erf"])
def test_zero_goes_to_zero_exactly(name):
    row = getattr(ops, name)

    def applied(x):
        return row(x)

    made = run(applied, x=np.float16([0.0, -0.0]))
    found = total(made.trace)[name].values
    assert found.hi.tolist() == [0.0, 0.0] and found.radius.tolist() == [0.0, 0.0]


def test_every_shown_digit_is_right():
    shown = {row.op: row.exact for row in api.evaluate("exp(y*log(x))", {"x": "0.1", "y": "-4"}).rows}
    with mpmath.workdps(40):
        log = mpmath.log(mpmath.mpf(float(np.float16(0.1))))
        exact = {"log": log, "mul": -4 * log, "exp": mpmath.exp(-4 * log)}
        for op, value in exact.items():
            assert abs(mpmath.mpf(shown[op]) / value - 1) < mpmath.mpf(10) ** -19
