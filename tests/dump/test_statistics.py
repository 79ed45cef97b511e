"""Statistics against exact rational arithmetic; the checksum against hashlib on bytes written by hand."""

import hashlib
import itertools
import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.dump import checksum, statistics_of
from precdiff.dump.statistics import BLOCK


def exact(values):
    finite = [Fraction(float(v)) for v in values if math.isfinite(v)]
    mean = sum(finite) / len(finite)
    return float(min(finite)), float(max(finite)), float(mean), finite


@given(st.lists(st.floats(width=64), min_size=1, max_size=40))
def test_against_fractions(numbers):
    found = statistics_of(np.array(numbers))
    assert found.nan_count == sum(map(math.isnan, numbers))
    assert found.inf_count == sum(map(math.isinf, numbers))
    if not any(map(math.isfinite, numbers)):
        assert all(map(math.isnan, (found.min, found.max, found.mean, found.l2)))
        return
    low, high, mean, finite = exact(numbers)
    assert (found.min, found.max) == (low, high)
    scale = float(sum(abs(x) for x in finite) / len(finite))
    assert abs(found.mean - mean) <= 2**-48 * scale + 5e-324 * len(finite)
    squares = sum(x * x for x in finite)
    if found.l2 == math.inf:
        assert squares > Fraction(1.79e308) ** 2
    elif found.l2 > 1e-290:
        assert abs(Fraction(found.l2) ** 2 - squares) <= squares * Fraction(2) ** -46


def test_large_values_do_not_overflow_on_the_way():
    found = statistics_of(np.array([1e308, 1e308, -1e308]))
    assert found.mean == pytest.approx(1e308 / 3)
    assert found.l2 == pytest.approx(math.sqrt(3) * 1e308)
    assert statistics_of(np.full(4, 1.7e308)).l2 == math.inf
    assert statistics_of(np.full(3, 5e-324)).l2 == 1e-323  # sqrt(3) of the smallest number, which is 2 of it


def test_pieces_do_not_matter():
    values = np.random.default_rng(0).normal(size=3 * BLOCK + 77).astype(np.float32)
    cuts = [0, 1, 1000, BLOCK + 3, 3 * BLOCK, values.size]
    pieces = [values[a:b] for a, b in itertools.pairwise(cuts)]
    assert statistics_of(pieces) == statistics_of(values)
    assert checksum(pieces) == checksum(values)


@pytest.mark.parametrize(
    "values", [np.array([3, -4, 0], np.int8), np.array([2**63 + 2**62], np.uint64), np.array([True, False])], ids=str
)
def test_integers_and_bools(values):
    found = statistics_of(values)
    numbers = [int(v) for v in values]
    assert (found.min, found.max) == (min(numbers), max(numbers))
    assert (found.mean, found.l2) == (sum(numbers) / len(numbers), math.sqrt(sum(n * n for n in numbers)))


def test_nothing_at_all():
    found = statistics_of(np.zeros((0, 3)))
    assert math.isnan(found.mean) and (found.nan_count, found.inf_count) == (0, 0)


def test_the_checksum_is_of_little_endian_bytes_in_c_order():
    codes = np.array([[1, 2, 3], [4, 5, 6]], np.uint16)
    expected = "sha256:" + hashlib.sha256(struct.pack("<6H", 1, 2, 3, 4, 5, 6)).hexdigest()
    assert checksum(codes) == expected
    assert checksum(codes.astype(">u2")) == expected
    assert checksum(np.asfortranarray(codes)) == expected
