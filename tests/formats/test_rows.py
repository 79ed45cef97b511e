"""A float format is a row and no code: tf32 and hf32, kept in fp32's codes, and rows not (yet) in the catalogue.

tf32 and hf32 against integer arithmetic on fp32's words, on all their codes; the formats of OCP MX against gfloat's own
decoder and the nearest of the decoded values.
"""

import gfloat
import gfloat.formats
import numpy as np
import pytest

from precdiff.device import get_profile
from precdiff.dump.h5types import stored_format
from precdiff.errors import PrecDiffError
from precdiff.formats import Format, from_bits, from_ordinal, get_format, next_up, ordinal, to_bits, ulp
from precdiff.machine import EmulatedMachine
from precdiff.ops import cast, matmul
from precdiff.rounding import Rounding, round_array, round_exact

UNUSED = {"tf32": 13, "hf32": 12}


def words(name, count=10**6):
    """Random fp32 words and, at the ends of every binade, halfway points of the format and their neighbours."""
    rng = np.random.default_rng(UNUSED[name])
    half = 1 << (UNUSED[name] - 1)
    ties = (rng.integers(0, 2**32, count // 4, np.uint64) >> UNUSED[name] << UNUSED[name]) + half
    near = np.concatenate([ties, ties - 1, ties + 1, rng.integers(0, 2**32, count, np.uint64)])
    found = (near % 2**32).astype(np.uint32)
    return found[np.isfinite(found.view(np.float32))]


@pytest.mark.parametrize("name", UNUSED)
def test_all_codes(name):
    """2^19 of tf32, 2^20 of hf32: encoded and decoded to themselves; ordinals count them."""
    unused = UNUSED[name]
    codes = np.arange(2 ** (32 - unused), dtype=np.uint32) << np.uint32(unused)
    values = codes.view(np.float32)
    assert get_format(name).unused_bits == unused
    assert (from_bits(codes, name).view(np.uint32) == codes).all()
    assert (to_bits(values, name) == codes).all()
    positive = values[: 2 ** (31 - unused)]
    positive = positive[~np.isnan(positive)]
    assert (ordinal(positive, name) == np.arange(positive.size)).all()
    assert (from_ordinal(np.arange(positive.size), name) == positive).all()
    assert (next_up(positive[:-1], name) == positive[1:]).all()
    finite = positive[np.isfinite(positive)].astype(np.float64)
    assert (ulp(finite[:-1], name) == np.diff(finite)).all()
    assert get_format(name).max_finite == finite[-1]


@pytest.mark.parametrize("name", UNUSED)
def test_roundings_against_integer_arithmetic_on_words(name):
    word = words(name)
    x, w = word.view(np.float32), word.astype(np.uint64)
    unused = np.uint64(UNUSED[name])
    half, kept = np.uint64(1) << (unused - np.uint64(1)), ~((np.uint64(1) << unused) - np.uint64(1))
    odd = w >> unused & np.uint64(1)
    expected = {
        "nearest-even": w + half - np.uint64(1) + odd,
        "nearest-away": w + half,
        "toward-zero": w,
        "up": np.where(x > 0, w + (np.uint64(1) << unused) - np.uint64(1), w),
        "down": np.where(x < 0, w + (np.uint64(1) << unused) - np.uint64(1), w),
    }
    for direction, carried in expected.items():
        result = round_array(x, Rounding(name, direction))
        assert (result.view(np.uint32) == (carried & kept).astype(np.uint32)).all(), direction


@pytest.mark.parametrize("name", UNUSED)
def test_fp64_is_rounded_once(name):
    rng = np.random.default_rng(1)
    x = np.float32(rng.standard_normal(2000)).astype(np.float64) * (1 + 2.0**-40)
    assert round_array(x, Rounding(name)).tolist() == [round_exact(float(v), Rounding(name)) for v in x]


@pytest.mark.parametrize("name", UNUSED)
def test_factors_of_a_matrix_unit(name):
    """Cut to the format, multiplied exactly, accumulated and given in fp32."""
    machine = EmulatedMachine(get_profile("ascend-910b"))
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 16), (16, 3)))
    x, y = (cast(machine.tensor(v, get_format("fp32")), name) for v in (a, b))
    result = matmul(x, y, out="fp32")
    exact = round_array(a, Rounding(name)).astype(np.float64) @ round_array(b, Rounding(name)).astype(np.float64)
    assert result.format.name == "fp32"
    np.testing.assert_allclose(result.planes[0], exact, rtol=1e-6, atol=1e-6)
    assert not np.allclose(exact, a.astype(np.float64) @ b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", UNUSED)
def test_a_file_stores_them_as_fp32(name):
    assert stored_format(name).name == "fp32"


def test_what_needs_more_bits_is_refused():
    with pytest.raises(PrecDiffError, match=r"tf32 holds no 1\.000244140625"):
        to_bits(np.float32([1 + 2.0**-12]), "tf32")
    assert to_bits(np.float32([1 + 2.0**-11]), "hf32") == 0x3F801000


def row(name, bits, p, emin, emax):
    """What a line of the catalogue would make."""
    return Format(name, "float", bits, p, emin, emax, False, False, "float32", f"float{bits}_{name}fn", "OCP MX 1.0")


MX = {"e2m1": row("e2m1", 4, 2, 0, 2), "e2m3": row("e2m3", 6, 4, 0, 2), "e3m2": row("e3m2", 6, 3, -2, 4)}


@pytest.mark.parametrize("name", MX)
def test_a_new_row_needs_no_code(name):
    fmt = MX[name]
    codes = np.arange(2**fmt.bits).astype(np.uint8)
    values = gfloat.decode_ndarray(getattr(gfloat.formats, f"format_info_ocp_{name}"), codes.astype(np.int64))
    decoded = from_bits(codes, fmt)
    assert (decoded == values).all() and (np.signbit(decoded) == np.signbit(values)).all()
    assert (to_bits(decoded, fmt) == codes).all()
    assert fmt.max_finite == values.max() and fmt.min_subnormal == values[values > 0].min()
    x = np.concatenate([np.random.default_rng(4).uniform(-1.2, 1.2, 20_000) * fmt.max_finite, values])
    ties = (values[:, None] + values[None, :]).ravel() / 2
    x = np.concatenate([x, ties[np.isin(ties * 2, values[:, None] + fmt.min_subnormal)], [np.inf, -np.inf]])
    result = round_array(x, Rounding(fmt, overflow="saturate"))
    assert (result == nearest(np.clip(x, -fmt.max_finite, fmt.max_finite), values, codes)).all()


def nearest(x, values, codes):
    """Of the two values at the least distance, the one with an even code."""
    distance = np.abs(x[:, None] - values[None, :])
    least = distance == distance.min(axis=1, keepdims=True)
    return values[np.argmax(least * (2 - (codes % 2)), axis=1)]
