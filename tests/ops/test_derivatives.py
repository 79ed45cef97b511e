"""Every vjp row against central differences of the same function on mpmath numbers of 300 bits.

The function is L(x) = sum w * f(x) with random weights w; its gradient by one sweep must equal
(L(x + h) - L(x - h)) / 2h for every element of every input, with h = 2^-60. Points lie inside the smooth pieces.
"""

import numpy as np
import pytest

from precdiff import ops
from precdiff.formats import get_format
from precdiff.kernels import kernel, run_kernel
from precdiff.machine import MpMachine
from precdiff.ops import OPS, Elementwise
from precdiff.trace import sweep
from tests.ops.points import ARITY, ROWS

BITS, H = 300, 60
FP64 = get_format("fp64")


def gradients(function, inputs, seed=0):
    """(cotangents of the inputs by one sweep, the weights, the trace)."""
    trace = run_kernel(kernel(function), inputs).trace
    output = trace.outputs["out"]
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, trace.values[output].shape)
    found = sweep(trace, trace.values, {output: weights})
    return {name: found.get(name, np.zeros(np.shape(v))) for name, v in inputs.items()}, weights, trace


def differences(function, inputs, weights, name):
    """The central differences of sum w f for one input."""
    machine = MpMachine(BITS)
    step = machine.context.mpf(2) ** -H
    base = {n: machine.tensor(v, get_format(_format(v))) for n, v in inputs.items()}

    def loss(index, by):
        moved = base[name].planes[0].copy()
        moved[index] = moved[index] + by
        changed = type(base[name])((moved,), base[name].format, machine)
        plane = function(*({**base, name: changed}.values())).planes[0]
        return machine.context.fdot(zip(np.ravel(plane), np.ravel(weights).tolist(), strict=True))

    shape = np.shape(inputs[name])
    slopes = [(loss(i, step) - loss(i, -step)) / (2 * step) for i in np.ndindex(shape)]
    return np.array([float(s) for s in slopes]).reshape(shape)


def _format(values):
    return "fp64" if values.dtype.kind == "f" else {"i": "i64", "b": "bool"}[values.dtype.kind]


def check(function, **inputs):
    found, weights, trace = gradients(function, inputs)
    for name, values in inputs.items():
        if values.dtype.kind == "f":
            expected = differences(function, inputs, weights, name)
            np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-13, err_msg=name)
    return trace


#: where an elementwise row is smooth; (0.3, 2.5) and both signs for the others
DOMAINS = {
    "sqrt": (0.2, 3), "rsqrt": (0.2, 3), "log": (0.2, 3), "log2": (0.2, 3), "log10": (0.2, 3), "log1p": (-0.8, 3),
    "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9), "acosh": (1.2, 4), "tan": (-1.2, 1.2),
}  # fmt: skip
PAIRS = {"power": [(0.2, 3), (-2, 2)], "fmod": [(4.2, 4.9), (1.1, 1.3)], "remainder": [(4.0, 4.1), (1.2, 1.25)],
         "clip": [(0.1, 0.9), (-3, -2), (2, 3)]}  # fmt: skip


def points(name, position, rng):
    if name in PAIRS:
        return rng.uniform(*PAIRS[name][position], 6)
    low, high = DOMAINS.get(name, (0.3, 2.5))
    values = rng.uniform(low, high, 6)
    return values if name in DOMAINS else values * rng.choice([-1, 1], 6)


@pytest.mark.parametrize("name", [name for name, op in ROWS.items() if op.vjp is not None])
def test_elementwise_rows(name):
    rng = np.random.default_rng(len(name))
    operands = [points(name, i, rng) for i in range(ARITY[name])]
    with np.errstate(all="ignore"):
        assert np.isfinite(ROWS[name].host(*operands)).all()
    check(called(name), **dict(zip("xyz", operands, strict=False)))


def called(name):
    """The row as a function with named operands, as kernels are."""
    row = OPS[name]

    def one(x):
        return row(x)

    def two(x, y):
        return row(x, y)

    def three(x, y, z):
        return row(x, y, z)

    return (one, two, three)[ARITY[name] - 1]


@pytest.mark.parametrize("name", [name for name, op in ROWS.items() if op.vjp is not None and ARITY[name] == 2])
def test_elementwise_rows_broadcast(name):
    """A vector, a row, a number of the source: cotangents are summed over what was repeated."""
    rng = np.random.default_rng(len(name))
    x, y = (points(name, i, rng) for i in range(2))
    check(called(name), x=x[:3].reshape(3, 1), y=y[:4].reshape(1, 4))
    check(called(name), x=x[:3], y=y[0])


def numbers(*shape, seed=0):
    """Numbers well apart, so that no order and no extremum changes within a step."""
    size = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(-2.1, 2.3, size)).reshape(shape)


