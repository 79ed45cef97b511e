"""The kinds of mistakes comparison tools make, as properties: every verdict is that of exact arithmetic on the bits.

The definition is written again here, in fractions, from IEEE 754 and docs/definitions: ulp(r) = 2^(e - p + 1) with e
the exponent of r, not below emin; an element passes where |a - r| <= max_ulp ulp(r), or both are the same infinity or
NaN.
"""

from fractions import Fraction
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from precdiff.comparison.elements import CHUNK
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.testing import (
    PrecisionError,
    assert_deterministic,
    assert_order_invariant,
    assert_precise,
    assert_ulp_close,
    ulp_approx,
)

NAN, INF = np.nan, np.inf


class Kind(NamedTuple):
    dtype: np.dtype
    p: int
    emin: int

    @property
    def codes(self):
        return np.dtype(f"u{self.dtype.itemsize}")

    def values(self, codes):
        return np.array(codes, self.codes).view(self.dtype)


FLOATS = {
    "fp16": Kind(np.dtype(np.float16), 11, -14),
    "bf16": Kind(np.dtype(ml_dtypes.bfloat16), 8, -126),
    "fp32": Kind(np.dtype(np.float32), 24, -126),
    "fp64": Kind(np.dtype(np.float64), 53, -1022),
    "e4m3fn": Kind(np.dtype(ml_dtypes.float8_e4m3fn), 4, -6),
    "e5m2": Kind(np.dtype(ml_dtypes.float8_e5m2), 3, -14),
}
INTEGERS = [np.dtype(f"{sign}{size}") for sign in "iu" for size in (1, 2, 4, 8)]
NATIVE = [kind.dtype for kind in FLOATS.values()] + INTEGERS + [np.dtype(bool)]


def exponent(r):
    e = abs(r.numerator).bit_length() - r.denominator.bit_length()
    return e if Fraction(2) ** e <= abs(r) else e - 1


def ulp(r, kind):
    e = kind.emin if r == 0 else max(exponent(r), kind.emin)
    return Fraction(2) ** (e - kind.p + 1)


