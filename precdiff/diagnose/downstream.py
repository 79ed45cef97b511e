"""The outputs of a device as a function of what one step held: the equations that rebuilding.py solves.

A device that departs at one step follows the declared arithmetic from there on. `Tail` computes that part in fp64, in
ulps of each output (declared or the device's, the larger); `Problem` says which outputs can be used and what of them
has to be explained. Their `noise` is what the roundings after the step make: the declared run's distance from fp64.

It knows one trace and one step; it must not know causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from precdiff.formats import get_format, ulp
from precdiff.machine import HostMachine, Tensor
from precdiff.ops import OPS
from precdiff.trace import Step, Trace
from precdiff.trace.adjoint import sweep

_FP64 = get_format("fp64")
#: how a result was accumulated and delivered; fp64 does it its own way
_DELIVERY = ("acc", "out", "to", "mode", "through")
#: ulps (or so many medians) between fp64 and the declared run that are no rounding
_APART = 64.0
#: RMS ulps that a rounding to nearest leaves
_ROUNDING = 0.3


@dataclass(frozen=True)
class Tail:
    """The known outputs as a function of one step's tensor, in fp64 on the host, in ulps of each output."""

    trace: Trace
    step: str
    outputs: Sequence[str]
    actual: Mapping[str, np.ndarray]

    @cached_property
    def steps(self) -> list[Step]:
        """Those that depend on the step and lead to the outputs."""
        below, found = {self.step}, []
        for step in self.trace.steps:
            if step.id != self.step and any(i in below for i in step.inputs):
                below.add(step.id)
                found.append(step)
        return found

    @cached_property
    def machine(self) -> HostMachine:
        return HostMachine()

    @cached_property
    def known(self) -> dict[str, Tensor]:
        """The recorded tensors the steps read."""
        wanted = {i for s in self.steps for i in s.inputs} | set(self.outputs) | {self.step}
        return {id: self._entered(id, self.trace.values[id]) for id in wanted}

    @cached_property
    def unit(self) -> np.ndarray:
        """One ulp of each output, declared or the device's, the larger: either was rounded."""
        return np.maximum(self._ulps(self.trace.values), self._ulps(self.actual))

    @cached_property
    def normal(self) -> np.ndarray:
        """Where the outputs have all their digits: what underflowed says next to nothing, in very small ulps."""
        least = [np.full(self.trace.values[o].size, get_format(self.trace.formats[o]).min_normal) for o in self.outputs]
        with np.errstate(all="ignore"):
            sizes = np.maximum(*(np.abs(self.flat(v) * self.unit) for v in (self.trace.values, self.actual)))
            return np.asarray(sizes >= np.concatenate(least))

    def _ulps(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        numbers = [(np.asarray(values[o], np.float64), self.trace.formats[o]) for o in self.outputs]
        return np.concatenate([np.ravel(ulp(np.where(np.isfinite(v), v, 1.0), f)) for v, f in numbers])

    def flat(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The outputs, in their ulps."""
        with np.errstate(all="ignore"):
            found = np.concatenate([np.ravel(np.asarray(values[o], np.float64)) for o in self.outputs])
            return np.asarray(found / self.unit)

    def run(self, value: np.ndarray) -> dict[str, Tensor]:
        """All tensors from the step on."""
        made = {self.step: self._entered(self.step, value)}
        with np.errstate(all="ignore"):
            for step in self.steps:
                inputs = tuple(made[i] if i in made else self.known[i] for i in step.inputs)
                declared = get_format(step.format)
                params = {k: v for k, v in step.params.items() if k not in _DELIVERY}
                format = _FP64 if declared.is_float else declared
                made[step.id] = self.machine.apply(OPS[step.op], inputs, params, format)
        return made

    def __call__(self, value: np.ndarray) -> np.ndarray:
        made = self.run(value)
        return self.flat({o: made.get(o, self.known[o]).planes[0] for o in self.outputs})

    def pulled(self, seed: np.ndarray, at: Mapping[str, Tensor]) -> np.ndarray:
        """J^T seed, at these tensors."""
        values = {id: t.planes[0] for id, t in {**self.known, **at}.items()}
        part = replace(self.trace, steps=self.steps, values={id: self.trace.values[id] for id in values})
        ends = np.cumsum([self.trace.values[o].size for o in self.outputs])[:-1]
        pieces = np.split(seed / self.unit, ends)
        seeds = {o: p.reshape(self.trace.values[o].shape) for o, p in zip(self.outputs, pieces, strict=True)}
        found = sweep(part, values, seeds).get(self.step)
        return np.zeros(values[self.step].shape) if found is None else found

    def _entered(self, id: str, value: np.ndarray) -> Tensor:
        format = get_format(self.trace.formats[id])
        return self.machine.tensor(np.asarray(value, np.float64 if format.is_float else format.carrier),
                                   _FP64 if format.is_float else format)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """What is asked: `gap` of a value of the step is what it leaves of the outputs' deviations, in ulps."""

    tail: Tail
    start: np.ndarray
    usable: np.ndarray
    wanted: np.ndarray
    base: np.ndarray
    noise: float

    @property
    def before(self) -> float:
        return rms(self.wanted[self.usable])

    def gap(self, value: np.ndarray) -> np.ndarray:
        """Each output's deviation in ulps, less what this value of the step makes of it; 0 where not usable."""
        with np.errstate(all="ignore"):
            return np.where(self.usable, self.wanted - (self.tail(value) - self.base), 0.0)

    def at(self, t: float, direction: np.ndarray) -> np.ndarray:
        return self.gap(self.start + t * direction)


def problem(trace: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], step: Step) -> Problem | None:
    """The equations for one step's tensor; None where no output can be used."""
    tail, start = Tail(trace, step.id, outputs, actual), np.asarray(trace.values[step.id], np.float64)
    if not np.isfinite(start).all():
        return None
    device, meant, base = tail.flat(actual), tail.flat(trace.values), tail(start)
    usable = _usable(device, meant, base) & tail.normal
    if not usable.any():
        return None
    noise = max(rms((meant - base)[usable]), _ROUNDING)
    return Problem(tail, start, usable, np.where(usable, device - meant, 0.0), base, noise)


def _usable(wanted: np.ndarray, meant: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Numbers on all sides, where fp64 gives what was declared: not where the declared run left its range."""
    usable = np.isfinite(wanted) & np.isfinite(meant) & np.isfinite(base)
    with np.errstate(all="ignore"):
        apart = np.abs(meant - base)
    return usable & (apart <= _APART * max(float(np.median(apart[usable])) if usable.any() else 0.0, 1.0))


def rms(x: np.ndarray) -> float:
    """The root of the mean square; 0 of nothing, inf beyond fp64."""
    with np.errstate(over="ignore"):  # of a device's output anything is possible
        return float(np.sqrt(np.mean(np.square(x)))) if x.size else 0.0
