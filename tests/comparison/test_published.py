"""Every published standard against its source: its own numbers, its own formula restated, arrays just in and just out.

What a source lets through is written down too: a test shows the fault that passes, and that `auto` catches it.
"""

import ast
import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precdiff import round_array
from precdiff.comparison import STANDARDS, Expected, Limits, compare_tensor
from precdiff.comparison.elements import CHUNK
from precdiff.comparison.standards import cann_dual, cuda_math, opencl_full
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import carrier, from_bits, get_format
from tests.comparison import vendor

DATA = Path(__file__).parent / "data" / "accuracy_profiles.json"
ROOT = Path(__file__).parents[2]
MSPROBE = Path(os.environ.get("PRECDIFF_CASES", ROOT / "../shared/cases")) / "msprobe" / "results"

NAMED_BY_THE_ISSUE = """auto ulp allclose bitwise bound snr-floor ascend-sample cann-mixed cann-threshold
    cann-dual-l0 cann-dual-l1 cann-dual-l2 msprobe-ulp msprobe-compare msprobe-api torch onnx-backend opencl-full
    cuda-math""".split()


def judged(standard, actual, expected, format="fp16", **limits):
    """Actual as values of the format; expected as they are, or an Expected."""
    values = carrier(round_array(np.asarray(actual, np.float64), format))
    peer = limits.pop("peer", None)
    if peer is not None:
        limits["peer"] = carrier(round_array(np.asarray(peer, np.float64), format))
    wanted = expected if isinstance(expected, Expected) else Expected.reals(np.asarray(expected, np.float64))
    return compare_tensor(values, wanted, format, standard, Limits(**limits)).row


def rounded(values, format):
    return np.asarray(carrier(round_array(np.asarray(values, np.float64), format)), np.float64)


def test_every_standard_that_was_asked_for_is_there():
    assert set(NAMED_BY_THE_ISSUE) <= {name for name, _ in STANDARDS.items()}


@pytest.mark.parametrize("name", [name for name, _ in STANDARDS.items()])
def test_every_standard_says_what_it_asks_where_its_numbers_are_from_and_what_it_cannot_see(name):
    account = STANDARDS[name].account

    assert account.asks
    assert account.numbers
    assert account.source
    assert account.blind


def test_opencl_s_table_is_the_published_one():
    published = json.loads(DATA.read_text())["opencl_cts"]["ulp"]

    assert {
        name: tuple(row[format] for format in opencl_full.FORMATS) for name, row in published.items()
    } == opencl_full.TABLE


def test_cuda_s_table_is_the_published_one():
    published = json.loads(DATA.read_text())["cuda_fp32"]["ulp"]

    assert {name: (float(limit),) for name, limit in published.items() if "no prec" not in name} == cuda_math.TABLE


# --- just inside and just outside, from the numbers as published -------------------------------------------------

HALF, BF, SINGLE = 2.0**-10, 2.0**-7, 2.0**-23


def one_off(size, count, error, base=1.0):
    """`count` elements of `size` off by `error`."""
    actual = np.full(size, base)
    actual[:count] += error
    return actual, np.full(size, base)


def alternating(size, error):
    """Errors of both signs, that leave the cosine alone."""
    return 1.0 + error * np.resize([1.0, -1.0], size), np.ones(size)


