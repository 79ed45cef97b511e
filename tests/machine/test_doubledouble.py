"""Double-double twins: the ball of the result holds the op of every point of the operands' balls, at every size.

Operands are pairs with radii of sizes from 2^-1070 to 2^1020, among them pairs that nearly cancel; points are taken at
both ends and the middle of each ball, and computed with in rationals.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from precdiff import ops
from precdiff.formats import get_format
from precdiff.machine import DoubleDoubleMachine, MpMachine, Tensor
from precdiff.machine import doubledouble as dd
from precdiff.machine.realarray import UNKNOWN
from precdiff.ops import OPS

FP64 = get_format("fp64")
MACHINE = DoubleDoubleMachine()
COUNT = 400


def pairs(rng, count):
    """(hi, lo, radius), normalised, of every size."""
    hi = rng.standard_normal(count) * np.exp2(rng.choice([0, -30, 60, -500, 480, -960, -1040, 990], count))
    hi[rng.random(count) < 0.05] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        lo = hi * 2.0**-54 * rng.uniform(-1, 1, count) * rng.choice([0.0, 1.0], count)
        radius = np.abs(hi) * np.exp2(rng.uniform(-110, -3, count)) * rng.choice([0.0, 1.0], count)
    return hi, lo, radius


def near(operand, rng):
    """A pair close to minus the other: sums cancel."""
    hi, lo, _ = operand
    moved = -hi * (1 + rng.integers(-3, 4, hi.size) * 2.0**-52)
    return moved, -lo * rng.choice([0.0, 1.0], hi.size), np.abs(hi) * 2.0**-100 * rng.choice([0.0, 1.0], hi.size)


def ends(operand, i):
    middle, radius = Fraction(float(operand[0][i])) + Fraction(float(operand[1][i])), Fraction(float(operand[2][i]))
    return {middle - radius, middle, middle + radius}


def _root(x):
    with mpmath.workprec(2500):
        _, mantissa, exponent, _ = mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator)._mpf_
    return Fraction(mantissa) * Fraction(2) ** exponent


EXACT = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z, "neg": lambda x: -x, "abs": abs, "maximum": max, "minimum": min,
    "sqrt": _root,
}  # fmt: skip


def undefined(name, args):
    return (name == "div" and args[1] == 0) or (name == "sqrt" and args[0] < 0)


def test_every_twin_is_held_to_its_function():
    assert set(EXACT) == set(dd._TWINS)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", ["independent", "cancelling"])
def test_twins_contain(name, kind):
    rng = np.random.default_rng(len(name))
    arity = {"fma": 3}.get(name, 1 if name in ("neg", "abs", "sqrt") else 2)
    operands = [pairs(rng, COUNT) for _ in range(arity)]
    if kind == "cancelling" and arity > 1:
        operands[-1] = near(operands[0], rng)
        if name == "fma":
            operands[1] = (np.ones(COUNT), np.zeros(COUNT), np.zeros(COUNT))
    tensors = [Tensor(tuple(np.asarray(p) for p in operand), FP64, MACHINE) for operand in operands]
    found = MACHINE.reals(OPS[name](*tensors))
    known = 0
    for i in range(COUNT):
        if found.kind[i] == UNKNOWN:
            continue
        known += 1
        middle = Fraction(float(found.hi[i])) + Fraction(float(found.lo[i]))
        for args in itertools.product(*(ends(o, i) for o in operands)):
            assert not undefined(name, args)
            off = abs(EXACT[name](*args) - middle)
            assert off <= Fraction(float(found.radius[i])) * (1 + Fraction(1, 2**60)), [
                o[k][i] for o in operands for k in range(3)
            ]
    assert known > COUNT / 4


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "sqrt", "fma"])
def test_exact_operands_of_moderate_size_are_known_to_100_bits(name):
    rng = np.random.default_rng(1)
    arity = {"fma": 3, "sqrt": 1}.get(name, 2)
    tensors = [MACHINE.tensor(rng.uniform(1, 2, 200), FP64) for _ in range(arity)]
    found = MACHINE.reals(OPS[name](*tensors))
    assert (found.radius <= 2.0**-99 * np.maximum(np.abs(found.hi), 2.0)).all()


def test_sums_and_differences_of_fp64_numbers_are_exact():
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(500) * np.exp2(rng.integers(-300, 300, 500)) for _ in range(2))
    found = MACHINE.reals(MACHINE.tensor(x, FP64) - MACHINE.tensor(y, FP64))
    assert not found.radius.any()
    for hi, lo, a, b in zip(found.hi.tolist(), found.lo.tolist(), x.tolist(), y.tolist(), strict=True):
        assert Fraction(hi) + Fraction(lo) == Fraction(a) - Fraction(b)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1000])
def test_long_sums(n):
    x = np.random.default_rng(n).standard_normal((2, n)) * 1e8
    found = MACHINE.reals(ops.sum_(MACHINE.tensor(x, FP64), axis=-1))
    for row, hi, lo, radius in zip(x.tolist(), found.hi, found.lo, found.radius, strict=True):
        off = abs(sum(map(Fraction, row)) - Fraction(float(hi)) - Fraction(float(lo)))
        assert off <= Fraction(float(radius))
        assert radius <= 1e-16


def test_large_matrix_products_are_made_slab_by_slab(monkeypatch):
    """In bounded memory, with the same result."""
    rng = np.random.default_rng(0)
    a, b, c = (MACHINE.tensor(rng.standard_normal(s), FP64) for s in ((3, 17, 5), (3, 5, 4), (4,)))
    whole = MACHINE.reals(ops.matmul(a, b, c))
    monkeypatch.setattr(dd, "_SLAB", 130)
    parts = MACHINE.reals(ops.matmul(a, b, c))
    assert all(np.array_equal(getattr(whole, f), getattr(parts, f)) for f in ("hi", "lo", "radius", "kind"))
    exact = MpMachine(300)
    truth = exact.reals(ops.matmul(*(exact.tensor(t.planes[0], FP64) for t in (a, b, c))))
    assert (np.abs((whole.hi - truth.hi) + (whole.lo - truth.lo)) <= whole.radius + 1e-30).all()


def test_poles_are_left_to_balls():
    """A twin does not keep the sign of a zero, so it does not say which infinity."""
    x = MACHINE.tensor(np.array([0.0, -0.0, 2.0]), FP64)
    for made in (1.0 / x, ops.reciprocal(x), ops.rsqrt(x), ops.power(x, -1.0)):
        assert MACHINE.reals(made).kind.tolist()[:2] == [UNKNOWN, UNKNOWN]


def test_undecided_choices_are_hulls():
    x = MACHINE.tensor(np.array([3.0]), FP64)
    same = ops.exp(ops.log(x)) < x
    found = MACHINE.reals(ops.where(same, -7.0 * x, x))
    assert found.hi[0] - found.radius[0] <= -21.0
    assert found.hi[0] + found.radius[0] >= 3.0
    assert math.isfinite(found.radius[0])
