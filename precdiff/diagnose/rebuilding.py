"""Rebuild a tensor nobody recorded: what one step must have held for the device to give the outputs it gave.

A device that departs at one step s follows the declared arithmetic from there on. With y(v) the outputs as a function
of what s holds, in fp64, and y the device's, the departure d solves

    min over d of |W (y(v + d) - y(v) - (y_device - y_declared))|,        W = 1 / ulp of each output,

by Gauss-Newton, each step by conjugate gradients on the normal equations (Hestenes and Stiefel 1952) with J from
differences, J^T from the adjoint sweep, and columns scaled to length one by random probes (E (J^T r)^2 = |column|^2 for
random signs r). What cannot be told from the outputs stays as declared. `doubt` is how far roundings after s may have
moved the solution: the same equations solved for random residuals of that size.

It knows one trace and one step; it must not know causes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from precdiff.diagnose.downstream import Tail, problem, rms
from precdiff.trace import Step, Trace

#: random vectors: the columns' lengths to a fifth, the doubt to a factor of two
_PROBES, _DRAWS = 12, 3
#: iterations of an outer step, of the doubt, and outer steps
_ITERATIONS, _SHORT, _OUTER = 40, 6, 12
#: of the outputs' deviation (RMS), what may be left where it is explained; and of the roundings after the step
_HALF, _ROUNDINGS = 0.5, 3.0
#: a relative difference that is small in fp64
_SMALL = 1e-6

Linear = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rebuilt:
    """`values` and their standard deviation `doubt` (fp64, the step's shape); RMS ulps of the outputs: `before` from
    declared to device, `left` once the step holds `values`, `noise` what the roundings after it make. `free`: elements
    the outputs depend on.
    """

    step: Step
    values: np.ndarray
    doubt: np.ndarray
    before: float
    left: float
    noise: float
    free: int

    @property
    def explains(self) -> bool:
        """Whether what is left is no more than the roundings after the step."""
        return self.left <= min(_HALF * self.before, max(_ROUNDINGS * self.noise, 1.0))


class _Equations:
    """J and J^T at one value of the step, on the usable outputs, the columns scaled to length one."""

    def __init__(self, tail: Tail, usable: np.ndarray, value: np.ndarray, rng: np.random.Generator) -> None:
        self.tail, self.usable, self.value, self.at = tail, usable, value, tail.run(value)
        probes = [self._pulled(rng.choice([-1.0, 1.0], usable.size)) for _ in range(_PROBES)]
        self.length = np.sqrt(np.mean(np.square(probes), axis=0))
        with np.errstate(divide="ignore"):
            self.scale = np.where(self.length > _SMALL**2 * self.length.max(), 1 / self.length, 0.0)

    def moved_to(self, value: np.ndarray) -> None:
        self.value, self.at = value, self.tail.run(value)

    def forward(self, z: np.ndarray) -> np.ndarray:
        d = z * self.scale
        size = np.where(self.value != 0, np.abs(self.value), np.max(np.abs(self.value), initial=0.0) or 1.0)
        h = _SMALL / max(float(np.max(np.abs(d) / size, initial=0.0)), np.finfo(np.float64).tiny)
        with np.errstate(all="ignore"):
            slope = (self.tail(self.value + h * d) - self.tail(self.value - h * d)) / (2 * h)
        return np.where(self.usable & np.isfinite(slope), slope, 0.0)

    def backward(self, r: np.ndarray) -> np.ndarray:
        return self._pulled(r) * self.scale

    def _pulled(self, seed: np.ndarray) -> np.ndarray:
        return self.tail.pulled(np.where(self.usable, seed, 0.0), self.at)


def rebuilt(
    trace: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], step: Step, rng: np.random.Generator
) -> Rebuilt | None:
    """What the step held for the device to give `actual` at `outputs` (floats); None where they do not tell."""
    asked = problem(trace, actual, outputs, step)
    if asked is None:
        return None
    equations = _Equations(asked.tail, asked.usable, asked.start, rng)
    if not np.isfinite(equations.scale).all() or not equations.scale.any():
        return None
    values, error = _solved(equations, asked.start, asked.gap, asked.noise)
    return Rebuilt(
        step, values, _doubt(equations, asked.noise, rng), asked.before, rms(error[asked.usable]),
        asked.noise, int(np.count_nonzero(equations.scale)),
    )  # fmt: skip


def along(
    trace: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], step: Step, direction: np.ndarray
) -> Rebuilt | None:
    """The one number t for which the step held its declared values + t * `direction`; `values` and `doubt` are t's."""
    asked = problem(trace, actual, outputs, step)
    if asked is None:
        return None
    h = _SMALL * (float(np.max(np.abs(asked.start), initial=0.0)) or 1.0) / float(np.max(np.abs(direction)))
    t, error, sure = 0.0, asked.at(0.0, direction), 0.0
    for _ in range(_OUTER):
        slope = (asked.at(t - h, direction) - asked.at(t + h, direction)) / (2 * h)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        sure = float(np.sum(slope**2))
        if sure == 0 or rms(error) < _SMALL:
            break
        move = float(np.sum(slope * error)) / sure
        tried = ((s, asked.at(s, direction)) for s in (t + move / 2**halved for halved in range(5)))
        better = next(((s, e) for s, e in tried if rms(e) < rms(error)), None)
        if better is None:
            break
        t, error = better
    if sure == 0:
        return None
    return Rebuilt(
        step, np.asarray(t), np.asarray(asked.noise / np.sqrt(sure)), asked.before, rms(error[asked.usable]),
        asked.noise, 1,
    )  # fmt: skip


def _solved(equations: _Equations, start: np.ndarray, gap: Linear, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """(the step's values, what they leave of the outputs' deviations in ulps)."""
    value, error = start, gap(start)
    for _ in range(_OUTER):
        step = least_squares(equations.forward, equations.backward, error, _ITERATIONS, 0.1 * noise) * equations.scale
        trials = ((value + damping * step) for damping in (1.0, 0.5, 0.25))
        tried = ((v, gap(v)) for v in trials)
        better = next(((v, e) for v, e in tried if rms(e) < rms(error)), None)
        if better is None:
            break
        slow = rms(better[1]) > 0.9 * rms(error)
        value, error = better
        if slow or rms(error) < noise:
            break
        equations.moved_to(value)
    return value, error


def _doubt(equations: _Equations, noise: float, rng: np.random.Generator) -> np.ndarray:
    """The standard deviation of each element that residuals of that size give; at least half of its own share."""
    residuals = (noise * rng.normal(size=equations.usable.size) for _ in range(_DRAWS))
    draws = [least_squares(equations.forward, equations.backward, e, _SHORT) * equations.scale for e in residuals]
    return np.maximum(np.sqrt(np.mean(np.square(draws), axis=0)), 0.5 * noise * equations.scale)


def least_squares(forward: Linear, backward: Linear, e: np.ndarray, most: int, enough: float = 0.0) -> np.ndarray:
    """min |J z - e| from z = 0: conjugate gradients on the normal equations, until the residual is `enough` RMS."""
    left, slope = e, backward(e)
    z, direction = np.zeros(slope.shape), slope
    size = start = float(np.sum(slope**2))
    for _ in range(most):
        image = forward(direction)
        energy = float(np.sum(image**2))
        if size <= _SMALL**2 * start or energy <= 0 or not np.isfinite(energy) or rms(left) < enough:
            break
        z, left = z + size / energy * direction, left - size / energy * image
        slope = backward(left)
        before, size = size, float(np.sum(slope**2))
        direction = slope + size / before * direction
    return z