#: standard, format, (actual, expected), verdict
EDGES = [
    ("torch", "fp16", one_off(9, 1, HALF), "pass"),  # 9.77e-4 <= 1.01e-3
    ("torch", "fp16", one_off(9, 1, 2 * HALF), "fail"),
    ("torch", "bf16", one_off(9, 1, 2 * BF), "pass"),  # 0.015625 <= 0.01601
    ("torch", "bf16", one_off(9, 1, 3 * BF), "fail"),
    ("torch", "fp32", one_off(9, 1, 94 * SINGLE), "pass"),  # 1.1206e-5 <= 1.13e-5
    ("torch", "fp32", one_off(9, 1, 95 * SINGLE), "fail"),
    ("torch", "fp16", one_off(9, 1, 2.0**-17, 0.0), "pass"),  # 7.6e-6 <= 1e-5
    ("torch", "fp16", one_off(9, 1, 2.0**-16, 0.0), "fail"),
    ("torch", "fp16", ([math.nan, 1.0], [math.nan, 1.0]), "fail"),
    ("onnx-backend", "fp16", one_off(9, 1, HALF), "pass"),
    ("onnx-backend", "fp16", one_off(9, 1, 2 * HALF), "fail"),
    ("onnx-backend", "fp32", one_off(9, 1, 8389 * SINGLE), "pass"),  # 1.00005e-3 <= 1.0001e-3
    ("onnx-backend", "fp32", one_off(9, 1, 8390 * SINGLE), "fail"),
    ("onnx-backend", "fp16", ([math.nan, 1.0], [math.nan, 1.0]), "pass"),
    ("ascend-sample", "fp16", one_off(3000, 3, 1.0), "pass"),  # 1e-3 of the elements
    ("ascend-sample", "fp16", one_off(3000, 4, 1.0), "fail"),
    ("ascend-sample", "fp16", one_off(100, 100, HALF), "pass"),
    ("ascend-sample", "fp16", one_off(100, 100, 2 * HALF), "fail"),
    ("ascend-sample", "fp16", one_off(100, 100, 2.0**-17, 0.0), "pass"),
    ("ascend-sample", "fp16", one_off(100, 100, 2.0**-16, 0.0), "fail"),
    ("ascend-sample", "bf16", one_off(3000, 3, 1.0), "pass"),
    ("ascend-sample", "bf16", one_off(3000, 4, 1.0), "fail"),
    ("ascend-sample", "bf16", one_off(100, 100, 2.0**-10, 0.0), "pass"),  # 9.77e-4 <= 1e-3
    ("ascend-sample", "bf16", one_off(100, 100, 2.0**-10 + 2.0**-17, 0.0), "pass"),
    ("ascend-sample", "bf16", one_off(100, 100, 2.0**-9, 0.0), "fail"),
    ("ascend-sample", "fp32", one_off(30000, 3, 1.0), "pass"),
    ("ascend-sample", "fp32", one_off(30000, 4, 1.0), "fail"),
    ("ascend-sample", "fp32", one_off(100, 100, 1677 * SINGLE), "pass"),  # 1.9991e-4 <= 2e-4
    ("ascend-sample", "fp32", one_off(100, 100, 1678 * SINGLE), "fail"),
    ("cann-mixed", "fp16", one_off(100, 100, 4 * HALF), "pass"),  # 2^-8 = atol + rtol
    ("cann-mixed", "fp16", one_off(1000, 10, 5 * HALF), "pass"),
    ("cann-mixed", "fp16", one_off(1000, 11, 5 * HALF), "fail"),
    ("cann-mixed", "fp16", one_off(100, 1, 102 * HALF), "pass"),  # 0.0996 <= 0.1
    ("cann-mixed", "fp16", one_off(100, 1, 103 * HALF), "fail"),
    ("cann-mixed", "fp16", one_off(100, 1, 32.0, 1024.0), "pass"),  # 32 ULP at 1024
    ("cann-mixed", "fp16", one_off(100, 1, 33.0, 1024.0), "fail"),
    ("cann-mixed", "bf16", one_off(100, 100, 4 * BF), "pass"),
    ("cann-mixed", "bf16", one_off(100, 2, 5 * BF), "fail"),
    ("cann-mixed", "bf16", one_off(100, 1, 1.0), "pass"),
    ("cann-mixed", "bf16", one_off(100, 1, 1.0 + 2 * BF), "fail"),
    ("cann-mixed", "fp32", one_off(100, 100, 2.0**-10 + 2.0**-16), "pass"),
    ("cann-mixed", "fp32", one_off(100, 2, 2.0**-10 + 2.0**-16 + SINGLE), "fail"),
    ("cann-mixed", "fp32", one_off(100, 1, 0.0099), "pass"),
    ("cann-mixed", "fp32", one_off(100, 1, 0.0101), "fail"),
    ("cann-mixed", "hf32", one_off(100, 100, 2.0**-10 + 2.0**-9), "pass"),
    ("cann-mixed", "hf32", one_off(100, 2, 2.0**-10 + 2.0**-9 + 2.0**-11), "fail"),
    ("cann-mixed", "hf32", one_off(100, 1, 204 * 2.0**-11), "pass"),  # 0.0996 <= 0.1
    ("cann-mixed", "hf32", one_off(100, 1, 205 * 2.0**-11), "fail"),
    ("cann-threshold", "fp32", ([0.999e-7 * 2.0**-13], [0.0]), "pass"),  # relative to |r| + 1e-7
    ("cann-threshold", "fp32", ([1.001e-7 * 2.0**-13], [0.0]), "fail"),
    ("cann-threshold", "fp16", one_off(64, 32, HALF), "pass"),
    ("cann-threshold", "fp16", one_off(64, 64, 2 * HALF), "fail"),
    ("cann-threshold", "fp16", one_off(64, 1, 10 * HALF), "pass"),  # 10 T is not reached: |r| + 1e-7
    ("cann-threshold", "fp16", one_off(64, 1, 11 * HALF), "fail"),
    ("cann-threshold", "bf16", one_off(64, 1, 9 * BF), "pass"),
    ("cann-threshold", "bf16", one_off(64, 1, 11 * BF), "fail"),
    ("cann-threshold", "fp32", one_off(64, 64, 2.0**-13 - SINGLE), "pass"),
    ("cann-threshold", "fp32", one_off(64, 64, 2.0**-13 + 2 * SINGLE), "fail"),
    ("cann-threshold", "hf32", one_off(64, 1, 5 * 2.0**-10), "pass"),  # 10 T = 5 * 2^-10, less 1e-7
    ("cann-threshold", "hf32", one_off(64, 1, 6 * 2.0**-10), "fail"),
    ("cann-threshold", "e4m3fn", one_off(64, 1, 1.0), "pass"),  # 10 T = 1.25
    ("cann-threshold", "e4m3fn", one_off(64, 1, 1.5), "fail"),
    ("cann-threshold", "e5m2", one_off(64, 1, 2.5), "pass"),  # 10 T = 2.5, and |r| + 1e-7 takes it below
    ("cann-threshold", "e5m2", one_off(64, 1, 3.0), "fail"),
    ("msprobe-ulp", "fp16", one_off(5000, 4, 2 * HALF), "pass"),
    ("msprobe-ulp", "fp16", one_off(5000, 5, 2 * HALF), "fail"),  # 0.001 is not below 0.001
    ("msprobe-ulp", "fp16", one_off(5000, 5000, HALF), "pass"),
    ("msprobe-ulp", "bf16", one_off(5000, 4, 2 * BF), "pass"),
    ("msprobe-ulp", "bf16", one_off(5000, 5, 2 * BF), "fail"),
    ("msprobe-ulp", "fp32", one_off(100, 100, 63 * SINGLE), "pass"),
    ("msprobe-ulp", "fp32", one_off(100, 100, 64 * SINGLE), "fail"),
    ("msprobe-ulp", "fp32", one_off(100, 4, 9000 * SINGLE), "pass"),
    ("msprobe-ulp", "fp32", one_off(100, 5, 9000 * SINGLE), "fail"),
    ("msprobe-compare", "fp32", (np.r_[np.full(99, 1.0), 1.9], np.ones(100)), "pass"),
    ("msprobe-compare", "fp32", (np.r_[np.full(99, 100.0), 101.0], np.full(100, 100.0)), "pass"),
    ("msprobe-compare", "fp32", (np.r_[np.full(99, 100.0), 101.01], np.full(100, 100.0)), "fail"),
    ("msprobe-compare", "fp32", ([0.0009, 1e-9], [0.0005, 0.00005]), "pass"),  # cosine 0.995
    ("msprobe-compare", "fp32", ([0.0009, 1e-9], [0.0009, 0.00035]), "pass"),  # cosine 0.93, error below 0.001
    ("msprobe-compare", "fp32", ([0.9, 1e-9], [0.9, 0.35]), "fail"),  # the same, larger
    ("msprobe-compare", "fp32", ([0.0025, 0.0], [0.0025, 0.000999]), "pass"),  # the same, about 0.001
    ("msprobe-compare", "fp32", ([0.0025, 0.0], [0.0025, 0.001001]), "fail"),
    ("msprobe-compare", "fp32", ([5e-4, 0.0], [5e-4, 2.42e-4]), "pass"),  # cosine 0.9001
    ("msprobe-compare", "fp32", ([5e-4, 0.0], [5e-4, 2.44e-4]), "fail"),  # cosine 0.8987
    ("msprobe-compare", "fp32", ([0.5, 0.0], [0.5, 0.0712]), "pass"),  # cosine 0.99001
    ("msprobe-compare", "fp32", ([0.5, 0.0], [0.5, 0.0716]), "fail"),  # cosine 0.98990
    ("msprobe-compare", "fp32", ([0.0009, 1e-9], [0.0004, 0.0004]), "fail"),  # cosine 0.71
    ("msprobe-compare", "fp32", ([0.0, 0.0], [0.0, 0.0]), "pass"),
    ("msprobe-compare", "fp32", ([0.0, 0.0], [1e-5, 0.0]), "fail"),
    ("msprobe-compare", "fp32", ([1.5], [1.0]), "pass"),  # a single element has no cosine
    ("msprobe-api", "fp16", alternating(100, 10 * HALF), "pass"),  # all below 0.01: a warning
    ("msprobe-api", "fp16", alternating(100, 11 * HALF), "fail"),
    ("msprobe-api", "fp32", alternating(100, 8388 * SINGLE), "pass"),
    ("msprobe-api", "fp32", alternating(100, 8390 * SINGLE), "fail"),
    ("msprobe-api", "bf16", ([1e-4, 1.06e-4], [1e-4, 1e-4]), "pass"),  # six ULP: below 0.001 at once
    ("msprobe-api", "fp16", ([1.0, 0.001], [1.0, 1.0]), "fail"),  # cosine 0.71
]


