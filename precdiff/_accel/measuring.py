"""Twin of comparison/figures.py: every figure of a chunk in one pass, LANES elements at a time.

Each small loop is over whole rows of LANES, which LLVM turns into vector instructions without reordering an addition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LANES = 256
_LARGEST = 1.7976931348623157e308

_inner = njit(nogil=True, error_model="numpy")


@_inner
def _widen(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = np.float64(x[i])


@_inner
def _special(flags: Any, a: Any, r: Any, limit: Any) -> None:
    for i in range(a.size):
        ordinary = (abs(a[i]) <= _LARGEST) & (abs(r[i]) < limit)
        flags[i] = flags[i] if ordinary else 1


@_inner
def _spacing(bits: Any, spacing: Any, p: Any, emin: Any, emax: Any) -> None:
    """ulp(r) from the bits of r: its exponent field, clamped, less p - 1; below field 1 a subnormal power of two."""
    low, high = np.int64(emin + 1023), np.int64(emax + 1023)
    for i in range(bits.size):
        field = (bits[i] >> 52) & np.int64(0x7FF)
        field = max(low, field)
        field = (min(high, field)) - (p - 1)
        subnormal = np.int64(1) << ((field + 51) & np.int64(63))
        spacing[i] = field << 52 if field > 0 else subnormal


@_inner
def _errors(a: Any, r: Any, spacing: Any, ulps: Any, error: Any) -> None:
    for i in range(a.size):
        ulps[i] = (a[i] / spacing[i] - r[i] / spacing[i]) + 0.0  # never -0
        error[i] = ulps[i] * spacing[i]


@_inner
def _unavoidable(r: Any, spacing: Any, floor: Any, absolute: Any) -> None:
    """Distance from r to the nearest multiple of ulp(r), ties to even, in ULP and absolute."""
    for i in range(r.size):
        units = r[i] / spacing[i]
        below = np.floor(units)
        rest = units - below
        odd = below * 0.5 != np.floor(below * 0.5)
        up = 1.0 if (rest > 0.5) | ((rest == 0.5) & odd) else 0.0
        floor[i] = abs(rest - up)
        absolute[i] = floor[i] * spacing[i]


@_inner
def _add(lanes: Any, x: Any) -> None:
    for i in range(x.size):
        lanes[i] += x[i]


@_inner
def _add_size(lanes: Any, x: Any) -> None:
    for i in range(x.size):
        lanes[i] += abs(x[i])


@_inner
def _add_products(lanes: Any, x: Any, y: Any) -> None:
    for i in range(x.size):
        lanes[i] += x[i] * y[i]


@_inner
def _keep_largest(lanes: Any, x: Any) -> None:
    for i in range(x.size):
        size = abs(x[i])
        lanes[i] = max(lanes[i], size)


@_inner
def _keep_largest_ratio(lanes: Any, x: Any, y: Any) -> None:
    """0 / 0 is NaN, which is never larger."""
    for i in range(x.size):
        ratio = abs(x[i]) / abs(y[i])
        lanes[i] = max(lanes[i], ratio)


@_inner
def _count_signs(lanes: Any, x: Any, y: Any) -> None:
    for i in range(x.size):
        differ = ((x[i] < 0.0) & (y[i] > 0.0)) | ((x[i] > 0.0) & (y[i] < 0.0))
        lanes[i] += 1.0 if differ else 0.0


@_inner
def _folded(lanes: Any, sums: Any) -> None:
    """Add the lanes in halves."""
    for row in range(lanes.shape[0]):
        width = lanes.shape[1] // 2
        while width:
            for i in range(width):
                lanes[row, i] += lanes[row, i + width]
            width //= 2
        sums[row] = lanes[row, 0] + 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def measure(  # noqa: PLR0913 - numba knows no dataclasses
    actual: Any, expected: Any, p: Any, emin: Any, emax: Any, representable: Any, limit: Any, ulps: Any
) -> tuple[Any, Any]:
    """Fill `ulps`; return nine sums, and: whether anything is special, the largest |a| |r| |e| |u| f |f ulp|, |e / r|,
    and how many signs differ. The order of both is that of comparison/figures.py.
    """
    sums, largest = np.zeros((9, LANES)), np.zeros((9, LANES))
    row = np.empty((6, LANES))
    bits = row.view(np.int64)
    for start in range(0, actual.size, LANES):
        width = min(LANES, actual.size - start)
        a, r, unit = row[0, :width], row[1, :width], row[2, :width]
        e, floor, absolute = row[3, :width], row[4, :width], row[5, :width]
        u = ulps[start : start + width]
        _widen(actual[start : start + width], a)
        _widen(expected[start : start + width], r)
        _special(largest[0], a, r, limit)
        _spacing(bits[1, :width], bits[2, :width], p, emin, emax)
        _errors(a, r, unit, u, e)
        _add_size(sums[0], u)
        _add(sums[1], u)
        _add_products(sums[2], a, r)
        _add_products(sums[3], a, a)
        _add_products(sums[4], r, r)
        _add_products(sums[5], e, e)
        _add_products(sums[6], u, u)
        _keep_largest(largest[1], a)
        _keep_largest(largest[2], r)
        _keep_largest(largest[3], e)
        _keep_largest(largest[4], u)
        if not representable:
            _unavoidable(r, unit, floor, absolute)
            _add_products(sums[7], floor, floor)
            _add_products(sums[8], absolute, absolute)
            _keep_largest(largest[5], floor)
            _keep_largest(largest[6], absolute)
        _keep_largest_ratio(largest[7], e, r)
        _count_signs(largest[8], a, r)
    folded, most = np.empty(9), np.empty(9)
    _folded(sums, folded)
    for i in range(8):
        most[i] = largest[i].max()
    most[8] = largest[8].sum()
    return folded, most
