"""pow in five variants: special values by IEEE 754-2019 9.2.1, signs, ends of the range, and how accurate each is."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from precdiff.errors import KernelError
from precdiff.formats import get_format, ulp_error
from precdiff.kernels import run_kernel
from precdiff.rounding import Rounding, round_array
from tests.machine.truth import same

VARIANTS = ("v1", "v2", "v3", "v4", "v5")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, math.inf, -math.inf, math.nan]
EXPONENTS = [*SPECIAL, 1.5, -1.5, 2.5]


def run(x, y, variant, fmt, **options):
    return run_kernel(
        "pow", {"x": np.asarray(x), "y": np.asarray(y)}, format=fmt, options={"variant": variant}, **options
    )


def python_pow(x, y):
    """math.pow is C's pow; Python raises where C returns an infinity or NaN."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf
    except ValueError:
        odd = y == math.floor(y) and y % 2 == 1
        return (math.copysign(math.inf, x) if odd else math.inf) if x == 0 else math.nan


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_special_values(variant, fmt):
    """Every pair of special values: signs of zeros and infinities, parity, 1^y, x^0, roots of negative numbers."""
    if fmt == "fp64" and variant in ("v2", "v3", "v4", "v5"):
        return  # they are made of fp32 inside
    x, y = np.array(list(itertools.product(SPECIAL, EXPONENTS))).T
    found = np.asarray(run(x, y, variant, fmt).outputs["out"], np.float64)
    expected = np.array([python_pow(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    exact = (expected == 0) | (np.abs(expected) == 1) | ~np.isfinite(expected)
    wrong = exact & ~same(found, expected)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], found[wrong], expected[wrong], strict=True))[:5]
    # the others are numbers, of the right sign
    assert (np.sign(found[~exact]) == np.sign(expected[~exact])).all()
    assert np.allclose(found[~exact], expected[~exact], rtol=0.05)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_output_format(variant):
    wide = "fp32" if variant in ("v3", "v4", "v5") else "fp16"
    trace = run([2.0], [3.0], variant, "fp16").trace
    assert trace.formats[trace.outputs["out"]] == wide


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(10.0, 5.0, math.inf), (-10.0, 5.0, -math.inf), (10.0, -10.0, 0.0), (-10.0, -9.0, -0.0), (0.001, 3.0, 1e-9)],
)
def test_beyond_the_range_of_fp16(x, y, expected, variant):
    """fp16 overflows at 65,520 and underflows at 2^-25; fp32 outputs do not here."""
    found = float(run([x], [y], variant, "fp16").outputs["out"][0])
    if variant in ("v1", "v2"):
        assert same(found, np.float64(np.float16(expected)) if math.isfinite(expected) else expected)
    else:
        base = np.float64(np.float16(x))
        assert found == pytest.approx(base**y, rel=0.1)


def exact_powers(x, y):
    with mpmath.workprec(200):
        return [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def errors(variant, fmt, x, y):
    """ulp errors against mpmath, as (hi, lo) pairs of fp64."""
    found = run(x, y, variant, fmt)
    out = get_format(found.trace.formats[found.trace.outputs["out"]])
    exact = exact_powers(x, y)
    hi = np.array([float(v) for v in exact])
    lo = np.array([float(v - float(v)) for v in exact])
    return ulp_error(found.trace.values[found.trace.outputs["out"]], (hi, lo), out)


@pytest.mark.parametrize(
    ("variant", "fmt", "low", "high"),
    [
        ("v1", "fp16", 4, 40),
        ("v1", "fp32", 4, 40),
        ("v1", "bf16", 4, 40),
        ("v2", "fp16", 0.4, 0.51),
        ("v2", "bf16", 0.4, 0.51),
        ("v3", "fp16", 1e4, 1e6),
        ("v4", "fp16", 2, 20),
        ("v4", "fp32", 4, 40),
        ("v5", "fp16", 0.5, 2),
        ("v5", "fp32", 0.5, 2),
    ],
)
def test_worst_errors_on_the_example(variant, fmt, low, high):
    """In ulps of the output's format, x in (0.1, 10), y in (-4, 4): v1 is the defect, v2 and v5 are its cures."""
    rng = np.random.default_rng(0)
    x, y = (round_array(rng.uniform(*r, 3000), Rounding(fmt)).astype(np.float64) for r in ((0.1, 10), (-4, 4)))
    worst = float(np.max(errors(variant, fmt, x, y)))
    print(f"pow {variant} {fmt}: worst {worst:.3f} ulp")
    assert low < worst < high


def test_v5_stays_accurate_up_to_the_ends_of_fp32():
    rng = np.random.default_rng(1)
    x = round_array(np.exp2(rng.uniform(-100, 100, 2000)), Rounding("fp32")).astype(np.float64)
    y = round_array(rng.uniform(-1, 1, 2000) * 126 / np.abs(np.log2(x)), Rounding("fp32")).astype(np.float64)
    assert np.max(errors("v5", "fp32", x, y)) < 4


def test_an_unknown_variant_names_the_known():
    with pytest.raises(KernelError, match=r"unknown variant of pow 'v9'.*Known: v1, v2, v3, v4, v5"):
        run([1.0], [1.0], "v9", "fp16")


def test_shapes_broadcast():
    assert run(np.full((3, 1), 2.0), np.arange(4.0), "v1", "fp16").outputs["out"].shape == (3, 4)