@pytest.mark.parametrize(("standard", "format", "arrays", "wanted"), EDGES)
def test_just_inside_and_just_outside(standard, format, arrays, wanted):
    assert judged(standard, *arrays, format).verdict == wanted


#: standard, format, rtol, atol: as the sources print them
TOLERANCES = [
    ("torch", "fp16", 1e-3, 1e-5),
    ("torch", "bf16", 1.6e-2, 1e-5),
    ("torch", "fp32", 1.3e-6, 1e-5),
    ("torch", "fp64", 1e-7, 1e-7),
    *(("onnx-backend", format, 1e-3, 1e-7) for format in ("fp16", "bf16", "fp32", "fp64")),
    ("ascend-sample", "fp16", 1e-3, 1e-5),
    ("ascend-sample", "bf16", 1e-3, 1e-3),
    ("ascend-sample", "fp32", 1e-4, 1e-4),
    ("cann-mixed", "fp16", 2**-9, 2**-9),
    ("cann-mixed", "bf16", 2**-6, 2**-6),
    ("cann-mixed", "fp32", 2**-10, 2**-16),
    ("cann-mixed", "hf32", 2**-9, 2**-10),
]


@pytest.mark.parametrize("actual", [0.0, 1.0, 8.0])
@pytest.mark.parametrize(("standard", "format", "rtol", "atol"), TOLERANCES)
def test_every_tolerance_is_met_to_a_thousandth(standard, format, rtol, atol, actual):
    """The expected value that lies f times the tolerance from an actual one: r - a = f (atol + rtol r)."""
    verdicts = [
        judged(standard, np.full(9, actual), np.full(9, (actual + f * atol) / (1 - f * rtol)), format).verdict
        for f in (0.999, 1.001)
    ]

    assert verdicts == ["pass", "fail"]


#: standard, format, relative errors of 1,000 elements just inside and just outside; everything else is exact
RELATIVE = [
    *(
        ("cann-threshold", format, np.full(1000, f * most), verdict)
        for format, most in (("fp16", 2**-10), ("bf16", 2**-7), ("fp32", 2**-13), ("hf32", 2**-11), ("e4m3fn", 2**-3))
        for f, verdict in ((0.999, "pass"), (1.001, "fail"))
    ),
    *(
        ("cann-threshold", format, np.r_[10 * f * most, np.zeros(999)], verdict)
        for format, most in (("fp16", 2**-10), ("bf16", 2**-7), ("fp32", 2**-13), ("hf32", 2**-11), ("e5m2", 2**-2))
        for f, verdict in ((0.999, "pass"), (1.001, "fail"))
    ),
    *(
        ("msprobe-api", format, np.where(np.arange(1000) < count, 1.001, 0.999) * below, verdict)
        for format, below in (("fp16", 0.01), ("fp32", 0.001), ("fp64", 0.001))
        for count, verdict in ((below * 1000 - 1, "pass"), (below * 1000, "fail"))
    ),
]


@pytest.mark.parametrize(("standard", "format", "relative", "wanted"), RELATIVE)
def test_every_relative_error_is_met_to_a_thousandth(standard, format, relative, wanted):
    """Expected values around an actual one that is large enough for what is added to the denominator not to count."""
    actual = 16.0

    assert judged(standard, np.full(relative.size, actual), actual / (1 + relative), format).verdict == wanted


# --- against the sources' own formulas, on arrays that lie on both sides of every limit ---------------------------

ULP = {"fp16": (10, -14), "bf16": (7, -126), "fp32": (23, -126)}


