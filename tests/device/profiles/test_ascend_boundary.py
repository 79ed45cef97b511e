"""Rows of the boundary-value appendix of Huawei's asc-devkit (A2/A3): results on special inputs, in both modes.

Expected values are the documentation's, typed in here: one result in INF/NAN mode, one in saturation mode.
"""

import math

import numpy as np
import pytest

from precdiff.device import get_profile
from precdiff.formats import get_format
from precdiff.rounding import add, divide, multiply, round_array, sqrt, subtract

INF_NAN, SATURATION = get_profile("ascend-910b"), get_profile("ascend-910b-sat")
ONLY_SATURATION = get_profile("ascend-910a")
INF, NAN, MAX = math.inf, math.nan, 65504.0
MODES = [(INF_NAN, 0), (SATURATION, 1), (ONLY_SATURATION, 1)]


def product_then_sum(a, b, c, rounding):
    return add(multiply(a, b, rounding), c, rounding)


def reciprocal_root(x, rounding):
    return divide(1.0, sqrt(x, rounding), rounding)


ROWS = [
    ("Add(MAX, MAX)", add, (MAX, MAX), INF, MAX),
    ("Add(-MAX, -MAX)", add, (-MAX, -MAX), -INF, -MAX),
    ("Add(-MAX, inf)", add, (-MAX, INF), INF, MAX),  # the result is normalised, not the operand
    ("Sub(inf, inf)", subtract, (INF, INF), NAN, 0.0),
    ("Div(inf, inf)", divide, (INF, INF), NAN, 0.0),
    ("Div(MAX, 0)", divide, (MAX, 0.0), INF, MAX),
    ("Mul(0, inf)", multiply, (0.0, INF), NAN, 0.0),
    ("Mul(MAX, MAX)", multiply, (MAX, MAX), INF, MAX),
    ("Ln(0)", round_array, (-INF,), -INF, -MAX),
    ("Rsqrt(-0)", reciprocal_root, (-0.0,), -INF, -MAX),
    ("Sqrt(-1)", sqrt, (-1.0,), NAN, 0.0),
    ("Axpy(MAX, MAX, -MAX)", product_then_sum, (MAX, MAX, -MAX), INF, 0.0),
    ("AddReluCast(NaN)", round_array, (NAN,), NAN, 0.0),
    ("Add(0, -0)", add, (0.0, -0.0), 0.0, 0.0),
    ("Add(-0, -0)", add, (-0.0, -0.0), -0.0, -0.0),
]


@pytest.mark.parametrize(("profile", "mode"), MODES, ids=[profile.name for profile, _ in MODES])
@pytest.mark.parametrize(("name", "operation", "operands", "inf_nan", "saturated"), ROWS, ids=[row[0] for row in ROWS])
def test_half_results(profile, mode, name, operation, operands, inf_nan, saturated):
    found = operation(*(np.float32(x) for x in operands), profile.rounding("fp16", "add"))

    assert str(float(found)) == str((inf_nan, saturated)[mode])


@pytest.mark.parametrize("profile", [INF_NAN, SATURATION, ONLY_SATURATION], ids=lambda profile: profile.name)
def test_float_never_saturates(profile):
    largest = np.float32(get_format("fp32").max_finite)
    rounding = profile.rounding("fp32", "add")

    assert add(largest, largest, rounding) == INF
    assert np.isnan(subtract(np.float32(INF), np.float32(INF), rounding))
    assert multiply(largest, -largest, rounding) == -INF


@pytest.mark.parametrize(("profile", "mode"), MODES, ids=[profile.name for profile, _ in MODES])
def test_casts_to_half_and_bf16(profile, mode):
    largest = get_format("fp32").max_finite
    half, bf16 = (profile.rounding(fmt, "cast") for fmt in ("fp16", "bf16"))

    assert round_array(np.float32(largest), bf16) == (INF, get_format("bf16").max_finite)[mode]
    assert round_array(np.float32(-INF), bf16) == (-INF, -get_format("bf16").max_finite)[mode]
    assert round_array(np.float32(70000.0), half) == (INF, MAX)[mode]


def test_float_reciprocal_of_the_largest_is_not_flushed():
    found = divide(1.0, np.float32(get_format("fp32").max_finite), INF_NAN.rounding("fp32", "reciprocal"))

    assert f"{found:.6e}" == "2.938736e-39"


@pytest.mark.parametrize("profile", [INF_NAN, SATURATION], ids=lambda profile: profile.name)
def test_comparisons_and_extrema(profile):
    assert profile.nan_compare_ne.value == "false"
    assert profile.max_of_zeros.value == "positive"


@pytest.mark.parametrize(("profile", "mode"), MODES, ids=[profile.name for profile, _ in MODES])
def test_half_sums_saturate_at_every_node(profile, mode):
    order, rounding = profile.sum_order.value, profile.rounding("fp16", "sum")

    def total(*terms):
        return float(order.sum(np.array(terms), rounding, data="fp16"))

    assert total(60000.0, 60000.0, -30000.0, 100.0) == (INF, 35584.0)[mode]
    assert str(total(INF, -INF, 1.0, 1.0)) == str((NAN, 2.0)[mode])  # inf - inf is 0 at its own node
    assert total(INF, 1.0, -1.0, -1.0) == (INF, 65504.0 - 0.0)[mode]


@pytest.mark.parametrize(
    ("profile", "outer"), [(INF_NAN, "in-order"), (SATURATION, "in-order"), (ONLY_SATURATION, "tree")]
)
def test_how_repeats_are_combined(profile, outer):
    assert profile.sum_order.value.outer == outer


def test_a_wide_candidate_of_half_sums_gives_another_result():
    terms = np.array([1.0] + [2.0**-11] * 127)
    ((_, wide),) = [pair for pair in INF_NAN.envelope(["sum"]) if "sum_accumulator" in pair[0]]

    found = []
    for profile in (INF_NAN, wide):
        accumulator = profile.accumulator("sum", "fp16")
        total = profile.sum_order.value.sum(terms, profile.rounding(accumulator, "sum"), data="fp16")
        found.append(float(round_array(total, profile.rounding("fp16", "cast"))))

    assert found == [1 + 126 * 2.0**-11, 1 + 128 * 2.0**-11]


@pytest.mark.parametrize("data", ["fp16", "bf16", "fp32"])
def test_the_cube_candidates_are_told_apart_by_random_data(data):
    rng = np.random.default_rng(11)
    a, b = (round_array(rng.standard_normal((64, 256)), INF_NAN.rounding(data, "cast")) for _ in range(2))
    profiles = [INF_NAN, *(p for name, p in INF_NAN.envelope(["matmul"]) if "subnormal" not in name)]

    sums = [
        p.matmul_order.value.dot(a, b, p.rounding("fp32", "matmul"), p.matmul_product.value, data=data)
        for p in profiles
    ]

    assert len({total.tobytes() for total in sums}) == len(profiles) == 5
