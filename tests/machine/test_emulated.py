"""What a profile's facts do to results: the machine asks the profile for every rounding, order and exception."""

import itertools
import math

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.device.approximation import APPROXIMATIONS, Approximation
from precdiff.errors import PrecDiffError
from precdiff.formats import carrier, get_format, to_bits
from precdiff.machine import EmulatedMachine
from precdiff.ops import OPS
from precdiff.rounding import Rounding, round_array
from tests.machine.truth import same

IEEE = get_profile("ieee")
INF, NAN = math.inf, math.nan


def on(profile, function, *arrays, fmt="fp16", seed=None):
    machine = EmulatedMachine(profile, None if seed is None else np.random.default_rng(seed))
    row = get_format(fmt)
    tensors = [machine.tensor(np.asarray(a, row.carrier), row) for a in arrays]
    return function(*tensors).planes[0]


X = round_array(np.random.default_rng(0).uniform(0.1, 3, 64), Rounding("fp16"))
Y = round_array(np.random.default_rng(1).uniform(0.1, 3, 64), Rounding("fp16"))


@pytest.mark.parametrize("direction", ["up", "down", "toward-zero", "nearest-away", "to-odd"])
def test_directions_reach_every_kind_of_op(direction):
    profile = IEEE.with_(direction=direction)
    exact = X.astype(np.float64) * Y.astype(np.float64)
    expected = round_array(exact, Rounding("fp16", direction))
    assert same(on(profile, lambda x, y: x * y, X, Y), expected).all()
    assert same(
        on(profile, lambda x, y: ops.cast(ops.cast(x, "fp32") * ops.cast(y, "fp32"), "fp16"), X, Y), expected
    ).all()
    assert same(
        on(profile, lambda x, y: ops.matmul(x.reshape(64, 1, 1), y.reshape(64, 1, 1)).reshape(64), X, Y), expected
    ).all()
    half = round_array(np.exp(X.astype(np.float64)), Rounding("fp16", direction))
    assert same(on(profile, ops.exp, X), half).all()  # far from every boundary


def test_a_cast_with_a_mode_keeps_the_other_facts():
    profile = get_profile("ascend-910b-sat")
    result = on(profile, lambda x: ops.cast(x, "fp16", mode="up"), [1e6, 1 + 2.0**-12, NAN], fmt="fp32")
    assert result.tolist() == [65504.0, 1 + 2.0**-10, 0.0]


@pytest.mark.parametrize(
    ("fmt", "expected"), [("fp16", [65504.0, -65504.0, 0.0]), ("fp32", [INF, -INF, NAN])], ids=["fp16", "fp32"]
)
def test_saturation_touches_the_formats_it_names(fmt, expected):
    big = 300.0 if fmt == "fp16" else 2e19
    result = on(get_profile("ascend-910b-sat"), lambda x, y: x * y, [big, -big, NAN], [big, big, 1.0], fmt=fmt)
    assert same(result, expected).all()


class TestSubnormals:
    least, normal = 2.0**-24, 2.0**-14

    def test_flushed_operands_keep_their_sign(self):
        profile = IEEE.with_(subnormal_inputs="flush")
        result = on(profile, lambda x: x * 1024.0, [self.least, -self.least, self.normal])
        assert same(result, [0.0, -0.0, 2.0**-4]).all()

    def test_flushed_results_keep_their_sign(self):
        profile = IEEE.with_(subnormal_outputs="flush")
        assert same(on(profile, lambda x: x * 0.5, [self.normal, -self.normal, 1.0]), [0.0, -0.0, 0.5]).all()

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (lambda x: ops.maximum(x, 0.0), [0.0]),
            (lambda x: ops.where(x > 0.0, 1.0, x), [2.0**-24]),
            (lambda x: ops.sum_(x, keepdims=True), [0.0]),
            (lambda x: ops.max_(x, axis=-1, keepdims=True), [0.0]),
            (lambda x: ops.matmul(x.reshape(1, 1), x.reshape(1, 1) + 1.0).reshape(1), [0.0]),
            (ops.exp, [1.0]),
            (lambda x: x.reshape(1, 1).reshape(1), [2.0**-24]),
        ],
        ids=["maximum", "where moves", "sum", "max", "matmul", "exp", "layout moves"],
    )
    def test_units_read_zeros_and_moves_do_not(self, function, expected):
        assert on(IEEE.with_(subnormal_inputs="flush"), function, [self.least]).tolist() == expected

    def test_kept_by_default(self):
        assert on(IEEE, lambda x: x * 0.5, [self.normal]).tolist() == [2.0**-15]


