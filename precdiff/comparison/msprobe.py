"""msprobe's six figures of a pair, for those who know its sheets: the same definitions, to its decimals.

    cosine       n.b / (|n| |b|), rounded to 6 places above 0.9999; 1 where both norms are below the eps of fp64
    euclidean    sqrt(sum (n - b)^2)          max_abs   max |n - b|
    max_rel      max r, r = |(n - b) / b| in the widest of fp32 and both; eps added to n and b where b is 0
    within_1e-3, within_5e-3                  share of r below it

n actual, b expected, flattened; elements that are the same non-finite value on both sides count as 0, where others are
not finite all figures are NaN. One element has max_abs and max_rel only. All but euclidean are rounded to 12 places.
Source: mindstudio-probe 26.2.0, msprobe/core/compare/npy_compare.py, recomputed from its saved sheets. They are
figures, never a verdict.
"""

from __future__ import annotations

import math

import numpy as np

from precdiff.formats import Array

NAMES = ("cosine", "euclidean", "max_abs", "max_rel", "within_1e-3", "within_5e-3")
_LIMITS = {"within_1e-3": 1e-3, "within_5e-3": 5e-3}
#: elements at a time
BLOCK = 1 << 15
_DIGITS, _NEARLY_ONE, _PLACES = 12, 0.9999, 6


def figures(actual: Array, expected: Array) -> dict[str, float]:
    """The figures of two carrier arrays of one shape; NaN where msprobe says unsupported or nan.

    >>> figures(np.float32([1.0, 2.0]), np.float32([1.0, 2.0]))["cosine"]
    1.0
    """
    sheet = Sheet(np.shape(actual))
    sheet.add(np.ravel(actual), np.ravel(expected))
    return sheet.figures()


class Sheet:
    """The figures of a tensor of `shape` while pieces of it go by, as flat rows."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._alone = max(shape, default=1) <= 1
        self._count, self._clean = 0, True
        self._abs = self._rel = -math.inf
        self._below = dict.fromkeys(_LIMITS, 0)
        #: sums of (n - b)^2, n^2, b^2, n b
        self._sums: list[tuple[float, float, float, float]] = []

    def add(self, actual: Array, expected: Array) -> None:
        """Take a piece into account, BLOCK elements at a time, which stay in a core's cache."""
        for first in range(0, actual.size, BLOCK):
            self._add(actual[first : first + BLOCK], expected[first : first + BLOCK])

    def _add(self, n: Array, b: Array) -> None:
        same, clean = _alike(n, b)
        self._count, self._clean = self._count + n.size, self._clean and clean
        if not self._clean:
            return
        if same is not None:
            n, b = np.where(same, 0, n), np.where(same, 0, b)
        relative = _relative(n, b)
        self._rel = max(self._rel, float(relative.max()))
        for name, limit in _LIMITS.items():
            self._below[name] += int(np.count_nonzero(relative < limit))
        n, b = n.astype(np.float64), b.astype(np.float64)
        error = n - b
        self._abs = max(self._abs, float(np.abs(error).max()))
        self._sums.append((float(error @ error), float(n @ n), float(b @ b), float(n @ b)))

    def figures(self) -> dict[str, float]:
        """The figures of all of it."""
        if not self._count or not self._clean:
            return dict.fromkeys(NAMES, math.nan)
        found = {"max_abs": self._abs, "max_rel": self._rel}
        if not self._alone:
            squares, *others = (math.fsum(part) for part in zip(*self._sums, strict=True))
            found |= {"cosine": _cosine(*others), "euclidean": math.sqrt(squares)}
            found |= {name: below / self._count for name, below in self._below.items()}
        return {name: _rounded(name, found.get(name, math.nan)) for name in NAMES}


def _alike(n: Array, b: Array) -> tuple[Array | None, bool]:
    """Elements that are the same non-finite value, None for none; whether all others are finite."""
    odd = ~(np.isfinite(n) & np.isfinite(b))
    if not odd.any():
        return None, True
    with np.errstate(invalid="ignore"):
        same = odd & ((n == b) | (np.isnan(n) & np.isnan(b)))
    return same, bool((odd == same).all())


def _relative(n: Array, b: Array) -> Array:
    """r, in the widest of fp32 and both formats."""
    wide = np.result_type(n.dtype, b.dtype, np.float32)
    n, b = n.astype(wide), b.astype(wide)
    eps = np.where(b == 0, np.finfo(wide).eps, 0).astype(wide)
    with np.errstate(all="ignore"):
        return np.abs(((n + eps) - (b + eps)) / (b + eps))


def _cosine(actual: float, expected: float, product: float) -> float:
    """From the sums of n^2, b^2 and n b."""
    sizes, eps = (math.sqrt(actual), math.sqrt(expected)), float(np.finfo(np.float64).eps)
    small = [size <= eps for size in sizes]
    if any(small):
        return 1.0 if all(small) else math.nan
    cosine = product / (sizes[0] * sizes[1])
    return round(cosine, _PLACES) if cosine > _NEARLY_ONE else cosine


def _rounded(name: str, x: float) -> float:
    return round(x, _DIGITS) if math.isfinite(x) and name != "euclidean" else x
