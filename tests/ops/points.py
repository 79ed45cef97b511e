"""Operands for every elementwise row: where its function lives, and the points at which functions go wrong."""

import inspect

import numpy as np

from precdiff.ops import OPS, Elementwise

ROWS = {name: op for name, op in OPS.items() if isinstance(op, Elementwise)}
NUMERIC = [name for name, op in ROWS.items() if not op.result]
COMPARISONS = [name for name, op in ROWS.items() if op.result]
#: how many operands a row has; its mpmath twin takes the context first
ARITY = {name: len(inspect.signature(op.mp).parameters) - 1 for name, op in ROWS.items()}

TINY, LEAST, LARGEST = 2.0**-1022, 2.0**-1074, np.finfo(np.float64).max
#: zeros, ones and their neighbours, the ends of fp64's range, where exp leaves each format's range, infinities, NaN
EDGES = np.array(
    [0.0, LEAST, TINY, TINY - LEAST, 2.0**-149, 2.0**-126, 2.0**-24, 2.0**-14, 1e-3, 0.5, 1 - 2.0**-53, 1.0,
     1 + 2.0**-52, 1.5, 2.0, 2.5, 3.0, 8.0, 11.09, 17.5, 88.72, 88.73, 103.97, 104.0, 709.78, 709.79, 745.13, 745.14,
     1e3, 65504.0, 2.0**52, 2.0**53 + 2, 1e30, 3.4e38, 2.0**1023, LARGEST, np.inf, np.nan]
)  # fmt: skip
SIGNED = np.concatenate([EDGES, -EDGES])


def _log_uniform(rng, count, low, high):
    return np.exp2(rng.uniform(low, high, count)) * rng.choice([-1.0, 1.0], count)


def _ordinary(rng, count):
    """Half of them of moderate size, half of every size fp64 has."""
    return np.where(rng.random(count) < 0.5, _log_uniform(rng, count, -12, 10), _log_uniform(rng, count, -1074, 1024))


def _integers(rng, count):
    return rng.integers(-30, 30, count).astype(np.float64)


def _around(points, width):
    def make(rng, count):
        return rng.choice(points, count) + _log_uniform(rng, count, -52, width)

    return make


def _multiples_of_half_pi(rng, count):
    """Near zeros and turning points of sin and cos, small and large ones."""
    with np.errstate(over="ignore"):
        turns = np.rint(np.exp2(rng.uniform(0, 60, count))) * rng.choice([-0.5, 0.5], count)
        return turns * np.pi * (1 + rng.integers(-2, 3, count) * 2.0**-52)


def _unit(rng, count):
    return np.exp2(rng.uniform(-60, 0, count)) * rng.choice([-1.0, 1.0], count)


def _halves(rng, count):
    return rng.integers(-40, 40, count) / 2.0 + rng.choice([0.0, 0.0, 2.0**-50, -(2.0**-50)], count)


#: row -> draws for its operands, where `_ordinary` would rarely meet what is hard
_DRAWS = {
    "exp": [[_around([0.0], 2), lambda rng, n: rng.uniform(-746, 710, n)]],
    "expm1": [[_around([0.0], 2), lambda rng, n: rng.uniform(-60, 710, n)]],
    "log": [[_around([1.0], -1), lambda rng, n: np.abs(_ordinary(rng, n))]],
    "log1p": [[_around([0.0], -1), lambda rng, n: _ordinary(rng, n) - 1.0]],
    "tanh": [[_around([0.0], 2), lambda rng, n: rng.uniform(-25, 25, n)]],
    "erf": [[_around([0.0], 2), lambda rng, n: rng.uniform(-6.5, 6.5, n)]],
    "sqrt": [[lambda rng, n: np.abs(_ordinary(rng, n))]],
    "rsqrt": [[lambda rng, n: np.abs(_ordinary(rng, n))]],
    "exp2": [[_around([0.0], 2), lambda rng, n: rng.uniform(-1076, 1025, n)]],
    "log2": [[_around([1.0], -1), lambda rng, n: np.abs(_ordinary(rng, n))]],
    "log10": [[_around([1.0], -1), lambda rng, n: np.abs(_ordinary(rng, n))]],
    "sin": [[_multiples_of_half_pi, _ordinary]],
    "cos": [[_multiples_of_half_pi, _ordinary]],
    "tan": [[_multiples_of_half_pi, _ordinary]],
    "asin": [[_unit, _around([-1.0, 1.0], -2)]],
    "acos": [[_unit, _around([-1.0, 1.0], -2)]],
    "atanh": [[_unit, _around([-1.0, 1.0], -2)]],
    "sinh": [[_around([0.0], 2), lambda rng, n: rng.uniform(-711, 711, n)]],
    "cosh": [[_around([0.0], 2), lambda rng, n: rng.uniform(-711, 711, n)]],
    "acosh": [[_around([1.0], -1), lambda rng, n: np.abs(_ordinary(rng, n)) + 1.0]],
    "erfc": [[_around([0.0], 2), lambda rng, n: rng.uniform(-6.5, 27.5, n)]],
    "ceil": [[_halves, _ordinary]],
    "round": [[_halves, _ordinary]],
    "trunc": [[_halves, _ordinary]],
    "atan2": [[_ordinary, _integers], [_ordinary, _integers]],
    "fmod": [[_ordinary, _integers], [_ordinary, _integers]],
    "remainder": [[_ordinary, _integers, _halves], [_ordinary, _integers, _integers]],
    "power": [
        [_around([1.0], -1), lambda rng, n: np.abs(_log_uniform(rng, n, -20, 20)), _integers],
        [lambda rng, n: rng.uniform(-40, 40, n), _integers],
    ],
}  # fmt: skip


def random_operands(name, count, rng):
    """`count` random tuples of operands of the row, as fp64 arrays."""
    draws = _DRAWS.get(name, [[_ordinary]] * ARITY[name])
    return [_mixed(makers, count, rng) for makers in draws]


def _mixed(makers, count, rng):
    parts = np.array_split(np.arange(count), len(makers))
    with np.errstate(over="ignore"):
        return rng.permutation(np.concatenate([make(rng, len(p)) for make, p in zip(makers, parts, strict=True)]))


def edge_operands(name):
    """Every combination of the edges (a few of them where there are three operands)."""
    edges = SIGNED if ARITY[name] < 3 else SIGNED[::5]
    grids = np.meshgrid(*[edges] * ARITY[name], indexing="ij")
    return [grid.ravel() for grid in grids]


def operands(name, count, rng):
    """Edges and random tuples together."""
    return [np.concatenate(pair) for pair in zip(edge_operands(name), random_operands(name, count, rng), strict=True)]
