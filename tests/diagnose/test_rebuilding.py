"""A tensor nobody recorded, rebuilt from outputs: against numpy's own solutions of the same equations."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff import api, kernel, ops
from precdiff.diagnose.deviation import lattice
from precdiff.diagnose.downstream import problem
from precdiff.diagnose.numbers import simplest
from precdiff.diagnose.rebuilding import along, least_squares, rebuilt
from precdiff.formats import get_format

FP32 = get_format("fp32")


@kernel
def mixed(w, x):
    """A linear map of a step."""
    return ops.matmul(w, x * 2.0)


@kernel
def scaled(x):
    return ops.exp(x * 0.5)


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (12, 4), (40, 17)])
def test_least_squares_is_numpys(rows, columns):
    rng = np.random.default_rng(rows)
    matrix, e = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    found = least_squares(lambda z: matrix @ z, lambda r: matrix.T @ r, e, 200)
    exact = np.linalg.lstsq(matrix, e, rcond=None)[0]
    # it ends at a gradient of 1e-6 of the first; that far, times the inverse of J^T J, the solution may be off
    bound = 1e-6 * np.linalg.norm(matrix.T @ e)
    assert np.linalg.norm(matrix.T @ (e - matrix @ found)) <= bound * (1 + 1e-9)
    assert np.linalg.norm(found - exact) <= bound * np.linalg.norm(np.linalg.inv(matrix.T @ matrix), 2) + 1e-12


@pytest.fixture(scope="module")
def linear():
    """(run of `mixed`, its matrix in fp64, what a device gives whose step held other values, those values)."""
    rng = np.random.default_rng(7)
    w = (np.eye(6) * 3 + rng.uniform(-1, 1, (6, 6))).astype(np.float32)
    x = rng.uniform(1, 2, (6, 2)).astype(np.float32)
    declared = api.run(mixed, inputs={"w": w, "x": x}).trace
    held = 2.0 * x.astype(np.float64) * (1 + 0.01 * rng.normal(size=(6, 2)))
    return declared, w.astype(np.float64), (w.astype(np.float64) @ held).astype(np.float32), held


def test_what_the_step_held_solves_the_linear_equations(linear):
    declared, w, device, held = linear
    (out,) = declared.outputs.values()
    row = rebuilt(declared, {out: device}, [out], declared.step("mul"), np.random.default_rng(1))
    exact = np.linalg.solve(w, device.astype(np.float64))
    assert row.explains and row.free == held.size
    np.testing.assert_allclose(row.values, exact, rtol=3e-6)
    # a rounding of the outputs moves the solution by about |w^-1| half an ulp: doubt is of that size
    size = np.linalg.norm(np.linalg.inv(w), axis=1).max() * np.spacing(np.abs(device).max())
    assert (row.doubt > 0).all() and row.doubt.max() < 3 * size


def test_outputs_that_are_no_numbers_tell_nothing(linear):
    declared, _, device, _ = linear
    (out,), rng = declared.outputs.values(), np.random.default_rng(1)
    assert rebuilt(declared, {out: np.full_like(device, np.nan)}, [out], declared.step("mul"), rng) is None


def test_one_number_is_the_weighted_regression():
    """ln y = c x: by Gauss-Newton in y what numpy finds as one regressor's weighted least squares."""
    x = np.random.default_rng(3).uniform(-2, 2, 60).astype(np.float32)
    declared = api.run(scaled, inputs={"x": x}).trace
    (out,) = declared.outputs.values()
    constant = next(s for s in declared.steps if s.op == "constant")
    device = np.exp(0.625 * x.astype(np.float64)).astype(np.float32)
    row = along(declared, {out: device}, [out], constant, np.ones(()))
    assert row.explains and abs(0.5 + float(row.values) - 0.625) < 4 * float(row.doubt)
    slope = x * np.exp(0.625 * x.astype(np.float64)) / np.spacing(device).astype(np.float64)
    assert float(row.doubt) == pytest.approx(row.noise / np.linalg.norm(slope), rel=0.2)


def test_outputs_that_underflowed_are_not_asked():
    x = np.linspace(-40, 4, 45).astype(np.float16)
    declared = api.run(scaled, inputs={"x": x}).trace
    (out,) = declared.outputs.values()
    asked = problem(declared, {out: declared.values[out]}, [out], declared.step("mul"))
    normal = np.exp(0.5 * x.astype(np.float64)) >= 2.0**-14
    assert 0 < normal.sum() < x.size
    np.testing.assert_array_equal(asked.usable, normal)


@pytest.mark.parametrize(("value", "doubt", "first"), [
    (1 / 3, 0.01, 0.33), (3.14159, 0.002, 3.14), (0.7501, 0.001, 0.75), (-0.0999, 0.0002, -0.1), (1e-5, 1e-9, 1e-5),
    (6.02e23, 1e21, 6.02e23),
])  # fmt: skip
def test_the_simplest_number_has_the_fewest_digits(value, doubt, first):
    assert next(simplest(value, doubt)) == first


@given(st.floats(1e-6, 1e6), st.floats(1e-7, 0.1))
def test_simplest_numbers_lie_within_doubt_and_begin_with_the_shortest(value, relative):
    doubt = value * relative
    found = list(itertools.islice(simplest(value, doubt), 12))
    assert found and len(set(found)) == len(found)
    most = Fraction(doubt) * (1 + Fraction(1, 10**6))
    assert all(abs(Fraction(number) - Fraction(value)) <= most for number in found)
    shortest = next(d for d in range(1, 18) if abs(float(f"{value:.{d - 1}e}") - value) <= doubt)
    assert _digits(found[0]) <= shortest


def _digits(number):
    """Significant digits of a number, binary or decimal, whichever are fewer."""
    numerator = Fraction(number).numerator
    binary = (numerator // (numerator & -numerator)).bit_length()
    return min(binary, len(np.format_float_positional(number, trim="-").replace(".", "").strip("0")))


@pytest.mark.parametrize("digits", [4, 7, 11, 15])
def test_a_grid_shows_through_what_is_not_known_exactly(digits):
    rng = np.random.default_rng(digits)
    fraction, exponent = np.frexp(rng.uniform(1, 4, 200))
    on_grid = np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)
    doubt = np.full(200, 2.0 ** -(digits + 4))
    assert lattice(on_grid + doubt * rng.normal(size=200) / 2, doubt, FP32) == digits


@pytest.mark.parametrize("doubt", [1e-6, 1e-4, 1e-2, 1.0])
def test_no_grid_shows_where_there_is_none(doubt):
    x = np.random.default_rng(11).uniform(1, 4, 500)
    assert lattice(x, np.full(500, doubt), FP32) == FP32.p