@st.composite
def sides(draw, format):
    """Expected reals over many binades, and two sides whose errors in ULP are of a drawn size, some of them large."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, mantissa = draw(st.sampled_from([40, 400, 3000])), ULP[format][0]
    scale = 2.0 ** draw(st.integers(-12, 6))
    truth = rng.normal(0, scale, size) + draw(st.sampled_from([0.0, 0.0, 3.0])) * scale
    truth[rng.random(size) < 0.05] = 0.0

    def side():
        unit = 2.0**-mantissa * np.abs(truth) * 10.0 ** draw(st.floats(-1, 2.5))
        error = unit * rng.normal(0, 1, size)
        wrong = rng.random(size) < draw(st.sampled_from([0.0, 0.0005, 0.002, 0.01, 0.05]))
        error[wrong] += draw(st.sampled_from([1e-4, 1e-2, 0.5, 20.0])) * scale
        return rounded(truth + error, format)

    return truth, side(), side()


def quanta(truth, format):
    mantissa, emin = ULP[format]
    with np.errstate(divide="ignore"):
        return 2.0 ** (np.maximum(np.floor(np.log2(np.abs(truth))), emin) - mantissa)


#: standard, formats, the source's verdict of (a, b, r, format)
RESTATED = {
    "ascend-sample": lambda a, b, r, f: vendor.isclose(
        a, r, *{"fp16": (1e-3, 1e-5, 1e-3), "bf16": (1e-3, 1e-3, 1e-3), "fp32": (1e-4, 1e-4, 1e-4)}[f]
    ),
    "onnx-backend": lambda a, b, r, f: np.allclose(a, r, 1e-3, 1e-7),
    "torch": lambda a, b, r, f: np.allclose(
        a, r, *{"fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "fp32": (1.3e-6, 1e-5)}[f]
    ),
    "cann-mixed": lambda a, b, r, f: vendor.mixed(
        a, r, *{"fp16": (2**-9, 2**-9, 0.1), "bf16": (2**-6, 2**-6, 1), "fp32": (2**-10, 2**-16, 0.01)}[f], quanta(r, f)
    ),
    "cann-threshold": lambda a, b, r, f: vendor.threshold(a, r, {"fp16": 2**-10, "bf16": 2**-7, "fp32": 2**-13}[f]),
    "msprobe-ulp": lambda a, b, r, f: vendor.ulp_passes(a, r, *ULP[f], f == "fp32", b),
    "msprobe-compare": lambda a, b, r, f: vendor.reached(a, r),
    "msprobe-api": lambda a, b, r, f: (
        vendor.api(a, r, {"fp16": 2**-23, "bf16": 2**-8, "fp32": 2**-52}[f], f == "fp32") != "error"
    ),
    **{
        f"cann-dual-{level}": lambda a, b, r, f, limits=limits: vendor.dual(
            a, b, r, {"fp16": 2**-11, "bf16": 2**-8, "fp32": 2**-14}[f], {"fp32": 2**-30}.get(f, 2**-16), limits
        )
        for level, limits in {"l0": (10, 2, 2, 2), "l1": (5, 1.5, 1.5, 2), "l2": (2, 1.2, 1.2, 2)}.items()
    },
}


@pytest.mark.parametrize("format", list(ULP))
@pytest.mark.parametrize("standard", list(RESTATED))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_verdict_is_that_of_the_source_s_own_formula(standard, format, data):
    truth, actual, peer = data.draw(sides(format))
    needs_peer = standard.startswith("cann-dual") or standard == "msprobe-ulp"
    row = judged(standard, actual, truth, format, **({"peer": peer} if needs_peer else {}))

    assert row.verdict == ("pass" if RESTATED[standard](actual, peer, truth, format) else "fail")


@pytest.mark.parametrize("standard", list(RESTATED))
def test_both_verdicts_are_met_by_the_arrays_above(standard):
    """The comparison above means something: the drawn sides lie on both sides of the rule."""
    rng, found = np.random.default_rng(0), set()
    for power in np.linspace(-1, 4, 60):
        truth = rng.normal(0, 0.1, 400) + 1.0
        sides = [rounded(truth * (1 + rng.normal(0, s, 400) * 2.0**-10), "fp16") for s in (10.0**power, 1.0)]
        found.add(bool(RESTATED[standard](*sides, truth, "fp16")))

    assert found == {True, False}


@pytest.mark.parametrize("standard", [name for name in RESTATED if not name.startswith("cann-dual")])
def test_a_verdict_of_many_chunks_is_that_of_the_formula(standard):
    rng = np.random.default_rng(7)
    truth = rng.normal(0, 1, 2 * CHUNK + 77)
    actual = rounded(truth * (1 + rng.normal(0, 2.0**-11, truth.size)), "fp16")
    row = judged(standard, actual, truth)

    assert row.verdict == ("pass" if RESTATED[standard](actual, None, truth, "fp16") else "fail")


@pytest.mark.parametrize("standard", list(RESTATED))
def test_a_failing_tensor_names_the_elements_that_make_it_fail(standard):
    rng = np.random.default_rng(3)
    truth = rng.normal(0, 1, 500) + 2.0
    actual = rounded(truth * (1 + 0.4 * rng.normal(0, 1, 500)), "fp16")
    row = judged(standard, actual, truth, **({"peer": rounded(truth, "fp16")} if "dual" in standard else {}))

    assert row.verdict == "fail"
    assert 0 < row.over_limit <= 500
    assert row.worst


# --- msprobe on its own recorded rows ------------------------------------------------------------------------------

NAMES = {"torch.float16": "fp16", "torch.bfloat16": "bf16", "torch.float32": "fp32"}


@pytest.mark.skipif(
    not MSPROBE.exists(), reason="msprobe's recorded results: set PRECDIFF_CASES to the folder of cases"
)
def test_msprobe_s_own_verdicts_and_figures_are_reached_on_its_recorded_rows():
    for row in json.loads((MSPROBE / "acc_check_metrics.json").read_text()):
        format = get_format(NAMES[row["dtype"]])
        codes = np.array(row["device_bits"], np.int64) % (1 << format.bits)
        actual = from_bits(codes.astype(format.storage), format)
        expected = Expected.reals(np.array([float.fromhex(x) for x in row["bench"]]))
        api = compare_tensor(actual, expected, format, "msprobe-api").row
        status = "error" if api.verdict == "fail" else "warning" if api.extra.get("warning") else "pass"
        assert status == row["status"]
        if row["kind"] != "special":  # figures with NaN in them are none
            ulp = compare_tensor(actual, expected, format, "msprobe-ulp").row
            figures = row["metrics"]["ulp"]
            assert ulp.max_ulp == pytest.approx(figures["max_ulp_error"], rel=1e-6)
            assert ulp.mean_ulp == pytest.approx(figures["mean_ulp_error"], rel=1e-6)
            assert f"share {figures['ulp_error_proportion']:.4g}" in ulp.rule


#: format, gate of an error, gate of a warning, what is added to |expected|
GATES = [
    ("fp16", 0.01, 0.001, 2**-23),
    ("bf16", 0.01, 0.001, 2**-8),
    ("fp32", 0.001, 0.0001, 2**-52),
    ("fp64", 0.001, 0.0001, 2**-52),
]


def misses(count, below, eps, f, size=10000):
    """Values around 160, all but `count` exact; the last miss is at f times the gate, at a value of eps' size.

    An actual 0 for an expected r has the relative error r / (r + eps).
    """
    actual, expected = np.full(size, 160.0), np.full(size, 160.0)
    expected[: count - 1] = 160.0 / (1 + 1.01 * below)
    actual[count], expected[count] = 0.0, eps * f * below / (1 - f * below)
    expected[count + 1] = 160.0 / (1 + 0.5 * below)  # an error above 0.001, that no gate is skipped
    return actual, expected


@pytest.mark.parametrize(("format", "error", "warning", "eps"), GATES)
def test_every_gate_of_msprobe_s_check_is_met_to_a_thousandth(format, error, warning, eps):
    count = round(error * 10000)

    assert judged("msprobe-api", *misses(count, error, eps, 0.999), format).verdict == "pass"
    assert judged("msprobe-api", *misses(count, error, eps, 1.001), format).verdict == "fail"


@pytest.mark.parametrize(("format", "error", "warning", "eps"), GATES)
def test_a_warning_of_msprobe_is_a_pass_that_says_so(format, error, warning, eps):
    count = round(warning * 10000)
    for f, warns in ((0.999, False), (1.001, True)):
        row = judged("msprobe-api", *misses(count, warning, eps, f), format)
        assert (row.verdict, bool(row.extra.get("warning")), "a warning" in row.rule) == ("pass", warns, warns)


# --- a peer --------------------------------------------------------------------------------------------------------


def test_a_peer_that_is_no_better_lets_msprobe_s_ulp_rule_pass():
    actual, truth = one_off(1000, 10, 2 * HALF)
    worse = one_off(1000, 11, 2 * HALF)[0]

    assert judged("msprobe-ulp", actual, truth).verdict == "fail"
    assert judged("msprobe-ulp", actual, truth, peer=worse).verdict == "pass"
    assert judged("msprobe-ulp", actual, truth, peer=actual).verdict == "fail"


def test_an_expected_zero_has_the_ulp_of_one_under_msprobe():
    """2^-10 in fp16: 1 ULP of 0 as msprobe counts, 16,384 of those the format has there."""
    assert judged("msprobe-ulp", [HALF], [0.0]).verdict == "pass"
    assert judged("msprobe-ulp", [HALF * (1 + HALF)], [0.0]).verdict == "fail"


def test_the_floor_of_msprobe_s_shares_lets_bf16_pass_beside_an_exact_peer():
    """0.0038 of the elements are too many, but below 2^-8, the floor under the peer's share."""
    for count, wanted in ((19, "pass"), (20, "fail")):
        actual, truth = one_off(5000, count, 2 * BF)
        assert judged("msprobe-ulp", actual, truth, "bf16").verdict == "fail"
        assert judged("msprobe-ulp", actual, truth, "bf16", peer=truth).verdict == wanted