def test_fma_rounds_once_or_twice_as_declared():
    x, z = [1 + 2.0**-10], [-1.0 - 2.0**-9]
    fused = on(IEEE, ops.fma, x, x, z)
    separate = on(get_profile("ascend-910b"), ops.fma, x, x, z)
    assert (fused.tolist(), separate.tolist()) == ([2.0**-20], [0.0])


def test_a_separate_product_may_saturate_on_its_own():
    result = on(get_profile("ascend-910b-sat"), ops.fma, [300.0], [300.0], [-1000.0])
    assert result.tolist() == [65504.0 - 1000.0 + 8.0]


ZEROS = [(-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (0.0, 0.0)]


@pytest.mark.parametrize(
    ("rule", "maxima", "minima"),
    [
        ("positive", [0.0, 0.0, -0.0, 0.0], [-0.0, -0.0, -0.0, 0.0]),
        ("first", [-0.0, 0.0, -0.0, 0.0], [-0.0, 0.0, -0.0, 0.0]),
    ],
)
def test_max_and_min_of_zeros(rule, maxima, minima):
    profile = IEEE.with_(max_of_zeros=rule)
    x, y = (list(side) for side in zip(*ZEROS, strict=True))
    assert same(on(profile, ops.maximum, x, y), maxima).all()
    assert same(on(profile, ops.minimum, x, y), minima).all()
    rows = np.array(ZEROS)
    assert same(on(profile, lambda v: ops.max_(v, axis=1), rows), maxima).all()


@pytest.mark.parametrize("rule", ["positive", "first"])
def test_maxima_propagate_nan(rule):
    values = np.array([[1.0, NAN, 2.0], [-INF, -1.0, -0.0], [NAN, NAN, NAN]])
    result = on(IEEE.with_(max_of_zeros=rule), lambda v: ops.max_(v, axis=1), values)
    assert same(result, [NAN, -0.0, NAN]).all()


@pytest.mark.parametrize(
    ("rule", "expected"), [("ieee", [True, True, False, True]), ("false", [False, False, False, True])]
)
def test_unequal_to_nan(rule, expected):
    profile = IEEE.with_(nan_compare_ne=rule)
    assert on(profile, ops.ne, [NAN, 1.0, 1.0, 2.0], [NAN, NAN, 1.0, 1.0]).tolist() == expected


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq"])
def test_comparisons_with_nan_are_false(name):
    pairs = [(a, b) for a, b in itertools.product([NAN, 0.0, INF], repeat=2) if a != a or b != b]
    x, y = (list(side) for side in zip(*pairs, strict=True))
    assert not on(IEEE, OPS[name], x, y).any()


class TestAccumulators:
    x = np.full((1, 3000), 1.0)

    def total(self, profile, fmt="fp16", **options):
        return on(profile, lambda x: ops.sum_(x, axis=-1, **options), self.x, fmt=fmt).tolist()

    def test_fp16_stagnates_at_2048(self):
        assert self.total(IEEE) == [2048.0]

    def test_acc_widens(self):
        assert self.total(IEEE, acc="fp32") == [3000.0]

    def test_the_profile_widens(self):
        assert self.total(get_profile("numpy-pairwise")) == [3000.0]

    def test_a_wider_format_than_the_accumulator_is_kept(self):
        """fp64 data on a profile that accumulates in fp32 is not narrowed."""
        x = np.array([[1.0, 2.0**-40]])
        assert on(get_profile("numpy-pairwise"), lambda x: ops.sum_(x, axis=-1), x, fmt="fp64").tolist() == [
            1 + 2.0**-40
        ]

    def test_out_delivers_wide(self):
        assert self.total(IEEE, acc="fp32", out="fp32") == [3000.0]

    def test_c_starts_the_accumulator(self):
        machine = EmulatedMachine(get_profile("ascend-910b"))
        a, b = (machine.tensor(np.full(s, 1.0, np.float32), get_format("fp16")) for s in ((1, 4), (4, 1)))
        c = machine.tensor(np.float32([[2.0**20]]), get_format("fp32"))
        assert ops.matmul(a, b, c, out="fp32").planes[0].tolist() == [[2.0**20 + 4]]


def test_sums_over_several_axes_and_none():
    values = np.arange(24.0).reshape(2, 3, 4)
    for axis, keep in itertools.product([None, 0, -1, (0, 2), (2, 0), ()], [False, True]):
        result = on(IEEE, lambda x, a=axis, k=keep: ops.sum_(x, axis=a, keepdims=k), values)
        assert np.array_equal(result, values.sum(axis=axis, keepdims=keep)), (axis, keep)


class TestStochastic:
    profile = IEEE.with_(direction="stochastic", matmul_product="exact")

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: x * 0.7,
            ops.exp,
            lambda x: x + 0.001,
            lambda x: ops.fma(x, x, x),
            lambda x: ops.cast(ops.cast(x, "fp32") * 0.7, "fp16"),
            lambda x: ops.sum_(x.reshape(-1, 2), axis=-1),
            lambda x: ops.sum_(x.reshape(-1, 2), axis=-1, acc="fp32"),
            lambda x: ops.matmul(x.reshape(-1, 2), x.reshape(2, -1)[:, :1]),
        ],
    )
    def test_every_kind_of_op_draws_and_repeats_with_its_seed(self, function):
        one, again, other = (on(self.profile, function, np.full(64, 0.7), seed=s) for s in (1, 1, 2))
        assert np.array_equal(one, again)
        assert not np.array_equal(one, other) or np.unique(one).size == 1

    def test_without_a_generator_it_says_so(self):
        with pytest.raises(PrecDiffError, match="stochastic rounding needs rng"):
            on(self.profile, lambda x: x * 0.7, [0.7])


