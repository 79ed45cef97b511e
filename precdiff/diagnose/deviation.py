"""Where a device's recorded step departs from the declared arithmetic on the step's own recorded inputs.

The facts by which a cause is recognised when no replay gives the very bits: on which elements, in which direction, by
how much, on which grid, at which span. It knows one step; it must not know causes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from precdiff import reference
from precdiff.diagnose.noise import NoiseVerdict, applies, noise_verdict
from precdiff.formats import Format, get_format, is_representable, to_bits, ulp
from precdiff.machine import EmulatedMachine, RealArray
from precdiff.trace import Step, Trace, evaluate, needed_for

#: elements that have to speak before a pattern is one
FEW = 8
#: bits of coincidence that are none: once in a million
CHANCE = 20
#: bits of coincidence on a grid that is sought among a few dozen
_LATTICE = 12
#: standard deviations within which a rebuilt value surely lies
_SURE = 4.0


@dataclass(frozen=True)
class Deviation:
    """`trace` holds the step, those its operands come from, and all recorded values; `declared` is what is meant."""

    trace: Trace
    step: Step
    declared: np.ndarray
    actual: np.ndarray
    #: steps of the whole trace whose tensors a stale read could hold
    versions: tuple[str, ...] = field(default=())
    #: whether the step's own recorded value is not known, so that `actual` is no more than `declared`
    blind: bool = False
    #: (values, standard deviation) where the step's value was not recorded but rebuilt from the outputs (rebuilding.py)
    rebuilt: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def format(self) -> Format:
        """The step's format."""
        return get_format(self.step.format)

    @cached_property
    def where(self) -> np.ndarray:
        """Where the bits differ."""
        return np.asarray(to_bits(self.declared, self.format) != to_bits(self.actual, self.format))

    @cached_property
    def exact(self) -> RealArray:
        """The op on the recorded inputs, exactly."""
        return reference.local(self.trace, [self.step.id])[self.step.id].values

    @cached_property
    def errors(self) -> np.ndarray:
        """actual - exact in ulps of the format, signed; NaN where one is no number."""
        return self._ulps(self.actual)

    @cached_property
    def declared_errors(self) -> np.ndarray:
        """declared - exact in ulps."""
        return self._ulps(self.declared)

    def _ulps(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            unit = ulp(np.where(np.isfinite(self.exact.hi), self.exact.hi, 1.0), self.format)
            return np.asarray(((np.asarray(values, np.float64) - self.exact.hi) - self.exact.lo) / unit)

    @cached_property
    def lost(self) -> np.ndarray:
        """Where the device has no number and the declared arithmetic has."""
        with np.errstate(invalid="ignore"):
            actual, declared = (np.isfinite(v.astype(np.float64)) for v in (self.actual, self.declared))
        return np.asarray(~actual & declared)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The flat range that holds every deviating element."""
        found = np.flatnonzero(self.where.ravel())
        return (int(found[0]), int(found[-1]) + 1) if found.size else (0, 0)

    @cached_property
    def grid(self) -> int:
        """The fewest significand bits that hold every recorded value; the format's own where that may be chance.

        n values of full precision all end in k zero bits once in 2^(n k) times.
        """
        if self.rebuilt is not None:
            return lattice(*self.rebuilt, self.format)
        return grid_of(self.actual, self.format) if self.format.is_float else self.format.p

    @cached_property
    def coarse(self) -> bool:
        """Whether what was recorded lies on a coarser grid than what was declared does."""
        return self.grid < min(self.format.p, grid_of(self.declared, self.format)) - 1

    @cached_property
    def noise(self) -> NoiseVerdict | None:
        """Noise or bug, where the step is a sum."""
        return noise_verdict(self.trace, self.step.id, self.actual) if applies(self.step) else None

    def sides(self) -> dict[str, float]:
        """Of the elements that err, the share that lies toward zero, above and below the exact value."""
        usable = np.isfinite(self.errors) & (self.errors != 0)
        errors = self.errors[usable]
        inward = np.sign(self.exact.hi)[usable] * errors
        sides = {"toward-zero": -inward, "up": errors, "down": -errors}
        return {name: float((side > 0).mean()) if side.size else 0.0 for name, side in sides.items()}

    def one_sided(self) -> str:
        """The direction in which the errors all lie (toward-zero, up, down), where enough of them do; else empty.

        Nearest rounding errs to both sides; whatever errs to one side by up to an ulp was rounded there.
        """
        errors = self.errors[np.isfinite(self.errors) & (self.errors != 0)]
        if errors.size < FEW or not (np.abs(errors) > 0.5).any():
            return ""
        return next((name for name, share in self.sides().items() if share > 0.98), "")


def grid_of(values: np.ndarray, format: Format) -> int:
    """The fewest significand bits that hold every value; the format's own where that may be chance."""
    own = format.p
    numbers = values[np.isfinite(values) & (values != 0)]
    narrower = [get_format(f"{format.name}@p{p}") for p in range(2, own)] if numbers.size else []
    found = next((f.p for f in narrower if is_representable(numbers, f).all()), own)
    return found if np.unique(np.abs(numbers)).size * (own - found) >= CHANCE else own


def lattice(values: np.ndarray, doubt: np.ndarray, format: Format) -> int:
    """The number of significand bits that holds values known to a standard deviation of `doubt`, where that is no
    chance (the likeliest of all numbers of bits); else the format's own.

    A value anywhere lies within t of a grid of spacing g once in g / 2 t times; only where 4 t < g does it speak.
    """
    x, t = np.ravel(np.abs(values)), np.ravel(_SURE * doubt) + 0.5 * np.ravel(ulp(values, format))
    speaking = np.isfinite(x) & np.isfinite(t) & (x >= format.min_normal)
    x, first = np.unique(x[speaking], return_index=True)
    t, own = t[speaking][first], ulp(x, format)
    coincidence = {p: _on_grid(x, t, own * 2.0 ** (format.p - p)) for p in range(2, format.p - 1)}
    best = max(coincidence, key=lambda p: coincidence[p], default=format.p)
    return best if coincidence.get(best, 0.0) >= _LATTICE else format.p


def _on_grid(x: np.ndarray, t: np.ndarray, spacing: np.ndarray) -> float:
    """Bits of coincidence in that the values x lie within t of multiples of `spacing`; each that does not costs all."""
    speaking = 4 * t < spacing
    off = np.abs(x - np.round(x / spacing) * spacing)[speaking]
    inside = off <= t[speaking]
    bits = np.log2(spacing[speaking] / (2 * t[speaking]))
    return float(bits[inside].sum() - CHANCE * np.count_nonzero(~inside))


def neighbourhood(trace: Trace, step: Step) -> Trace:
    """The step with the steps that make its operands; what those read are the inputs. All values are kept."""
    kept = [s for s in trace.steps if s.id == step.id or s.id in step.inputs]
    made = {s.id for s in kept}
    sources = {i for s in kept for i in s.inputs if i not in made}
    inputs = {i: i for i in sorted(sources)}
    return replace(trace, steps=kept, inputs=inputs, outputs={"out": step.id})


def emulated(trace: Trace, step: Step) -> np.ndarray:
    """The step on its recorded inputs, on the declared device."""
    machine = EmulatedMachine(trace.profile, np.random.default_rng(trace.seed))
    known = {i: machine.tensor(trace.values[i], get_format(trace.formats[i]), i) for i in step.inputs}
    return np.asarray(evaluate(trace, machine, [step.id], known)[step.id].planes[0])


def deviation(recorded: Trace, step: Step) -> Deviation | None:
    """The step's deviation; None where the recorded bits are what the declared arithmetic gives."""
    declared, actual = emulated(recorded, step), recorded.values[step.id]
    if np.array_equal(to_bits(declared, step.format), to_bits(actual, step.format)):
        return None
    return Deviation(neighbourhood(recorded, step), step, declared, actual, _older(recorded, step))


def unseen(declared: Trace, step: Step) -> Deviation:
    """A step whose recorded value nobody has."""
    value = declared.values[step.id]
    return Deviation(neighbourhood(declared, step), step, value, value, _older(declared, step), blind=True)


def _older(trace: Trace, step: Step) -> tuple[str, ...]:
    """Tensors a stale read of the step could find, the latest first."""
    before = needed_for(trace, [step.id]) - {step.id}
    return tuple(reversed([*trace.inputs.values(), *(s.id for s in trace.steps if s.id in before)]))
