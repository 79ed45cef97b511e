"""The trap table: bugs other tools have (pychop, ml_dtypes, the Triton interpreter, CPFloat), each as one row.

Expected values are worked by hand from the definition; the tool that gets the row wrong is named where one is known.
"""

import numpy as np
import pytest

from precdiff.formats import to_bits
from precdiff.rounding import Rounding, fma, round_array, round_exact

INF, NAN = np.inf, np.nan
TRAPS = [
    # pychop: 65520 -> 65536, 65536..131071 -> 0
    ("threshold", "fp16", "nearest-even", "ieee", 65520.0, INF),
    ("just below the threshold", "fp16", "nearest-even", "ieee", 65519.99, 65504.0),
    ("beyond the threshold", "fp16", "nearest-even", "ieee", 65536.0, INF),
    ("twice the threshold", "fp16", "nearest-even", "ieee", 131071.0, INF),
    ("bf16 threshold", "bf16", "nearest-even", "ieee", float.fromhex("0x1.FFp127"), INF),
    # pychop: ties in the subnormal range
    ("half the smallest", "fp16", "nearest-even", "ieee", 2.0**-25, 0.0),
    ("half the smallest, away", "fp16", "nearest-away", "ieee", 2.0**-25, 2.0**-24),
    ("subnormal tie to even", "fp16", "nearest-even", "ieee", 3 * 2.0**-25, 2 * 2.0**-24),
    ("subnormal tie below", "fp16", "nearest-even", "ieee", 5 * 2.0**-25, 2 * 2.0**-24),
    ("just above half the smallest", "fp16", "nearest-even", "ieee", 2.0**-25 * (1 + 2.0**-23), 2.0**-24),
    ("carry out of the subnormals", "fp16", "nearest-even", "ieee", 2.0**-14 - 2.0**-26, 2.0**-14),
    # the Triton interpreter: half-up with no carry into the exponent
    ("carry into the exponent", "bf16", "nearest-even", "ieee", 1.9999999, 2.0),
    ("carry into the exponent, fp16", "fp16", "nearest-even", "ieee", 4095.9999, 4096.0),
    # ml_dtypes and torch: fp64 -> fp32 -> bf16 gives 1.0
    ("double rounding", "bf16", "nearest-even", "ieee", 1 + 2.0**-8 + 2.0**-30, 1.0078125),
    ("double rounding further out", "bf16", "nearest-even", "ieee", 1 + 2.0**-8 + 2.0**-40, 1.0078125),
    ("double rounding, fp16", "fp16", "nearest-even", "ieee", 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-10),
    # a nearest conversion to fp32 first loses the direction
    ("a last bit below fp32", "fp16", "up", "ieee", 1 + 2.0**-24, 1.0009765625),
    ("a last bit below fp32, down", "fp16", "down", "ieee", 1 - 2.0**-40, 1 - 2.0**-11),
    ("a last bit below fp32, odd", "fp16", "to-odd", "ieee", 1 + 2.0**-40, 1.0009765625),
    # CPFloat loses the sign of -0 under up and down
    ("-0 up", "fp16", "up", "ieee", -0.0, -0.0),
    ("-0 down", "bf16", "down", "ieee", -0.0, -0.0),
    ("to -0 up", "fp16", "up", "ieee", -(2.0**-30), -0.0),
    ("to -0 nearest", "bf16", "nearest-even", "ieee", -(2.0**-140), -0.0),
    ("away from 0 down", "fp16", "down", "ieee", -(2.0**-30), -(2.0**-24)),
    # IEEE 754-2019, 7.4: directed overflow
    ("toward zero stays", "fp16", "toward-zero", "ieee", 1e6, 65504.0),
    ("down stays", "fp16", "down", "ieee", 1e6, 65504.0),
    ("down goes", "fp16", "down", "ieee", -65504.001, -INF),
    ("up goes", "fp16", "up", "ieee", 65504.001, INF),
    ("up stays", "fp16", "up", "ieee", -1e300, -65504.0),
    ("odd stays", "bf16", "to-odd", "ieee", 1e39, float.fromhex("0x1.FEp127")),
    ("an infinity is not an overflow", "fp16", "toward-zero", "ieee", INF, INF),
    # e4m3fn: torch saturates even infinity where NaN is asked for
    ("tie at the end", "e4m3fn", "nearest-even", "ieee", 464.0, 448.0),
    ("above the end", "e4m3fn", "nearest-even", "ieee", 464.0001, NAN),
    ("tie at the end, away", "e4m3fn", "nearest-away", "ieee", 464.0, NAN),
    ("infinity", "e4m3fn", "nearest-even", "ieee", INF, NAN),
    ("infinity toward zero", "e4m3fn", "toward-zero", "ieee", -INF, NAN),
    ("beyond toward zero", "e4m3fn", "toward-zero", "ieee", 1e9, 448.0),
    ("odd has no 480", "e4m3fn", "to-odd", "ieee", 449.0, 448.0),
    ("saturate", "e4m3fn", "nearest-even", "saturate", 464.0001, 448.0),
    ("saturate infinity", "e4m3fn", "nearest-even", "saturate", -INF, -448.0),
    ("saturate keeps NaN", "e4m3fn", "nearest-even", "saturate", NAN, NAN),
    ("e5m2 threshold", "e5m2", "nearest-even", "ieee", 61440.0, INF),
    ("e5m2 below the threshold", "e5m2", "nearest-even", "ieee", 61439.0, 57344.0),
]


@pytest.mark.parametrize(
    ("name", "direction", "overflow", "x", "expected"), [row[1:] for row in TRAPS], ids=[row[0] for row in TRAPS]
)
def test_trap(name, direction, overflow, x, expected):
    rounding = Rounding(name, direction, overflow)
    for found in (round_array(np.array([x]), rounding)[0], round_exact(x, rounding)):
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.isnan(expected) or np.signbit(found) == np.signbit(expected)


def test_a_nan_whose_payload_would_truncate_to_infinity_stays_nan():
    nan = np.array([0x7F80_0001], np.uint32).view(np.float32)
    for name in ("fp16", "bf16", "e5m2", "e4m3fn"):
        rounded = round_array(nan, Rounding(name))
        assert np.isnan(rounded).all()
        assert np.isnan(rounded.astype(np.float64)).all()
        assert to_bits(rounded, name) != to_bits([np.inf] if name != "e4m3fn" else [448.0], name)


def test_fma_in_fp32_is_not_fp64_arithmetic_rounded():
    a, b, c = (np.float32([value]) for value in (64 * (1 + 2.0**-18), 1 - 2.0**-18, 2.0**30 + 128))
    twice = np.float32(a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64))
    assert twice == 1073742080
    assert fma(a, b, c, Rounding("fp32")) == 1073741952


def test_rounding_to_fp32_first_is_wrong_where_to_odd_is_right():
    x = np.array([1 + 2.0**-8 + 2.0**-30])
    assert round_array(x.astype(np.float32), Rounding("bf16"))[0] == 1.0
    odd = round_array(x, Rounding("fp32", "to-odd"))
    assert round_array(odd, Rounding("bf16"))[0] == 1.0078125
