"""A subject: the kernel data is made for, with a shape and a format for every input, and what a trial run tells of it.

Rows of data (classes/) ask it for typical values, for the steps' values on values of their own, and for the true
results; they never run anything themselves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.diagnose.judgement import Judgement
from precdiff.errors import KernelError, PrecDiffError
from precdiff.formats import Array, Format, carrier, get_format, native
from precdiff.generate.inputs import input_format, stream
from precdiff.generate.spec import MAX_AXES, MAX_ELEMENTS, Spec, generate, parse_spec
from precdiff.kernels import Kernel, Run, run_kernel
from precdiff.kernels.run import check_seed
from precdiff.machine import IntervalMachine, RealArray
from precdiff.reference.restrict import elementwise_tensors
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Trace, evaluate

#: of a kernel that gives no examples
DEFAULT_SHAPE = (8, 64)
_DEFAULT_SPEC = "normal(0,1,shape=(1,))"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Subject:
    """The kernel with the shape of every input; `common` is the format asked for."""

    kernel: Kernel
    common: Format
    shapes: Mapping[str, Shape]
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    profile: str | DeviceProfile = "ieee"

    @cached_property
    def formats(self) -> dict[str, Format]:
        """Each input's format: the kernel's own choice for it, else the common one."""
        return {name: input_format(self.kernel.formats.get(name), self.common) for name in self.shapes}

    @property
    def main(self) -> list[str]:
        """The inputs that hold the data: of no format of their own if there are such, and of the most axes of them."""
        own = self.kernel.formats
        names = [n for n in self.shapes if n not in own] or [n for n in self.shapes if self.formats[n] == self.common]
        most = max((len(self.shapes[name]) for name in names), default=0)
        return [name for name in names if len(self.shapes[name]) == most]

    def rng(self, row: str, name: str = "") -> np.random.Generator:
        """The random numbers of a row of data; an input of it has its own."""
        return stream(self.seed, f"{row}/{name}")

    def spec(self, name: str) -> Spec:
        """The example SPEC of an input, at the subject's shape."""
        spec = parse_spec(self.kernel.examples.get(name, _DEFAULT_SPEC))
        return dataclasses.replace(spec, shape=self.shapes[name])

    @cached_property
    def typical(self) -> dict[str, Array]:
        """Values of every input as the kernel's examples have them, in carriers."""
        return {n: generate(self.spec(n), self.rng("example", n), f) for n, f in self.formats.items()}

    def rounded(self, name: str, values: Array) -> Array:
        """fp64 values as carriers of the input's format, rounded once; integers saturate."""
        format = self.formats[name]
        if format.is_float:
            return np.asarray(round_array(np.asarray(values, np.float64), Rounding(format)))
        low, high = format.integer_range
        finite = np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=high, neginf=low)
        return np.asarray(round_array(np.clip(finite, low, high), Rounding(format)))

    def completed(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """All inputs in the ecosystem's dtypes: `values` rounded, the others typical."""
        own = {name: self.rounded(name, array) for name, array in values.items()}
        return {name: native({**self.typical, **own}[name], format) for name, format in self.formats.items()}

    def run(self, values: Mapping[str, Array]) -> Run:
        """A run on the emulated device; `values` are carriers or of the ecosystem's dtypes."""
        inputs = {n: native(carrier(a), self.formats[n]) for n, a in values.items()}
        return run_kernel(
            self.kernel, inputs, profile=self.profile, format=self.common, options=self.options, seed=self.seed
        )

    def runs(self, values: Mapping[str, Array]) -> bool:
        """Whether the kernel takes these inputs at all."""
        try:
            self.run(values)
        except PrecDiffError:
            return False
        return True

    @cached_property
    def is_elementwise(self) -> bool:
        """Whether every output's element depends on one element of every input."""
        trace = self.trial.trace
        same = len({self.shapes[name] for name in self.shapes}) == 1 and set(self.formats.values()) == {self.common}
        return same and elementwise_tensors(trace) >= set(trace.outputs.values())

    def output_formats(self) -> dict[str, Format]:
        """The format of each output."""
        trace = self.trial.trace
        return {name: get_format(trace.formats[id]) for name, id in trace.outputs.items()}

    @cached_property
    def trial(self) -> Run:
        """A run on the typical values."""
        return self.run(self.typical)

    @cached_property
    def intended(self) -> Trace:
        """The steps of the kernel's reference, its own source by default."""
        return Judgement(self.trial.trace, self.kernel).reference_trace() or self.trial.trace

    def ideal(self, points: Mapping[str, Array]) -> dict[str, RealArray]:
        """What each output of an elementwise subject should be at `points` (carriers), enclosed in fp64."""
        trace, machine = self.intended, IntervalMachine()
        given = {trace.inputs[name]: values for name, values in points.items()}
        part = dataclasses.replace(trace, values={**trace.values, **given})
        found = evaluate(part, machine, list(trace.outputs.values()))
        return {name: machine.reals(found[id]) for name, id in trace.outputs.items()}


def subject_of(kernel: Kernel, common: Format, shape: Shape | Mapping[str, Shape] | None, **more: Any) -> Subject:
    """The subject (`more` are its other fields), after one run that shows the kernel takes these shapes.

    Where every input has a format of its own, that of the first one is the common one, whatever is asked for.
    """
    check_seed(more.get("seed"))
    shapes = _shapes(kernel, shape)
    if shapes and all(name in kernel.formats for name in shapes):
        common = input_format(kernel.formats[next(iter(shapes))], common)
    made = Subject(kernel, common, shapes, **more)
    try:
        made.trial  # noqa: B018 - that it can be had is what is asked
    except KernelError as error:
        shown = ", ".join(f"{name} {list(s)}" for name, s in made.shapes.items())
        raise KernelError(f"no data for {kernel.name} in {common.name} with {shown}: {error}") from None
    return made


def _shapes(kernel: Kernel, asked: Shape | Mapping[str, Shape] | None) -> dict[str, Shape]:
    names = [name for name, needed in kernel.inputs.items() if needed or name in kernel.examples]
    if isinstance(asked, Mapping):
        return {n: _checked(s) for n, s in _named_shapes(kernel, names, asked).items()}
    asked = None if asked is None else _checked(asked)
    if not kernel.examples:
        return dict.fromkeys(names, DEFAULT_SHAPE if asked is None else asked)
    examples = {n: parse_spec(kernel.examples.get(n, _DEFAULT_SPEC)).shape or () for n in names}
    return examples if asked is None else _resized(kernel, examples, asked)


def _checked(shape: Any) -> Shape:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    if not all(type(n) is int and n >= 1 for n in sizes) or len(sizes) > MAX_AXES or math.prod(sizes) > MAX_ELEMENTS:
        raise PrecDiffError(
            f"shape: found {shape!r}; allowed are up to {MAX_AXES} whole numbers, as in (8, 64), "
            f"of {MAX_ELEMENTS:,} elements at most"
        )
    return tuple(sizes)


def _named_shapes(kernel: Kernel, names: list[str], asked: Mapping[str, Shape]) -> dict[str, Shape]:
    missing, foreign = [n for n in names if n not in asked], [n for n in asked if n not in kernel.inputs]
    if missing or foreign:
        raise KernelError(
            f"shape for {kernel.name}: found shapes of {', '.join(asked) or 'no input'}; "
            f"it takes {', '.join(kernel.inputs)}. Give one shape for each, or a single shape"
        )
    return {n: tuple(asked[n]) for n in kernel.inputs if n in asked}


def _resized(kernel: Kernel, examples: Mapping[str, Shape], asked: Shape) -> dict[str, Shape]:
    """The examples' shapes with `asked` for the first input: equal lengths of its axes change alike everywhere."""
    first = next(iter(examples.values()))
    lengths = dict(zip(first, asked, strict=True)) if len(first) == len(asked) else {}
    found = {}
    for name, shape in examples.items():
        if shape == first:
            found[name] = asked
        elif shape == first[len(first) - len(shape) :]:
            found[name] = asked[len(asked) - len(shape) :]
        elif lengths:
            found[name] = tuple(lengths.get(n, n) for n in shape)
        else:
            raise KernelError(
                f"shape {list(asked)} for {kernel.name}: its inputs differ, as in {dict(examples)}. "
                "Give a shape for each: a mapping from names to shapes"
            )
    return found
