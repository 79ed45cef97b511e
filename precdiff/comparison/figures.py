"""What one pass over a chunk gives that metrics put together: sums, largest values, counts.

    sums of |u|, u, a r, a^2, r^2, e^2, u^2, f^2, (f ulp(r))^2      u = ULP error, e = a - r, f = unavoidable ULP error
    largest |u|, |e|, |e| / |r|                                      elements whose signs differ

`figures_of` is the definition. Its twin (_accel/measuring.py) does the whole pass from the carriers in one loop, with
the same roundings and the same order of additions, so a row has the same bits either way; it leaves alone chunks that
hold or need anything but plain numbers. Order of a sum: LANES lanes, element i in lane i mod LANES, at most 128 a lane
and chunk; the lanes are then added in halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from precdiff._accel.backend import accelerator
from precdiff.formats import Array, Format

LANES = 256

#: a sum as mantissa * 2^exponent
Scaled = tuple[float, int]


@dataclass(frozen=True)
class Figures:
    """Figures over the elements of a chunk where a number stands against a number; -inf is the largest of none."""

    numbers: int
    largest_abs: float
    largest_rel: float
    sum_distance: float
    sum_signed: float
    found_truth: Scaled
    found_found: Scaled
    truth_truth: Scaled
    error_error: Scaled
    ulps_ulps: Scaled
    floor_floor: Scaled
    unavoidable: Scaled
    opposite_signs: int


def figures_of(  # noqa: PLR0913 - the arrays of one chunk
    numbers: int, found: Array, truth: Array, error: Array, ulps: Array, floor: Array | None, spacing: Array
) -> Figures:
    """Figures of fp64 arrays, 0 where no number stands against a number; `ulps` are those of numbers alone."""
    unavoidable = None if floor is None else floor * spacing
    with np.errstate(over="ignore", invalid="ignore"):  # an error in ULP may itself be beyond fp64
        plain = total(np.abs(ulps)), total(ulps)
    return Figures(
        numbers, *(_largest(error, truth) if numbers else (-math.inf, -math.inf)), *plain,
        product(found, truth), product(found, found), product(truth, truth), product(error, error), product(ulps, ulps),
        (0.0, 0) if floor is None else product(floor, floor),
        (0.0, 0) if unavoidable is None else product(unavoidable, unavoidable),
        int(np.count_nonzero((np.signbit(found) != np.signbit(truth)) & (found != 0.0) & (truth != 0.0))),
    )  # fmt: skip


def _largest(error: Array, truth: Array) -> tuple[float, float]:
    size = np.abs(error)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.where(size == 0.0, 0.0, size / np.abs(truth))
    return float(size.max()), float(relative.max())


def total(x: Array) -> float:
    """The sum of an array in the order of the module docstring.

    >>> total(np.ones(1000))
    1000.0
    """
    whole = x.size - x.size % LANES
    lanes = x[:whole].reshape(-1, LANES).sum(axis=0)
    lanes[: x.size - whole] += x[whole:]
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    return float(lanes[0]) + 0.0  # the sum of nothing but -0 is 0


def product(x: Array, y: Array) -> Scaled:
    """The sum of products of two arrays of finite numbers, scaled by powers of two so that none over- or underflows.

    >>> product(np.array([3e200]), np.array([3e200]))[1] > 1000
    True
    """
    if not x.size:
        return 0.0, 0
    first, second = (_exponent(float(max(z.max(), -z.min()))) for z in (x, y))
    with np.errstate(over="ignore"):
        return total(_scaled(x, first) * _scaled(y, second)), first + second


def _exponent(largest: float) -> int:
    """Exponent to scale by; 0 in the wide range where products of two numbers are safe anyway."""
    exponent = math.frexp(largest)[1]
    return 0 if -200 < exponent < 400 or not largest else exponent


def _scaled(x: Array, exponent: int) -> Array:
    return np.ldexp(x, -exponent) if exponent else x


def measured(
    actual: Array, expected: Array, format: Format, representable: bool, limit: float
) -> tuple[Array, Figures] | None:
    """Signed ULP errors and Figures of two chunks of float32 or float64 by the twin; None where it does not apply.

    It applies where all is finite, every |expected| is below `limit` and no sum needs scaling.
    """
    twin: Callable[..., Array] | None = getattr(accelerator("measuring"), "measure", None)
    carriers = {actual.dtype.name, expected.dtype.name} <= {"float32", "float64"}
    if twin is None or not carriers or not format.is_float or not actual.size:
        return None
    ulps = np.empty(actual.size)
    shape = format.p, format.emin, format.emax, representable, limit
    found = twin(np.ascontiguousarray(actual), np.ascontiguousarray(expected), *shape, ulps)
    sums, largest = found[0], found[1]
    if largest[0] or not all(math.isfinite(x) and not _exponent(x) for x in largest[1:7].tolist()):
        return None
    plain: list[float] = sums[:2].tolist()
    scaled: list[Scaled] = [(value, 0) for value in sums[2:9].tolist()]
    most = float(largest[3]), float(largest[7])
    return ulps, Figures(actual.size, *most, *plain, *scaled, int(largest[8]))  # type: ignore[arg-type, call-arg]  # mypy counts no stars
