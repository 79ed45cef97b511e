"""Evidence: what one pass over a problem's trace tells of every step.

Local errors and exact values come from the reference, shares and cotangents from one adjoint sweep, condition numbers
from the vjp rows. Everything is computed when first asked for and kept. Rules read it; they never compute references
themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from precdiff import reference
from precdiff.device import get_profile
from precdiff.diagnose.problem import Problem
from precdiff.diagnose.sharpening import sharpened_error
from precdiff.formats import Format, get_format
from precdiff.machine import EmulatedMachine, RealArray
from precdiff.machine.realarray import FINITE
from precdiff.ops import OPS
from precdiff.reference import Reference
from precdiff.trace import Step, needed_for, sweep


class Evidence:
    """Evidence about one Problem; `totals` and `locals_` may be handed in where they are already known."""

    def __init__(
        self,
        problem: Problem,
        totals: Mapping[str, Reference] | None = None,
        locals_: Mapping[str, Reference] | None = None,
    ) -> None:
        self.problem = problem
        self.trace = problem.trace
        self._totals = totals
        self._locals = locals_
        self._local_errors: dict[str, np.ndarray] = {}
        self._total_errors: dict[str, np.ndarray] = {}

    @cached_property
    def steps(self) -> list[Step]:
        """The steps the failing tensor depends on, in execution order."""
        needed = needed_for(self.trace, [self.problem.tensor])
        return [s for s in self.trace.steps if s.id in needed]

    @cached_property
    def totals(self) -> Mapping[str, Reference]:
        """Exact values of every step (ideal mathematics)."""
        wanted = [s.id for s in self.steps]
        return self._totals if self._totals is not None else reference.total(self.trace, wanted)

    @cached_property
    def locals_(self) -> Mapping[str, Reference]:
        """Every step exactly, on its own recorded inputs."""
        wanted = [s.id for s in self.steps]
        return self._locals if self._locals is not None else reference.local(self.trace, wanted)

    def format(self, tensor: str) -> Format:
        """A tensor's declared format."""
        return get_format(self.trace.formats[tensor])

    def values(self, tensor: str) -> np.ndarray:
        """A tensor's recorded values in fp64."""
        return np.asarray(self.trace.values[tensor], np.float64)

    def exact(self, tensor: str) -> RealArray:
        """A step's exact values."""
        return self.totals[tensor].values

    def local_error(self, step: str) -> np.ndarray:
        """recorded - exact on recorded inputs, fp64; 0 where either is not finite."""
        if step not in self._local_errors:
            alone = reference.isolated(self.trace, self.trace.step(step))
            self._local_errors[step] = sharpened_error(alone, step, self.locals_[step].values)
        return self._local_errors[step]

    @cached_property
    def cotangents(self) -> dict[str, np.ndarray]:
        """The adjoint sweep seeded with e / unit^2 over the finite failing elements, in units of `_scale`."""
        with np.errstate(all="ignore"):
            seed = self._error_in_units * (self._scale / self._unit)
        return sweep(self.trace, self._points, {self.problem.tensor: np.where(np.isfinite(seed), seed, 0.0)})

    @cached_property
    def _error_in_units(self) -> np.ndarray:
        """The output error of the failing elements in units; 0 elsewhere."""
        with np.errstate(all="ignore"):
            error = np.where(self.problem.mask, self.output_error / self._unit, 0.0)
        return np.where(np.isfinite(error), error, 0.0)

    @cached_property
    def _scale(self) -> float:
        """The largest unit of a failing element: 1 / unit^2 itself would overflow for tiny results in fp64."""
        return float(np.max(self._unit, where=self.problem.mask, initial=0.0)) or 1.0

    @property
    def output_error(self) -> np.ndarray:
        """recorded - expected of the failing tensor, fp64."""
        expected = self.problem.expected
        with np.errstate(invalid="ignore"):
            return np.asarray((self.values(self.problem.tensor) - expected.hi) - expected.lo)

    @cached_property
    def _unit(self) -> np.ndarray:
        from precdiff.formats import ulp

        problem = self.problem
        return ulp(np.where(problem.expected.kind == FINITE, problem.expected.hi, 1.0), problem.format)

    @cached_property
    def _points(self) -> dict[str, np.ndarray]:
        """Where to differentiate: exact values, recorded ones where nothing exact is known."""
        points = {id: self.values(id) for id in self.trace.values}
        for step in self.steps:
            exact = self.exact(step.id).values()
            points[step.id] = np.where(np.isfinite(exact), exact, points[step.id])
        return points

    @cached_property
    def shares(self) -> dict[str, float]:
        """Signed first-order share of every step in the failing elements' squared error; they sum to about 1."""
        with np.errstate(over="ignore"):
            energy = float(np.sum(self._error_in_units**2))
        found = [s.id for s in self.steps if energy > 0 and s.id in self.cotangents]
        return {id: float(np.sum(self.flow(id, self.local_error(id)))) / energy for id in found}

    def flow(self, step: str, error: np.ndarray) -> np.ndarray:
        """What an error of each element of the step adds to the output's squared error, to first order; 0 where that
        is not finite.
        """
        with np.errstate(all="ignore"):
            flow = self.cotangents[step] * (error / self._scale)
        return np.where(np.isfinite(flow), flow, 0.0)

    def born_at(self, covered: float = 0.9, least: float = 0.02) -> list[str]:
        """The fewest steps whose shares make up `covered` of all positive shares, each at least `least`."""
        ranked = sorted(((share, id) for id, share in self.shares.items() if share > 0), reverse=True)
        total = sum(share for share, _ in ranked)
        chosen: list[str] = []
        so_far = 0.0
        for share, id in ranked:
            if so_far >= covered * total or (chosen and share < least * total):
                break
            chosen.append(id)
            so_far += share
        return [s.id for s in self.steps if s.id in chosen]

    @cached_property
    def first_nonfinite(self) -> str | None:
        """The first step that gave an infinity or NaN for a finite exact value, where that reaches the failing
        elements; shares say nothing of it.
        """
        for step in self.steps:
            if (self.lost(step.id) & self.touched(step.id)).any():
                return step.id
        return None

    def lost(self, tensor: str) -> np.ndarray:
        """Where a step gave an infinity or NaN for a finite exact value."""
        if tensor not in self.totals:
            return np.zeros(self.values(tensor).shape, bool)
        return np.asarray(~np.isfinite(self.values(tensor)) & (self.exact(tensor).kind == FINITE))

    def touched(self, step: str) -> np.ndarray:
        """Mask of the step's elements that influence the failing elements (by a non-zero cotangent, else by place)."""
        if self.problem.group == "finite" and step in self.cotangents:
            touched = np.broadcast_to(self.cotangents[step] != 0, self.values(step).shape)
            if touched.any():
                return touched
        shape = self.values(step).shape
        return self.problem.mask if shape == self.problem.mask.shape else np.ones(shape, bool)

    def condition(self, step: Step) -> np.ndarray:
        """The largest |x df/dx| / |f| of the operands per element, at the exact values: the step's relative condition
        number, the factor by which a relative error of one operand grows (0 where that is 0/0: nothing to magnify).
        """
        machine = EmulatedMachine(get_profile("ieee"))
        fp64 = get_format("fp64")
        output = machine.tensor(self._points[step.id], fp64)
        inputs = [
            machine.tensor(
                np.asarray(self._points[i], self.format(i).carrier if self.format(i).kind != "float" else "float64"),
                fp64 if self.format(i).is_float else self.format(i),
            )
            for i in step.inputs
        ]
        vjp = getattr(OPS[step.op], "vjp", None)
        if vjp is None:
            return np.zeros(output.shape)
        ones = machine.tensor(np.ones(output.shape), fp64)
        with np.errstate(all="ignore"):
            gradients = vjp(
                ones, output, *inputs, **{k: v for k, v in step.params.items() if k not in ("acc", "out", "to", "mode")}
            )
            weights = [
                np.abs(g.planes[0] * x.planes[0]) for g, x in zip(gradients, inputs, strict=True) if g is not None
            ]
            condition = functools.reduce(np.fmax, weights) / np.abs(output.planes[0])
        return np.where(np.isnan(condition), 0.0, condition)

    def shadowed(self, step: str) -> bool:
        """Whether the recorded values that matter equal the exact ones rounded once: nothing went wrong up to here."""
        format = self.format(step)
        if not format.is_float:
            return not self.inexact(step).any()
        rounded, decided = self.exact(step).rounded(self.trace.profile.rounding(format, "cast"))
        with np.errstate(invalid="ignore"):
            same = (rounded == self.values(step)) | (np.isnan(rounded) & np.isnan(self.values(step)))
        return bool((same & decided)[self.touched(step)].all())

    def inexact(self, tensor: str) -> np.ndarray:
        """Where a step's recorded value is not its exact value, or infinite where that is finite."""
        return np.asarray((self.total_error(tensor) != 0) | self.lost(tensor))

    def total_error(self, tensor: str) -> np.ndarray:
        """recorded - exact, fp64; 0 where either is not finite, and for inputs, which are exact."""
        if tensor not in self.totals:
            return np.zeros(self.values(tensor).shape)
        if tensor not in self._total_errors:
            self._total_errors[tensor] = sharpened_error(self.trace, tensor, self.exact(tensor))
        return self._total_errors[tensor]