def within(a, r, kind, max_ulp):
    """Whether one element passes, by the definition."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        a, r = float(a), float(r)
    if not (np.isfinite(a) and np.isfinite(r)):
        return a == r or (np.isnan(a) and np.isnan(r))
    return abs(Fraction(a) - Fraction(r)) <= Fraction(max_ulp) * ulp(Fraction(r), kind)


def verdict(*arguments, **options):
    """(how many elements are beyond, how many were compared) as the assertion has it."""
    try:
        assert_ulp_close(*arguments, **options)
    except PrecisionError as error:
        row = error.report.tensors[0]
        return row.over_limit, row.compared
    return 0, None


LIMITS = st.sampled_from([0, 0.5, 1, 2, 3, 64, 1000])


@st.composite
def near_codes(draw, kind, most=6):
    """Codes, each beside one a few steps away or anywhere else; every NaN, infinity, zero and subnormal may come."""
    bits = 8 * kind.dtype.itemsize
    edges = [kind.values([0]), kind.values([2 ** (bits - 1)])]
    whole = st.integers(0, 2**bits - 1) | st.sampled_from([int(e.view(kind.codes)[0]) for e in edges])
    pairs = []
    for _ in range(draw(st.integers(1, most))):
        code = draw(whole)
        step = draw(st.integers(-4, 4))
        pairs.append((code, draw(st.just((code + step) % 2**bits) | whole)))
    actual, expected = zip(*pairs, strict=True)
    return kind.values(actual), kind.values(expected)


@pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)
@given(data=st.data(), max_ulp=LIMITS)
def test_every_float_is_judged_by_the_definition(kind, data, max_ulp):
    actual, expected = data.draw(near_codes(kind))
    passes = [within(a, r, kind, max_ulp) for a, r in zip(actual, expected, strict=True)]
    if (np.isnan(actual) & np.isnan(expected)).all():
        with pytest.raises(NotComparableError, match="nothing but NaN"):
            assert_ulp_close(actual, expected, max_ulp=max_ulp)
    else:
        assert verdict(actual, expected, max_ulp=max_ulp)[0] == passes.count(False)


@pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)
@given(data=st.data(), max_ulp=st.sampled_from([0, 0.25, 0.5, 1, 3]))
def test_exact_values_are_never_rounded_first(kind, data, max_ulp):
    actual, near = data.draw(near_codes(kind))
    finite = np.isfinite(actual) & np.isfinite(near)
    actual, near = actual[finite], near[finite]
    if not actual.size:
        return
    shift = data.draw(st.fractions(-1, 1, max_denominator=1000))
    reals = [Fraction(float(r)) + shift * ulp(Fraction(float(r)), kind) for r in near]
    exact = [abs(Fraction(float(a)) - r) / ulp(r, kind) for a, r in zip(actual, reals, strict=True)]
    largest = Fraction(float(ml_dtypes.finfo(kind.dtype).max))
    # no such case: what rounds to infinity, what a pair of fp64 does not hold, errors within 2^-40 of the limit
    if any(abs(r) > largest or (kind.p == 53 and abs(r) < Fraction(2) ** -960) for r in reals):
        return
    if any(abs(e - Fraction(max_ulp)) < Fraction(2) ** -40 for e in exact):
        return
    assert verdict(actual, reals, max_ulp=max_ulp)[0] == sum(e > max_ulp for e in exact)


def near_limits(dtype):
    info = np.iinfo(dtype)
    edges = sorted({info.min, info.max, 0, 1, *(x for x in (-1, 2**31, 2**53, 2**62) if info.min <= x <= info.max)})
    nudged = st.builds(lambda x, d: min(max(x + d, info.min), info.max), st.sampled_from(edges), st.integers(-3, 3))
    return nudged | st.integers(info.min, info.max)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@given(data=st.data(), limit=st.sampled_from([0, 1, 3, 100]))
def test_integers_of_every_width_are_compared_exactly(dtype, data, limit):
    numbers = data.draw(st.lists(near_limits(dtype), min_size=1, max_size=5))
    others = [data.draw(near_limits(dtype) | st.just(n)) for n in numbers]
    beyond = sum(abs(a - r) > limit for a, r in zip(numbers, others, strict=True))

    for expected in (np.array(others, dtype), others):
        assert verdict(np.array(numbers, dtype), expected, max_ulp=limit)[0] == beyond


@given(st.integers(-(2**63), 2**64 - 1), st.integers(-(2**63), 2**64 - 1) | st.integers(-2, 2))
@example(2**63 - 1, 1)
@example(-(2**63), 0)
def test_signed_against_unsigned_by_their_values(number, other):
    other = number + other if abs(other) <= 2 else other
    kinds = [np.int64 if n < 2**63 else np.uint64 for n in (number, other)]
    if not all(-(2**63) <= n < 2**64 for n in (number, other)):
        return
    actual, expected = (np.array([n], kind) for n, kind in zip((number, other), kinds, strict=True))
    name = "i64" if kinds[0] is np.int64 else "u64"

    assert verdict(actual, expected, max_ulp=0, dtype=name)[0] == (number != other)


def test_the_message_shows_all_digits_of_large_integers():
    with pytest.raises(PrecisionError, match=r"9223372036854775807 +9223372036854775806 +1 +0x7fffffffffffffff"):
        assert_ulp_close(np.int64([2**63 - 1]), np.int64([2**63 - 2]), max_ulp=0)


@given(arrays.arrays(np.bool_, 5), arrays.arrays(np.bool_, 5))
def test_bool(actual, expected):
    assert verdict(actual, expected, max_ulp=0)[0] == np.count_nonzero(actual != expected)


@st.composite
def laid_out(draw):
    """A pair of arrays that differ, and the same pair in another layout of memory."""
    dtype = draw(st.sampled_from(NATIVE))
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, max_side=4))
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    actual = np.array(numbers).reshape(shape)
    expected = np.where(np.arange(size).reshape(shape) == draw(st.integers(0, size - 1)), 1 - actual, actual)
    layout = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))]
    pair = [x.astype(dtype) for x in (actual, expected)]
    return pair, [layout(x) for x in pair]


def padded(x):
    """In the middle of a larger array, every second element."""
    if x.ndim == 0:
        return np.array([x, x])[1:2].reshape(())
    larger = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    inner = larger[tuple(slice(1, None, 2) for _ in x.shape)]
    inner[...] = x
    return inner


LAYOUTS = {
    "fortran": lambda x: np.array(x, order="F"),
    "strided": padded,
    "backwards": lambda x: np.flip(x).copy()[tuple(slice(None, None, -1) for _ in x.shape)],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")) if x.dtype.kind in "fiu" else x,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "broadcast": lambda x: np.broadcast_to(x, x.shape),
    "subclass": lambda x: x.view(np.recarray) if x.dtype.kind in "fiu" else x,
}


@given(laid_out())
def test_layout_in_memory_changes_nothing(both):
    reports = []
    for actual, expected in both:
        with pytest.raises(PrecisionError) as caught:
            assert_ulp_close(actual, expected, max_ulp=0)
        reports.append(repr(caught.value.report))

    assert reports[0] == reports[1]


@given(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_nothing_is_broadcast(shapes):
    one, other = shapes.input_shapes
    if one == other:
        return
    with pytest.raises(NotComparableError, match=r"actual has shape .*, expected has shape .*reshape"):
        assert_ulp_close(np.ones(one, np.float32), np.ones(other, np.float32), max_ulp=1)


@pytest.mark.parametrize("expected", NATIVE, ids=str)
@pytest.mark.parametrize("actual", NATIVE, ids=str)
def test_two_formats_are_never_promoted(actual, expected):
    if expected in (actual, np.dtype(np.float64)):
        assert_ulp_close(np.ones(2, actual), np.ones(2, expected), max_ulp=0)
        return
    with pytest.raises(NotComparableError, match=r"actual is \w+, expected is \w+: a ULP of one is none of the other"):
        assert_ulp_close(np.ones(2, actual), np.ones(2, expected), max_ulp=1e9)


def test_swapped_sides_are_asked_about():
    with pytest.raises(NotComparableError, match=r"The order is \(actual, expected\): are they swapped\?"):
        assert_ulp_close(np.ones(2), np.ones(2, np.float16), max_ulp=1)


@given(data=st.data(), max_ulp=LIMITS)
def test_a_wider_array_is_judged_in_the_narrow_format_that_dtype_names(data, max_ulp):
    actual, expected = data.draw(near_codes(FLOATS["fp16"]))
    narrow = wide = None
    try:
        narrow = verdict(actual, expected, max_ulp=max_ulp)
        wide = verdict(*(x.astype(np.float32) for x in (actual, expected)), max_ulp=max_ulp, dtype="fp16")
    except NotComparableError:
        with pytest.raises(NotComparableError):
            assert_ulp_close(actual.astype(np.float32), expected.astype(np.float32), max_ulp=max_ulp, dtype="fp16")
    assert narrow == wide


@given(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3), st.sampled_from(NATIVE))
def test_empty_arrays_never_pass(shape, dtype):
    empty = np.zeros((*shape, 0), dtype)
    for compare in (
        lambda: assert_ulp_close(empty, empty, max_ulp=1),
        lambda: assert_precise(empty, empty),
        lambda: empty == ulp_approx(empty, max_ulp=1),
        lambda: assert_deterministic(lambda: empty),
        lambda: assert_order_invariant(lambda x: x[..., :0], np.arange(3.0)),
    ):
        with pytest.raises(NotComparableError, match="nothing was compared"):
            compare()


FOREIGN = {
    "complex": (np.complex64([1]), "pass real and imaginary parts as two tensors"),
    "longdouble": (np.longdouble([1]), "no format for an array of dtype (longdouble|float128|float96)"),
    "text": (np.array(["1"]), "no format for an array of dtype str"),
    "none": (None, "(found None|dtype object)"),
    "times": (np.array([1], "M8[s]"), "no format for an array of dtype datetime64"),
    "records": (np.zeros(1, [("a", "f4")]), "no format for an array of dtype void"),
    "masked": (np.ma.masked_array([1.0], [1]), "found a masked array"),
    "ragged": ([[1], [1, 2]], "found list, which gives no array"),
    "int4": (np.ones(1, ml_dtypes.int4), "no format for an array of dtype int4"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_has_no_format_is_refused_as_actual(name):
    value, message = FOREIGN[name]
    with pytest.raises(PrecDiffError, match=rf"actual: .*{message}"):
        assert_ulp_close(value, [1.0], max_ulp=1)


@pytest.mark.parametrize("name", [name for name in FOREIGN if name != "longdouble"])
def test_and_as_expected(name):
    value, message = FOREIGN[name]
    with pytest.raises(PrecDiffError, match=rf"expected: .*{message}"):
        assert_ulp_close(np.ones(np.shape(value) if name not in ("none", "ragged") else 1), value, max_ulp=1)


@pytest.mark.parametrize("value", ["1", b"1", None, 1j, [1]], ids=repr)
def test_nor_are_such_objects_in_a_list(value):
    with pytest.raises(PrecDiffError, match="expected"):
        assert_ulp_close(np.ones(2), np.array([1.0, value], object), max_ulp=1)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="longdouble is fp64 here")
def test_longdouble_is_expected_with_all_its_bits():
    close = np.longdouble(1) + np.longdouble(2) ** -60

    assert_ulp_close(np.float64([1]), np.array([close]), max_ulp=2.0**-8)
    with pytest.raises(PrecisionError):
        assert_ulp_close(np.float64([1]), np.array([close]), max_ulp=2.0**-9)
    assert_ulp_close(np.float64([INF]), np.array([np.longdouble(2) ** 2000]), max_ulp=0)


@settings(max_examples=20)  # of 98,305 elements each
@given(st.sets(st.integers(0, 3 * CHUNK), min_size=1, max_size=20), st.sampled_from(["ulp", "allclose", "bitwise"]))
def test_mismatches_are_counted_over_the_whole_tensor(places, standard):
    expected = np.ones(3 * CHUNK + 1, np.float32)
    actual = expected.copy()
    actual[list(places)] = 2
    with pytest.raises(PrecisionError) as caught:
        assert_precise(actual, expected, standard)
    row = caught.value.report.tensors[0]

    assert (row.over_limit, row.compared) == (len(places), actual.size)
    assert [w.index[0] for w in row.worst] == sorted(places)[:10]


@pytest.mark.parametrize("standard", ["auto", "ulp", "allclose"])
@given(data=st.data())
def test_relative_error_of_zero_against_zero_is_zero(standard, data):
    """max_rel is that of the elements that have one; an error at an expected zero is infinite."""
    actual = data.draw(arrays.arrays(np.float32, 5, elements=st.sampled_from([0.0, -0.0, 1.0, 2.0])))
    expected = data.draw(arrays.arrays(np.float32, 5, elements=st.sampled_from([0.0, -0.0, 1.0, 4.0])))
    relative = [
        0.0 if a == r else INF if r == 0 else abs(a - r) / abs(r) for a, r in zip(actual, expected, strict=True)
    ]
    if max(relative) == 0.0:
        assert_precise(actual, expected, standard)
        return
    with pytest.raises(PrecisionError) as caught:
        assert_precise(actual, expected, standard)
    assert caught.value.report.tensors[0].max_rel == max(relative)


# actual, expected; what every standard says
NAN_POSITIONS = {
    "same place": ([NAN, 1], [NAN, 1], True),
    "other place": ([NAN, 1], [1, NAN], False),
    "only actual": ([NAN, 1], [1, 1], False),
    "only expected": ([1, 1], [NAN, 1], False),
    "equal infinities": ([INF, -INF, 1], [INF, -INF, 1], True),
    "opposite infinities": ([INF, 1], [-INF, 1], False),
    "nan for inf": ([NAN, 1], [INF, 1], False),
}


@pytest.mark.parametrize("standard", ["auto", "ulp", "allclose", "bitwise"])
@pytest.mark.parametrize("name", NAN_POSITIONS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_nan_and_infinity_under_every_standard(name, dtype, standard):
    actual, expected, passes = NAN_POSITIONS[name]
    limits = {} if standard == "bitwise" else {"rtol": 1e30, "atol": 1e30}
    if passes:
        assert_precise(np.array(actual, dtype), np.array(expected, dtype), standard, **limits)
    else:
        with pytest.raises(PrecisionError, match="at no limit: non-finite values do not match"):
            assert_precise(np.array(actual, dtype), np.array(expected, dtype), standard, **limits)
