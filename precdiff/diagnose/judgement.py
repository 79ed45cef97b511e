"""Judge a trace by the standard `auto`: question (a) of every step, question (b) of every output (DESIGN 4).

(a) a step's local error against its op's a-priori bound: device and implementation faults; gives the first divergence.
(b) an output's total error against the kernel's limit: kernels that are as written but not accurate; then the first
    divergence is the step that carries the largest share of the failing elements' error.

References are made once and shared with the diagnosis. This file knows traces and kernels; comparison/ gets all of it
as data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from precdiff import reference
from precdiff.comparison import (
    Compared,
    Conventions,
    Errors,
    Expected,
    Identity,
    Limits,
    ReferenceInfo,
    TensorComparison,
    compare_tensor,
    overall,
)
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.problem import Problem, require_same_shape, split
from precdiff.diagnose.settings import Settings
from precdiff.formats import get_format, ulp, ulp_error
from precdiff.kernels import Kernel, Limit, run_kernel
from precdiff.kernels import ulp as ulp_limit
from precdiff.machine import RealArray
from precdiff.machine.realarray import FINITE
from precdiff.ops import OPS, Conversion
from precdiff.reference import Reference
from precdiff.trace import Step, Trace, replay


@dataclass
class Judgement:
    """The judgement of one trace; `kernel` gives the reference and the limit where it is known."""

    trace: Trace
    kernel: Kernel | None = None
    settings: Settings = field(default_factory=Settings)

    @cached_property
    def totals(self) -> dict[str, Reference]:
        """Ideal mathematics for every step, from the trace's own source."""
        return reference.total(self.trace, backend=self.settings.backend)

    @cached_property
    def locals_(self) -> dict[str, Reference]:
        """Every step exactly on its recorded inputs."""
        return reference.local(self.trace, backend=self.settings.backend)

    @cached_property
    def storages(self) -> dict[str, Reference]:
        """Ideal arithmetic with the declared float casts; the totals where there is no cast."""
        casts = any(isinstance(OPS[s.op], Conversion) for s in self.trace.steps)
        return reference.storage(self.trace, backend=self.settings.backend) if casts else self.totals

    @cached_property
    def intended(self) -> dict[str, Reference]:
        """What each output should be: the kernel's reference where it names one, spot-checked."""
        other = self.reference_trace()
        found = {}
        for name, tensor in self.trace.outputs.items():
            source, id = (self.trace, tensor) if other is None else (other, other.outputs[name])
            if other is None and tensor in self.trace.inputs:
                continue
            made = self.totals[id] if other is None else reference.total(other, [id], self.settings.backend)[id]
            require_same_shape(name, self.trace.values[tensor], made.values.hi)
            error = ulp_error(self.trace.values[tensor], _pair(made.values), self.trace.formats[tensor])
            found[tensor] = reference.spot_check(source, id, made, np.asarray(error))
        return found

    def reference_trace(self) -> Trace | None:
        """The steps of the kernel's reference on the same inputs, recorded in the inputs' own formats."""
        if self.kernel is None or self.kernel.reference is None:
            return None
        inner = self.kernel.reference
        function = inner.function if isinstance(inner, Kernel) else inner
        intended = dataclasses.replace(self.kernel, function=function, name=f"{self.kernel.name}.reference")
        inputs = {name: _typed(self.trace, id) for name, id in self.trace.inputs.items()}
        known = {k: v for k, v in self.trace.options.items() if k in intended.options}
        return run_kernel(intended, inputs, profile="ieee", options=known).trace

    @cached_property
    def limit(self) -> Limit:
        """The outputs' limit: the user's, the kernel's, or 4 ulp."""
        if self.settings.max_ulp is not None:
            return ulp_limit(self.settings.max_ulp)
        return self.kernel.limit if self.kernel is not None else ulp_limit(4)

    @cached_property
    def steps(self) -> dict[str, Compared]:
        """Question (a), a row a step; constants that are exact have nothing to say."""
        rows = {s.id: self._step(s) for s in self.trace.steps}
        silent = {s.id for s in self.trace.steps if s.op == "constant" and not rows[s.id].row.max_ulp > 0}
        return {id: row for id, row in rows.items() if id not in silent}

    def _step(self, step: Step) -> Compared:
        made = self.locals_[step.id]
        limits = Limits(
            role="intermediate", bound=reference.bound(self.trace, step, made.values), bound_unit="absolute",
            conventions=self._conventions(step.format),
        )  # fmt: skip
        identity = Identity(
            id=step.id, name=step.source.name or step.id, layer=step.layer, op=step.op, source=str(step.source),
            phase=step.phase, role="intermediate", paired_by="step",
        )  # fmt: skip
        found = compare_tensor(
            self.trace.values[step.id], _expected(made, "local"), step.format, "auto", limits, identity
        )
        return found._replace(row=dataclasses.replace(found.row, errors=self._errors(step.id)))

    def _errors(self, step: str, output: Reference | None = None) -> Errors:
        format = self.trace.formats[step]
        total = (output or self.totals[step]).values
        worst = {
            "total": _largest(self.trace.values[step], total, format),
            "storage": _largest(self.trace.values[step], self.storages[step].values, format),
            "local": _largest(self.trace.values[step], self.locals_[step].values, format),
            "inherited": _between(self.locals_[step].values, total, format, np.isfinite(self.trace.values[step])),
        }
        return Errors(**worst)

    @cached_property
    def outputs(self) -> dict[str, Compared]:
        """Question (b), a row an output."""
        return {name: self._output(name, id) for name, id in self._computed().items()}

    def judged(self, trace: Trace) -> tuple[float, bool]:
        """(largest ULP error of an output, whether all pass) of a replay."""
        rows = [self._output(name, id, trace).row for name, id in self._computed().items()]
        return max((row.max_ulp for row in rows), default=0.0), overall(row.verdict for row in rows) == "pass"

    def _computed(self) -> dict[str, str]:
        """The outputs that steps made; one that is an input has no step to judge."""
        inputs = self.trace.inputs.values()
        return {name: id for name, id in self.trace.outputs.items() if id in self.intended and id not in inputs}

    def _output(self, name: str, tensor: str, trace: Trace | None = None) -> Compared:
        step = self.trace.step(tensor)
        made = self.intended[tensor]
        identity = Identity(
            id=tensor, name=name, layer=step.layer, op=step.op, source=str(step.source), phase=step.phase,
            role="output", paired_by="reference",
        )  # fmt: skip
        values = (trace or self.trace).values[tensor]
        peer, function = self.settings.peer(name, step.format), self.settings.op or self._function(step)
        limits = dataclasses.replace(self._limits(step, name, trace), peer=peer, op=function)
        standard = self.settings.of(tensor, name, step.layer).standard
        found = compare_tensor(values, _expected(made, "total"), step.format, standard, limits, identity)
        return found._replace(row=dataclasses.replace(found.row, errors=self._errors(tensor, made)))

    def _function(self, step: Step) -> str:
        """What a limit by function is about: the op of a kernel of one step, else the kernel."""
        computed = [s for s in self.trace.steps if s.op != "constant"]
        return step.op if len(computed) == 1 else self.trace.kernel

    def _limits(self, step: Step, name: str, trace: Trace | None = None) -> Limits:
        conventions, settings = self._conventions(step.format), self.settings.of(step.id, name, step.layer)
        if self.limit.kind == "ulp":
            return settings.limits(role="output", max_ulp=self.limit.size, conventions=conventions)
        sums = reference.summed(trace or self.trace, step.id)
        if sums is None:
            return settings.limits(role="output", max_ulp=4.0, conventions=conventions)
        terms, u = sums
        return settings.limits(role="output", backward=self.limit.size * u, terms=terms, conventions=conventions)

    def _conventions(self, format: str) -> Conventions:
        row = get_format(format)
        overflow = self.trace.profile.rounding(row, "add").overflow if row.is_float else "ieee"
        return Conventions(overflow=overflow)

    @cached_property
    def problems(self) -> list[Problem]:
        """The failing elements of outputs, then of steps beyond their bound, split into finite and non-finite ones."""
        found: list[Problem] = []
        for name, compared in self.outputs.items():
            tensor = self.trace.outputs[name]
            if compared.row.verdict == "fail":
                found += self._output_problems(tensor, compared)
        for id, compared in self.steps.items():
            if compared.row.verdict == "fail" and not found:
                found += self._step_problems(id, compared)
        return found

    def _output_problems(self, tensor: str, compared: Compared) -> list[Problem]:
        step, values = self.trace.step(tensor), self.intended[tensor].values
        limits = self._limits(step, compared.row.name)
        if limits.backward is not None and limits.max_ulp is None and limits.terms is not None:
            unit = np.maximum((limits.backward / self.limit.size) * limits.terms, np.finfo(np.float64).tiny)
            return split(self.trace, tensor, values, compared.failing, self.limit.size, "u sum |terms|", unit)
        most = limits.max_ulp if limits.max_ulp is not None else 4.0
        return split(self.trace, tensor, values, compared.failing, most, "ULP", intended=self.reference_trace())

    def _step_problems(self, id: str, compared: Compared) -> list[Problem]:
        step = self.trace.step(id)
        values = self.locals_[id].values
        bound = reference.bound(self.trace, step, values)
        unit = np.maximum(bound, np.finfo(np.float64).tiny)
        alone = dataclasses.replace(reference.isolated(self.trace, step), kernel=self.trace.kernel)
        return split(alone, id, values, compared.failing, 1.0, "of the a-priori bound", unit)

    @cached_property
    def first_divergence(self) -> str | None:
        """The first step beyond its bound; else the step that carries most of the first failing output's error."""
        for id, compared in self.steps.items():
            if compared.row.verdict == "fail":
                return id
        if not self.problems:
            return None
        evidence = Evidence(self.problems[0], self.totals, self.locals_)
        return evidence.first_nonfinite or self._largest_share(evidence)

    def _largest_share(self, evidence: Evidence) -> str:
        shares = evidence.shares
        return max(shares, key=lambda id: shares[id]) if shares else evidence.problem.tensor

    @cached_property
    def decided_otherwise(self) -> list[str]:
        """The decisions (decide, cond, while_loop) that ideal mathematics takes the other way, or cannot take."""
        steps = [s for s in self.trace.steps if s.op == "decide"]
        return [s.id for s in steps if self.totals[s.id].values.values() != float(s.params["taken"])]

    @cached_property
    def candidates(self) -> list[tuple[str, list[TensorComparison]]]:
        """(profile, rows of the outputs) under every candidate of an assumed field that the trace touches."""
        rows = []
        for name, profile in self.trace.profile.envelope({s.op for s in self.trace.steps}):
            other = replay(self.trace, {}, profile)
            rows.append((name, [self._output(n, id, other).row for n, id in self._computed().items()]))
        return rows


