"""Replay: run a trace again with some steps changed, and everything downstream of them.

Unchanged steps keep their recorded values. A region's steps run under their Change's rule; what leaves it is rounded
once to its declared format (exit `declared`), or read unrounded by its consumers, which round as declared (exit
`wide`). Exact regions climb the rungs interval, ball 128 ... 4,800 bits until every value that leaves rounds surely.
What the last rung does not separate from a boundary lies on it, and the format's tie rule decides
(machine/correct_rounding.py says why); what it does not know at all stands as the device had it.

Local error, counterfactuals, noise, injection, remedies and the UI's re-run are all this function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.errors import PrecDiffError
from precdiff.formats import Format, get_format, to_bits
from precdiff.machine import BallMachine, EmulatedMachine, IntervalMachine, Machine, MpMachine, Tensor
from precdiff.ops import OPS
from precdiff.rounding import Rounding, round_array
from precdiff.trace.change import Change, Region
from precdiff.trace.evaluate import recorded, run_step
from precdiff.trace.regions import consumers
from precdiff.trace.rules import rule
from precdiff.trace.step import Step, Trace

Changes = Mapping[str | Region, Change]

#: step -> (values that leave an exact region, where a rung was sure of them)
Settled = dict[str, tuple[np.ndarray, np.ndarray]]


def replay(trace: Trace, changes: Changes, profile: DeviceProfile | None = None) -> Trace:
    """The trace with `changes` (step id or Region -> Change) applied and all that depends on them re-run.

    `profile` replaces the trace's own for the steps that are re-run; with it, every step is. Steps of two regions must
    not overlap.
    """
    placed = _placed(trace, changes)
    settled: Settled = {}
    for rung in _rungs():
        replayed = _Replay(trace, placed, rung, profile, settled).run()
        if replayed is not None:
            return replayed
    raise PrecDiffError("no rung of the reference settled the replay")


@dataclass(frozen=True)
class _Placed:
    """A step's change, and the number of the region it shares with others."""

    change: Change
    region: int


def _placed(trace: Trace, changes: Changes) -> dict[str, _Placed]:
    placed: dict[str, _Placed] = {}
    for number, (where, change) in enumerate(changes.items()):
        for step in where.steps if isinstance(where, Region) else (where,):
            trace.step(step)
            if step in placed:
                raise PrecDiffError(f"step {step!r} is in two changes; join them or take one away")
            placed[step] = _Placed(change, number)
    return placed


def _rungs() -> Iterator[tuple[Machine, bool]]:
    """(ideal machine, whether it is the last)."""
    yield IntervalMachine(), False
    yield BallMachine(128), False
    yield BallMachine(400), False
    yield BallMachine(1200), False
    yield BallMachine(4800), True


#: a ball at the last rung that is narrower lies on a boundary; a wider one is a hull of several values
TOLERATED_ULP = 0.01


class _UndecidedError(Exception):
    """The current rung cannot round a value that leaves an exact region."""


