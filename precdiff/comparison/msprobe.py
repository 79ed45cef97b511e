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
_DIGITS, _NEARLY_ONE, _PLACES = 12, 0.9999, 6


def figures(actual: Array, expected: Array) -> dict[str, float]:
    """The figures of two carrier arrays of one shape; NaN where msprobe says unsupported or nan.

    >>> figures(np.float32([1.0, 2.0]), np.float32([1.0, 2.0]))["cosine"]
    1.0
    """
    n, b = (np.ravel(x) if np.ndim(x) else np.asarray(x).reshape(1) for x in (actual, expected))
    same, clean = _alike(n, b)
    if not n.size or not clean:
        return dict.fromkeys(NAMES, math.nan)
    n, b = np.where(same, 0, n), np.where(same, 0, b)
    found = {"max_abs": float(np.max(np.abs(n.astype(np.float64) - b.astype(np.float64)))), "max_rel": math.nan}
    relative = _relative(n, b)
    found["max_rel"] = float(np.max(relative))
    if n.size > 1 and np.ndim(np.squeeze(actual)):
        found |= {"cosine": _cosine(n, b), "euclidean": _euclidean(n, b)}
        found |= {
            f"within_{limit:.0e}".replace("e-0", "e-"): float(np.mean(relative < limit)) for limit in (1e-3, 5e-3)
        }
    return {name: _rounded(name, found.get(name, math.nan)) for name in NAMES}


def _alike(n: Array, b: Array) -> tuple[Array, bool]:
    """Elements that are the same non-finite value; whether all others are finite."""
    with np.errstate(invalid="ignore"):
        odd = ~(np.isfinite(n) & np.isfinite(b))
        same = odd & ((n == b) | (np.isnan(n) & np.isnan(b)))
    return same, bool((odd == same).all())


def _relative(n: Array, b: Array) -> Array:
    """r, in the widest of fp32 and both formats."""
    wide = np.result_type(n.dtype, b.dtype, np.float32)
    n, b = n.astype(wide), b.astype(wide)
    eps = np.where(b == 0, np.finfo(wide).eps, 0).astype(wide)
    with np.errstate(all="ignore"):
        return np.abs(((n + eps) - (b + eps)) / (b + eps))


def _cosine(n: Array, b: Array) -> float:
    n, b = n.astype(np.float64), b.astype(np.float64)
    sizes, eps = (float(np.linalg.norm(n)), float(np.linalg.norm(b))), float(np.finfo(np.float64).eps)
    small = [size <= eps for size in sizes]
    if any(small):
        return 1.0 if all(small) else math.nan
    cosine = float(np.dot(n, b) / (sizes[0] * sizes[1]))
    return round(cosine, _PLACES) if cosine > _NEARLY_ONE else cosine


def _euclidean(n: Array, b: Array) -> float:
    return float(np.linalg.norm(n.astype(np.float64) - b.astype(np.float64)))


def _rounded(name: str, x: float) -> float:
    return round(x, _DIGITS) if math.isfinite(x) and name != "euclidean" else x