def _expected(made: Reference, measures: Any) -> Expected:
    values = made.values
    info = ReferenceInfo(made.backend, made.bits, made.status, 0.0, made.checked)
    return Expected(values.hi, values.lo, values.radius, values.kind, info=info, measures=measures)


def _pair(values: RealArray) -> tuple[np.ndarray, np.ndarray]:
    return np.where(values.kind == FINITE, values.hi, values.values()), values.lo


def _typed(trace: Trace, tensor: str) -> np.ndarray:
    from precdiff.trace import native_values

    return native_values(trace, tensor)


def _largest(actual: np.ndarray, exact: RealArray, format: str) -> float | None:
    """The largest ULP error where both are numbers; None where there is none."""
    row = get_format(format)
    usable = (exact.kind == FINITE) & np.isfinite(actual)
    if not usable.any():
        return None
    if not row.is_float:
        return float(np.max(np.abs(np.asarray(actual, np.float64)[usable] - exact.hi[usable])))
    return float(np.max(ulp_error(actual[usable], (exact.hi[usable], exact.lo[usable]), row)))


def _between(one: RealArray, other: RealArray, format: str, kept: np.ndarray) -> float | None:
    """The largest distance of two exact values, in ulps at the second; not where the result overflowed or is NaN."""
    row = get_format(format)
    usable = (one.kind == FINITE) & (other.kind == FINITE) & kept
    if not usable.any():
        return None
    with np.errstate(over="ignore"):
        distance = np.abs((one.hi[usable] - other.hi[usable]) + (one.lo[usable] - other.lo[usable]))
        return float(np.max(distance / (ulp(other.hi[usable], row) if row.is_float else 1.0)))