@pytest.mark.parametrize("level", ["l0", "l1", "l2"])
def test_the_dual_standard_needs_a_peer(level):
    with pytest.raises(NotComparableError, match=r"compares with what a peer gave .* --peer FILE"):
        judged(f"cann-dual-{level}", [1.0], [1.0])


def test_a_peer_of_another_shape_is_refused():
    with pytest.raises(NotComparableError, match="the peer of tensor"):
        judged("cann-dual-l0", [1.0, 2.0], [1.0, 2.0], peer=[1.0])


#: level, error of one element of 4 in units of the floor, the peer being exact; own / max(peer's, 2^-11)
@pytest.mark.parametrize(
    ("level", "units", "wanted"),
    [
        ("l0", 10, "pass"),
        ("l0", 12, "fail"),
        ("l1", 4, "pass"),
        ("l1", 6, "fail"),
        ("l2", 2, "pass"),
        ("l2", 4, "fail"),
    ],
)
def test_errors_below_the_floor_count_as_the_floor(level, units, wanted):
    """1 ULP is two floors; 64 exact elements keep mean and RMS small, so the largest error decides."""
    actual, truth = one_off(4096, 1, units * 2.0**-11)

    assert judged(f"cann-dual-{level}", actual, truth, peer=truth).verdict == wanted


@pytest.mark.parametrize("level", ["l0", "l1", "l2"])
@pytest.mark.parametrize(("own", "peers", "wanted"), [(2, 0, "pass"), (3, 0, "fail"), (4, 2, "pass"), (5, 2, "fail")])
def test_small_values_are_counted_against_the_peer_s(level, own, peers, wanted):
    """fp16: |expected| below 2^-11 is small, an error above 2^-16 counts; twice the peer's passes."""
    actual, truth = one_off(100, own, 2.0**-15, 2.0**-12)
    row = judged(f"cann-dual-{level}", actual, truth, peer=one_off(100, peers, 2.0**-15, 2.0**-12)[0])

    assert row.verdict == wanted
    assert judged("cann-dual-l1", one_off(100, 100, 2.0**-16, 2.0**-12)[0], truth, peer=truth).verdict == "pass"


#: what makes one figure the one that decides: own and peer's errors, such that it alone is at its ratio
SHAPES = {
    "MARE": (np.r_[1.0, np.zeros(999)], np.ones(1000)),
    "MERE": (np.ones(1000), np.r_[np.full(500, 2.0), np.zeros(500)]),
    "RMSE": (np.r_[np.full(500, math.sqrt(2.0)), np.zeros(500)], np.ones(1000)),
}


@pytest.mark.parametrize(("level", "limits"), [("l0", (10, 2, 2)), ("l1", (5, 1.5, 1.5)), ("l2", (2, 1.2, 1.2))])
@pytest.mark.parametrize("figure", list(SHAPES))
def test_every_ratio_of_every_level_is_met_to_a_hundredth(level, limits, figure):
    own, peers = SHAPES[figure]
    truth, unit, verdicts = np.full(1000, 2.0), 2.0**-6, []
    for f in (0.99, 1.01):
        actual, peer = (truth * (1 + unit * shape) for shape in (f * limits[list(SHAPES).index(figure)] * own, peers))
        verdicts.append(judged(f"cann-dual-{level}", actual, truth, "fp32", peer=peer).verdict)

    assert verdicts == ["pass", "fail"]


#: format, below which |expected| is small, error from which that counts, spacing at 1
SMALL = [
    ("fp16", 2**-11, 2**-16, 2**-10),
    ("bf16", 2**-8, 2**-16, 2**-7),
    ("fp32", 2**-14, 2**-30, 2**-23),
    ("hf32", 2**-12, 2**-28, 2**-11),
]


@pytest.mark.parametrize(("level", "most"), [("l0", 10), ("l1", 4), ("l2", 2)])  # 5 floors lie between two fp16 numbers
@pytest.mark.parametrize(("format", "small", "tiny", "spacing"), SMALL)
def test_the_floor_under_the_peer_s_error_is_where_small_values_begin(format, small, tiny, spacing, level, most):
    verdicts = []
    for units in (most, most + (1 if level == "l1" else 0) + spacing / small):
        actual, truth = one_off(4096, 1, units * small)
        verdicts.append(judged(f"cann-dual-{level}", actual, truth, format, peer=truth).verdict)

    assert verdicts == ["pass", "fail"]


@pytest.mark.parametrize(("format", "small", "tiny", "spacing"), SMALL)
def test_an_error_of_a_small_value_counts_above_its_own_limit(format, small, tiny, spacing):
    for error, wanted in ((tiny, "pass"), (1.5 * tiny, "fail")):
        actual, truth = one_off(100, 3, error, 0.0)
        assert judged("cann-dual-l0", actual, truth, format, peer=truth).verdict == wanted