INDEX = np.array([2, 0, 2])
STRUCTURE = {
    "sum all": lambda x: ops.sum_(x * x),
    "sum axis": lambda x: ops.sum_(x * x, axis=0),
    "sum axes kept": lambda x: ops.sum_(x * x, axis=(0, 2), keepdims=True),
    "sum acc": lambda x: ops.sum_(x, axis=1, acc="fp64"),
    "mean": lambda x: ops.mean(x * x, axis=-1),
    "max": lambda x: ops.max_(x, axis=1) * 3.0,
    "max kept": lambda x: ops.max_(x, axis=2, keepdims=True),
    "min": lambda x: ops.min_(x, axis=0),
    "prod": lambda x: ops.prod(x, axis=1),
    "prod all": lambda x: ops.prod(x[0], keepdims=True),
    "cumsum": lambda x: ops.cumsum(x, axis=1) * ops.cumsum(x, axis=-1),
    "reshape": lambda x: ops.reshape(x * x, (4, 6)),
    "transpose": lambda x: ops.transpose(x, (2, 0, 1)) * 2.0,
    "T": lambda x: (x * x).T,
    "broadcast": lambda x: ops.broadcast_to(x[:, :1] * x[:, :1], (2, 5, 4)),
    "concatenate": lambda x: ops.concatenate([x, x * x, x[:, 1:]], axis=1),
    "index": lambda x: x[1, ..., 2] * x[0, :, 1],
    "slices": lambda x: x[:, ::-2, 1:3] * 2.0,
    "new axis": lambda x: x[None, 1] * x[:, :, None, 0],
    "update": lambda x: ops.update(x * 2.0, (0, slice(1, 3)), x[1, :2] * x[1, 1:]),
    "update row": lambda x: ops.update(x, 1, x[0, 0] * 3.0),
    "where": lambda x: ops.where(x > 0.0, x * x, -x),
    "where broadcast": lambda x: ops.where(x[0] > 0.0, x, x[1, :, :1] * x[0, :1]),
    "cast": lambda x: ops.cast(x, "fp64") * x,
    "sort": lambda x: ops.sort(x, axis=1) * x,
    "sort down": lambda x: ops.sort(x, descending=True) * 2.0,
    "softmax": lambda x: ops.exp(x) / ops.sum_(ops.exp(x), axis=-1, keepdims=True),
    "logsumexp": ops.logsumexp,
    "gelu": ops.gelu,
    "silu": ops.silu,
    "softplus": ops.softplus,
    "sigmoid": ops.sigmoid,
    "norm": lambda x: (
        (x - ops.mean(x, axis=-1, keepdims=True)) / ops.sqrt(ops.mean(x * x, axis=-1, keepdims=True) + 1e-5)
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name):
    check(STRUCTURE[name], x=numbers(2, 3, 4))


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((2, 3), (3, 4), None),
        ((2, 3), (3, 4), (2, 4)),
        ((2, 3), (3, 4), (4,)),
        ((2, 2, 3), (3, 2), None),
        ((1, 2, 3), (2, 3, 2), (2, 1, 2)),
    ],
    ids=str,
)
def test_matrix_products(a, b, c):
    shapes = {"a": a, "b": b} | ({"c": c} if c else {})
    inputs = {name: numbers(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    check(lambda a, b, c=None: ops.matmul(a, b, c) * 2.0, **inputs)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i, v: ops.take(x, i, axis=0) * 2.0,
        lambda x, i, v: ops.take(x, i, axis=1) * 2.0,
        lambda x, i, v: ops.scatter_add(x, i, v * v),
        lambda x, i, v: ops.scatter(x * x, i[:2], v[:2]),
    ],
    ids=["take", "take axis 1", "scatter_add", "scatter"],
)
def test_moves_by_index(function):
    check(function, x=numbers(4, 3), i=INDEX, v=numbers(3, 3, seed=1))


def test_take_along():
    check(lambda x, i: OPS["take_along"](x, i, axis=1) * 2.0, x=numbers(2, 4), i=np.array([[0, 0, 3], [2, 1, 1]]))


def test_windows():
    check(lambda x, w: ops.conv2d(x, w, stride=2, padding=1), x=numbers(1, 2, 4, 4), w=numbers(2, 2, 3, 3, seed=1))


def test_every_differentiable_op_is_held_to_differences():
    """So that a row with a vjp cannot be added without its test."""
    used = {"conv2d": "unfold", "take": "take", "scatter": "scatter", "along": "take_along", "matmul": "matmul"}
    seen = set(used.values())
    for function in STRUCTURE.values():
        trace = run_kernel(kernel(function), {"x": numbers(2, 3, 4)}).trace
        seen |= {s.op for s in trace.steps}
    structural = {n for n, op in OPS.items() if getattr(op, "vjp", None) and not isinstance(op, Elementwise)}
    assert structural - seen == set()