def test_an_approximation_replaces_the_function():
    name = "test: log, three ulp off"
    if name not in APPROXIMATIONS:
        Approximation(
            name, "this test", 4.0, lambda arrays, r: round_array(np.log(arrays[0].astype(np.float64)) * 1.003, r)
        )
    profile = IEEE.with_(approximations={"log": name})
    assert same(on(profile, ops.log, X), round_array(np.log(X.astype(np.float64)) * 1.003, Rounding("fp16"))).all()
    assert same(on(profile, ops.exp, X), on(IEEE, ops.exp, X)).all()


@pytest.mark.parametrize(
    "function", [lambda x: x - x, lambda x: x * 0.0, lambda x: x / x, ops.log, lambda x: ops.sum_(x, keepdims=True)]
)
def test_a_nan_that_is_made_has_one_code_on_every_host(function):
    made = on(IEEE, function, [-INF]) if function is not ops.log else on(IEEE, function, [-1.0])
    assert np.isnan(made).all() or made.tolist() == [-INF]
    assert set(to_bits(made, "fp16").tolist()) <= {0x7E00, 0xFC00}


def test_a_nan_that_is_moved_keeps_its_bits():
    nan = carrier(np.array([0xFE55], np.uint16).view(np.float16))
    moved = on(IEEE, lambda x: ops.where(x == x, 0.0, x.reshape(1, 1).reshape(1)), nan)
    assert to_bits(moved, "fp16").tolist() == to_bits(nan, "fp16").tolist()


def test_results_of_all_formats_are_numbers_of_the_format():
    rng = np.random.default_rng(3)
    for fmt in ("fp16", "bf16", "e4m3fn", "e5m2"):
        row = get_format(fmt)
        x = round_array(rng.uniform(0.1, 2, 200), Rounding(row))
        for function in (lambda x: x * x, ops.exp, lambda x: x / 3.0, lambda x: ops.sum_(x, keepdims=True)):
            result = on(IEEE, function, x, fmt=fmt)
            assert same(result, round_array(result, Rounding(row))).all()