def runs_of(count, own, peers, seed=0, size=64):
    """`count` runs of one case: errors of both sides of that many ULP, other every time."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(1, 2, (count, size))
    shift = [
        scale * HALF * rng.uniform(0.5, 1.0, (count, size)) * rng.choice([-1, 1], (count, size))
        for scale in (own, peers)
    ]
    return truth, rounded(truth + shift[0], "fp16"), rounded(truth + shift[1], "fp16")


@pytest.mark.parametrize(
    ("count", "own", "peers", "wanted"),
    [(200, 8, 12, "pass"), (200, 12, 8, "fail"), (199, 8, 12, "fail"), (1000, 10, 8, "fail")],
)
def test_a_case_beyond_its_ratios_is_checked_again_over_its_runs(count, own, peers, wanted):
    truth, actual, peer = runs_of(count, own, peers)
    actual[0, 0] += 4.0  # one run beyond every ratio, so that the second check is what decides
    row = judged("cann-dual-l2", actual, truth, peer=peer, runs=True)

    assert row.verdict == wanted
    assert ("fewer than 200 fail" if count < 200 else "95 % lower bounds of the medians") in row.rule


def test_the_second_check_s_bound_is_the_bootstrap_s():
    truth, actual, peer = runs_of(300, 3, 2.9)
    ratios = np.array(
        [vendor.dual_ratios(a, b, r, 2**-11, 2**-16) for a, b, r in zip(actual, peer, truth, strict=True)]
    )
    for figure in ratios.T[:3]:
        assert cann_dual.lower_bound(figure) == pytest.approx(vendor.bootstrap(figure, 1), rel=0.01)


def test_each_run_is_judged_by_its_own_ratios_also_across_chunks():
    """Runs of 100 elements do not end where chunks do."""
    truth, actual, peer = runs_of(1000, 3, 2.5, size=100)
    limits = Limits(peer=np.float32(peer), runs=True)
    dual = cann_dual.STANDARDS["cann-dual-l1"].whole(limits, get_format("fp16"), truth.shape)
    kept = []
    standard = cann_dual.Standard(
        "kept", lambda *g: "", cann_dual.judge, takes=("peer", "runs"), whole=lambda *g: kept.append(dual) or dual
    )
    compare_tensor(np.float32(actual), Expected.reals(truth), "fp16", standard, limits)
    wanted = [vendor.dual_ratios(a, b, r, 2**-11, 2**-16) for a, b, r in zip(actual, peer, truth, strict=True)]

    assert pytest.approx(np.array(wanted), rel=1e-12) == kept[0].ratios()[0].T
    assert pytest.approx(np.array(wanted), rel=1e-12) == kept[0].ratios()[1].T


def test_without_runs_there_is_no_second_check_and_the_rule_says_so():
    truth, actual, peer = runs_of(300, 12, 8)

    assert "no second check: its 1,000 runs were not given" in judged("cann-dual-l2", actual, truth, peer=peer).rule


# --- limits by function -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("standard", "op", "format", "units", "base", "wanted"),
    [
        ("opencl-full", "exp", "fp32", 3, 1.5, "pass"),
        ("opencl-full", "exp", "fp32", 4, 1.5, "fail"),
        ("opencl-full", "exp", "fp16", 2, 1.5, "pass"),
        ("opencl-full", "exp", "fp16", 3, 1.5, "fail"),
        ("opencl-full", "exp", "fp64", 3, 1.5, "pass"),
        ("opencl-full", "exp", "fp64", 4, 1.5, "fail"),
        ("opencl-full", "exp", "fp32", 1, 1.0, "pass"),  # at a power of two the gap below counts: 1 is 2
        ("opencl-full", "exp", "fp32", 2, 1.0, "fail"),
        ("opencl-full", "power", "fp32", 16, 1.5, "pass"),
        ("opencl-full", "power", "fp32", 17, 1.5, "fail"),
        ("opencl-full", "pow", "fp16", 5, 1.5, "fail"),
        ("opencl-full", "div", "fp32", 2, 1.5, "pass"),
        ("opencl-full", "div", "fp32", 3, 1.5, "fail"),
        ("opencl-full", "mul", "fp32", 1, 1.5, "fail"),
        ("opencl-full", "mul", "fp32", 0, 1.5, "pass"),
        ("cuda-math", "exp", "fp32", 2, 1.5, "pass"),
        ("cuda-math", "exp", "fp32", 3, 1.5, "fail"),
        ("cuda-math", "log", "fp32", 1, 1.5, "pass"),
        ("cuda-math", "log", "fp32", 2, 1.5, "fail"),
        ("cuda-math", "power", "fp32", 8, 1.5, "pass"),
        ("cuda-math", "power", "fp32", 9, 1.5, "fail"),
        ("cuda-math", "div", "fp32", 0, 1.5, "pass"),
        ("cuda-math", "div", "fp32", 1, 1.5, "fail"),
    ],
)
def test_the_function_s_own_limit_decides(standard, op, format, units, base, wanted):
    unit = {"fp16": HALF, "fp32": SINGLE, "fp64": 2.0**-52}[format]
    actual = np.array([base, base + units * unit])

    assert judged(standard, actual, [base, base], format, op=op).verdict == wanted


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_opencl_s_ulp_is_that_of_its_conformance_suite(data):
    truth, actual, _ = data.draw(sides("fp16"))
    truth[:8] = 2.0 ** np.arange(-4, 4)
    nearest = rounded(truth, "fp16")
    wanted = vendor.opencl_ulps(actual, truth, 10, -14, nearest) > 2.0
    flushed = (np.abs(truth) < 2.0**-14) & (actual == 0.0)
    values = carrier(round_array(actual, "fp16"))
    found = compare_tensor(values, Expected.reals(truth), "fp16", "opencl-full", Limits(op="exp"))

    assert (found.failing == (wanted & ~flushed)).all()


def test_a_subnormal_may_be_flushed_under_opencl_and_is_counted():
    row = judged("opencl-full", [0.0, 0.0], [2.0**-15, 2.0**-13], op="exp")

    assert (row.verdict, row.over_limit, row.excused) == ("fail", 1, 1)


def test_cuda_measures_from_the_value_rounded_once():
    """exp is allowed 2: 2.5 ULP from the real value is 2 from the rounded one where that lies half an ULP away."""
    real = 1.5 + 0.49 * SINGLE

    assert judged("cuda-math", [1.5 - 2 * SINGLE], [real], "fp32", op="exp").verdict == "pass"
    assert judged("cuda-math", [1.5 + 3 * SINGLE], [real], "fp32", op="exp").verdict == "fail"


@pytest.mark.parametrize("standard", ["opencl-full", "cuda-math"])
def test_a_function_has_to_be_known(standard):
    with pytest.raises(NotComparableError, match=r"--op NAME .* one of .*exp"):
        judged(standard, [1.0], [1.0], "fp32")


@pytest.mark.parametrize(
    ("standard", "op", "format"),
    [("opencl-full", "matmul", "fp32"), ("opencl-full", "exp", "bf16"), ("opencl-full", "lgamma", "fp32"),
     ("cuda-math", "exp", "fp16"), ("cuda-math", "softmax", "fp32")],
)  # fmt: skip
def test_where_the_table_has_no_limit_nothing_is_compared(standard, op, format):
    row = judged(standard, [1.0, 9.0], [1.0, 1.0], format, op=op)

    assert (row.verdict, row.over_limit) == ("not_compared", 0)
    assert row.rule == f"{standard} states no limit for {op} in {format}"


def test_what_the_radius_leaves_open_of_a_function_is_undecided():
    for radius, wanted in ((0.0, "pass"), (0.3, "undecided")):
        hi = np.array([1.5 + 1.9 * SINGLE])
        expected = Expected(hi, np.zeros(1), np.array([radius * SINGLE]), np.zeros(1, np.uint8))
        assert judged("opencl-full", [1.5 + 4 * SINGLE], expected, "fp32", op="log1p").verdict == (
            "undecided" if radius else "fail"
        )
        near_tie = Expected(
            np.array([1.5 + 0.4 * SINGLE]), np.zeros(1), np.array([radius * SINGLE]), np.zeros(1, np.uint8)
        )
        assert judged("cuda-math", [1.5 + SINGLE], near_tie, "fp32", op="log").verdict == wanted


# --- the floor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "decibels"), [("fp16", 73.5), ("bf16", 55.5), ("fp32", 151.8)], ids=["fp16", "bf16", "fp32"]
)
def test_a_correctly_rounded_result_is_at_the_published_floor(format, decibels):
    truth = np.random.default_rng(0).normal(0, 1, 100000)
    row = judged("snr-floor", rounded(truth, format), truth, format)

    assert row.verdict == "pass"
    assert row.snr_db == pytest.approx(decibels, abs=0.25)  # it moves a little with the distribution
    assert ": 0 dB below" in row.rule


@pytest.mark.parametrize(
    ("ulps", "count", "verdict", "warns"),
    [(1, 300, "pass", False), (1, 350, "pass", True), (3, 925, "pass", True), (3, 945, "fail", True)],
)
def test_the_loss_is_the_factor_in_rms_error(ulps, count, verdict, warns):
    """Expected values of the format itself: the floor is 0.29 ULP, 6 dB are a factor 1.995 in RMS, 20 dB a factor 10.

    RMS error: 0.548, 0.592, 2.885 and 2.916 ULP, against 0.579 and 2.9.
    """
    truth = 1.0 + HALF * np.arange(1000)
    actual = truth.copy()
    actual[:count] += ulps * HALF
    row = judged("snr-floor", actual, Expected.array(carrier(round_array(truth, "fp16")), get_format("fp16")))

    assert (row.verdict, bool(row.extra.get("warning"))) == (verdict, warns)


# --- what holds for all of them -----------------------------------------------------------------------------------


def material(name, size=2, value=1.0):
    """What the standard reads beside the two sides."""
    return {key: made for key, made in (("peer", np.full(size, value)), ("op", "exp")) if key in STANDARDS[name].takes}


@pytest.mark.parametrize("name", [name for name, row in STANDARDS.items() if "rtol" not in row.takes])
def test_published_numbers_take_no_tolerances_beside_them(name):
    for tolerance in ({"rtol": 0.1}, {"atol": 0.1}, {"zero_atol": 0.1}):
        with pytest.raises(
            PrecDiffError,
            match=f"standard '{name}' does not read it, its numbers are published",
        ):
            judged(name, [1.0, 1.0], [1.0, 1.0], "fp32", **material(name), **tolerance)


@pytest.mark.parametrize("name", [name for name, row in STANDARDS.items() if row.floats_only])
def test_integers_are_judged_bit_for_bit(name):
    values = np.array([1, 2], np.int32)
    row = compare_tensor(values + np.array([0, 1], np.int32), values, "i32", name).row

    assert (row.verdict, row.over_limit) == ("fail", 1)
    assert compare_tensor(values, values, "i32", name).row.verdict == "pass"


@pytest.mark.parametrize("name", [name for name, row in STANDARDS.items() if "rtol" not in row.takes])
@pytest.mark.parametrize(
    ("actual", "expected"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (-math.inf, math.inf)]
)
def test_nothing_passes_a_value_that_is_not_finite_for_a_number(name, actual, expected):
    row = judged(name, [1.0, actual], [1.0, expected], "fp32", **material(name))

    assert (row.verdict, row.nonfinite.mismatched) == ("fail", 1)


@pytest.mark.parametrize("name", [name for name, row in STANDARDS.items() if "rtol" not in row.takes])
def test_an_empty_tensor_is_never_a_pass(name):
    assert judged(name, [], [], "fp32", **material(name, 0)).verdict == "not_compared"


@pytest.mark.parametrize(
    "name", ["ascend-sample", "cann-mixed", "cann-threshold", "cann-dual-l0", "msprobe-ulp", "msprobe-api"]
)
def test_a_format_the_source_does_not_name_is_refused(name):
    with pytest.raises(NotComparableError, match=f"standard '{name[:9]}.*has no numbers for tf32"):
        judged(name, [1.0], [1.0], "tf32", **material(name, 1))


def known_to(radius, kind=0):
    return Expected(np.full(8, 2.0), np.zeros(8), np.full(8, radius), np.full(8, kind, np.uint8))


@pytest.mark.parametrize("name", [name for name, _ in STANDARDS.items() if name not in ("auto", "bound", "backward")])
@pytest.mark.parametrize(
    "expected",
    [known_to(0.7), known_to(1e300), known_to(math.inf), known_to(math.nan), known_to(0.0, kind=4)],
    ids=["a third", "huge", "inf", "nan", "undecided"],
)
def test_a_radius_wider_than_the_limits_leaves_the_verdict_open(name, expected):
    """No standard can say anything of what is known that badly, and none may."""
    assert judged(name, np.full(8, 2.0), expected, "fp32", **material(name, 8, 2.0)).verdict == "undecided"


@pytest.mark.parametrize("format", ["fp16", "fp32"])
@pytest.mark.parametrize("name", [*RESTATED, "snr-floor", "opencl-full", "bitwise", "ulp"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_verdict_that_stands_within_a_radius_is_that_of_the_true_value(name, format, data):
    """The reference is moved off the truth by up to its radius: it may leave the verdict open, never change it."""
    truth, actual, peer = data.draw(sides(format))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    radius = quanta(truth, format) * 10.0 ** data.draw(st.floats(-3, 1))
    hi = truth + radius * rng.uniform(-1, 1, truth.size)
    limits = material(name) | ({"peer": peer} if "peer" in STANDARDS[name].takes else {})
    known = Expected(hi, np.zeros(hi.shape), radius * 1.000001, np.zeros(hi.shape, np.uint8))
    found = judged(name, actual, known, format, **limits).verdict

    assert found in ("undecided", judged(name, actual, truth, format, **limits).verdict)


@pytest.mark.parametrize("name", [name for name, _ in STANDARDS.items() if name not in ("auto", "bound", "backward")])
def test_a_scalar_is_judged_as_any_tensor(name):
    limits = material(name, 1)
    if "peer" in limits:
        limits["peer"] = limits["peer"].reshape(())

    assert judged(name, 1.0, 1.0, "fp32", **limits).verdict == "pass"


def test_runs_need_an_axis_to_be_counted_along():
    with pytest.raises(NotComparableError, match="runs are counted along the first axis, found a scalar"):
        judged("cann-dual-l0", 1.0, 1.0, "fp32", peer=1.0, runs=True)


# --- what they cannot see -------------------------------------------------------------------------------------------


def stale_tile():
    """One tile of 64 elements that was never written, of 65,536."""
    truth = np.random.default_rng(0).normal(0, 1, 65536)
    actual = rounded(truth, "fp16")
    actual[4096 : 4096 + 64] = rounded(truth[:64], "fp16")
    return actual, truth


def offset():
    """Values around 100 with a constant added: the direction hardly changes."""
    truth = 100.0 + np.random.default_rng(0).normal(0, 1, 4096)
    return rounded(truth + 0.9, "fp16"), truth


def scaled():
    truth = np.random.default_rng(0).normal(0, 0.1, 4096)
    return rounded(truth * 1.01, "fp16"), truth


def one_wrong():
    truth = np.random.default_rng(0).normal(0, 0.1, 65536)
    actual = rounded(truth, "fp16")
    actual[7] += 0.5
    return actual, truth


def tiny_values():
    """Six ULP off everywhere, but small."""
    truth = np.random.default_rng(0).uniform(1e-4, 1.2e-4, 4096)
    return rounded(truth * (1 + 6 * 2.0**-10), "fp16"), truth


@pytest.mark.parametrize(
    ("fault", "blind"),
    [
        (stale_tile, ["ascend-sample"]),
        (offset, ["msprobe-compare"]),
        (scaled, ["msprobe-compare"]),
        (one_wrong, ["msprobe-compare", "ascend-sample", "msprobe-ulp"]),
        (tiny_values, ["msprobe-compare", "msprobe-api", "torch", "ascend-sample", "cann-mixed"]),
    ],
    ids=lambda made: getattr(made, "__name__", ""),
)
def test_known_faults_pass_and_auto_catches_them(fault, blind):
    actual, truth = fault()
    for name in blind:
        assert judged(name, actual, truth).verdict == "pass", name

    assert judged("auto", actual, truth).verdict == "fail"


# --- the libraries themselves --------------------------------------------------------------------------------------


@pytest.mark.torch
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_torch_agrees(data):
    """Where the error is not within 1 % of the limit, since torch rounds both sides to the format."""
    torch = pytest.importorskip("torch")
    format, dtype = data.draw(
        st.sampled_from([("fp16", torch.float16), ("bf16", torch.bfloat16), ("fp32", torch.float32)])
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = rounded(rng.normal(0, 2.0 ** rng.integers(-20, 6), 50), format)
    rtol, atol = {"fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "fp32": (1.3e-6, 1e-5)}[format]
    off = (atol + rtol * np.abs(truth)) * data.draw(st.sampled_from([0.5, 0.9, 1.2, 3.0]))
    actual = rounded(truth + off * rng.choice([-1, 1], 50), format)
    share = np.abs(actual - truth) / (atol + rtol * np.abs(truth))
    clear = (np.abs(share - 1) > 0.01) | (share == 0)
    actual = np.where(clear, actual, truth)
    expected = Expected.array(carrier(round_array(truth, format)), get_format(format))
    try:
        torch.testing.assert_close(torch.tensor(actual).to(dtype), torch.tensor(truth).to(dtype))
        wanted = "pass"
    except AssertionError:
        wanted = "fail"

    assert judged("torch", actual, expected, format).verdict == wanted


def test_the_onnx_backend_s_comparison_agrees():
    rng = np.random.default_rng(0)
    for error in np.geomspace(1e-5, 1e-1, 40):
        truth = rng.normal(0, 1, 30).astype(np.float32)
        actual = (truth * (1 + error * rng.uniform(-1, 1, 30))).astype(np.float32)
        try:
            np.testing.assert_allclose(actual, truth, rtol=1e-3, atol=1e-7)
            wanted = "pass"
        except AssertionError:
            wanted = "fail"
        assert judged("onnx-backend", actual, truth, "fp32").verdict == wanted


@pytest.mark.torch
@pytest.mark.skipif(
    not MSPROBE.exists(), reason="msprobe's recorded results: set PRECDIFF_CASES to the folder of cases"
)
@pytest.mark.parametrize(
    ("table", "folders"), [("bf16_vs_fp32", ("bf16", "fp32")), ("fp32_truncate_vs_fp32", ("fp32_truncate", "fp32"))]
)
def test_figures_and_verdict_of_msprobe_compare_are_those_of_its_recorded_tables(table, folders):
    torch = pytest.importorskip("torch")
    seen = 0
    for row in csv.DictReader((MSPROBE / f"{table}.csv").read_text().splitlines()):
        names = ast.literal_eval(row["Data_name"]) if row["Data_name"].startswith("[") else []
        if len(names) != 2 or "float" not in row["NPU Dtype"] or row["Cosine"] in ("unsupported", "N/A", "nan"):
            continue
        sides = [
            torch.load(next((MSPROBE.parent / folder).rglob(name)), weights_only=True).to(torch.float64).numpy()
            for folder, name in zip(folders, names, strict=True)
        ]
        found = compare_tensor(
            carrier(sides[0].astype(np.float32)), Expected.reals(sides[1]), "fp32", "msprobe-compare"
        ).row
        cosine, largest = float(row["Cosine"]), float(row["MaxAbsErr"])
        zeros = not any(side.any() for side in sides)
        assert zeros or found.cosine == pytest.approx(cosine, abs=1e-6)
        assert found.max_abs == pytest.approx(largest, rel=1e-5, abs=1e-12)
        assert found.rmse * math.sqrt(sides[0].size) == pytest.approx(float(row["EucDist"]), rel=1e-5, abs=1e-11)
        reached = not ((cosine < 0.99 and largest > 0.001) or cosine < 0.9 or largest > 1)
        assert found.verdict == ("pass" if reached else "fail")
        seen += 1

    assert seen > 100