class _Replay:
    """One pass at one rung. `inner` holds the regions' own tensors, `outer` what the rest of the trace reads."""

    def __init__(
        self, trace: Trace, changes: Mapping[str, _Placed], rung: tuple[Machine, bool],
        profile: DeviceProfile | None, settled: Settled,
    ) -> None:  # fmt: skip
        self.settled = settled
        self.trace = trace
        self.changes = changes
        self.ideal, self.last = rung
        self.base = EmulatedMachine(profile or trace.profile, np.random.default_rng(trace.seed))
        self.rerun_all = profile is not None
        self.inner: dict[str, Tensor] = {}
        self.outer: dict[str, Tensor] = {}
        self.readers = consumers(trace)

    def run(self) -> Trace | None:
        try:
            for step in self.trace.steps:
                self._step(step)
        except _UndecidedError:
            return None
        values = {**self.trace.values, **{id: t.planes[0] for id, t in self.outer.items()}}
        return dataclasses.replace(self.trace, values=values, profile=self.base.profile)

    def _step(self, step: Step) -> None:
        if step.id in self.changes:
            self._changed(step, self.changes[step.id].change)
        elif any(self._wide(i) for i in step.inputs):
            self._reads_wide(step)
        elif self.rerun_all or any(i in self.outer for i in step.inputs):
            self.outer[step.id] = run_step(step, [self._value(i) for i in step.inputs], self.base)

    def _changed(self, step: Step, change: Change) -> None:
        made = rule(change, step, self.base, self.trace.values)
        machine = made.machine or self.ideal
        inputs = made.operands(step, [self._inside(i, machine, self.changes[step.id].region) for i in step.inputs])
        declared = made.format or get_format(step.format)
        result = machine.apply(made.op or OPS[step.op], inputs, made.params(step), declared)
        result = made.result(step, result)
        self.inner[step.id] = result
        if self._leaves(step.id) or change.exit == "wide":
            self.outer[step.id] = self._lowered(step, result)

    def _reads_wide(self, step: Step) -> None:
        """A consumer of an unrounded value: it sees the value as the region's machine has it, and rounds as
        declared.
        """
        machine = next(self.inner[i].machine for i in step.inputs if self._wide(i))
        inputs = [self._inside(i, machine, -1) for i in step.inputs]
        result = machine.apply(OPS[step.op], inputs, step.params, get_format(step.format))
        # what only moves or chooses elements hands an unrounded one on
        self.outer[step.id] = self._lowered(step, result, moved=True)

    def _wide(self, tensor: str) -> bool:
        return tensor in self.changes and self.changes[tensor].change.exit == "wide"

    def _leaves(self, step: str) -> bool:
        """Whether anything outside the step's region reads it, or nothing at all does."""
        readers = self.readers.get(step, ())
        inside = all(r in self.changes and self.changes[r].region == self.changes[step].region for r in readers)
        return not (readers and inside) or step in self.trace.outputs.values()

    def _value(self, tensor: str) -> Tensor:
        return self.outer[tensor] if tensor in self.outer else recorded(self.trace, tensor, self.base)

    def _inside(self, tensor: str, machine: Machine, region: int) -> Tensor:
        """An operand of a region: its own unrounded tensor or that of a wide exit, else an outer value exactly."""
        mine = self.inner.get(tensor)
        shared = mine is not None and (self._wide(tensor) or self.changes[tensor].region == region)
        if mine is not None and shared and (mine.machine is machine or _same_kind(mine.machine, machine)):
            return mine
        if mine is not None and tensor not in self.outer:
            self.outer[tensor] = self._lowered(self.trace.step(tensor), mine)
        value = self._value(tensor)
        return machine.tensor(value.planes[0], value.format)

    def _lowered(self, step: Step, tensor: Tensor, moved: bool = False) -> Tensor:
        """The value rounded once to the step's declared format, as the device rounds."""
        declared = get_format(step.format)
        rounding = self.base.profile.rounding(declared, step.op) if declared.is_float else Rounding("fp64")
        if not tensor.machine.ideal:
            return self.base.tensor(self._narrowed(tensor, declared, rounding, moved), declared)
        return self.base.tensor(self._surely(step, tensor, rounding).astype(declared.carrier), declared)

    def _surely(self, step: Step, tensor: Tensor, rounding: Rounding) -> np.ndarray:
        """The rounded values of an ideal tensor, each from the first rung that was sure of it."""
        reals = tensor.machine.reals(tensor)
        values, decided = tensor.machine.rounded(tensor, rounding, self.base.rng)
        if step.id in self.settled:
            before, sure = self.settled[step.id]
            values, decided = np.where(sure, before, values), decided | sure
        self.settled[step.id] = values, decided
        if decided.all():
            return values
        if not self.last:
            raise _UndecidedError
        declared = get_format(step.format)
        boundary = reals.radius_ulp(declared) < TOLERATED_ULP if declared.is_float else np.zeros(decided.shape, bool)
        return np.where(decided | boundary, values, self.trace.values[step.id])

    def _narrowed(self, tensor: Tensor, declared: Format, rounding: Rounding, moved: bool) -> np.ndarray:
        values = tensor.planes[0]
        kept = (tensor.format == declared and not moved) or not declared.is_float
        return values if kept else round_array(values, rounding, self.base.rng)


def _same_kind(one: Machine, other: Machine) -> bool:
    """Emulated machines share their representation, whatever their profile; so do those of mpmath."""
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in (EmulatedMachine, MpMachine))


def same_bits(one: Trace, other: Trace, tensor: str) -> bool:
    """Whether a tensor has the same bits in two traces."""
    format = get_format(one.formats[tensor])
    return bool((to_bits(one.values[tensor], format) == to_bits(other.values[tensor], format)).all())
