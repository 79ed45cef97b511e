"""What a case's outputs should be: the certified reference of the kernel on the case's inputs, rounded once.

    golden = round(r),  r enclosed tightly enough that both its ends round alike

An element for which no precision decides that (a value that lies on a boundary of rounding, or on a decision such as a
floor) counts as undecided and is the middle of its ball. What the emulated device gives plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from precdiff import reference
from precdiff.diagnose.judgement import Judgement
from precdiff.formats import Array, Format, get_format
from precdiff.generate.subject import Subject
from precdiff.machine.realarray import FINITE, RealArray
from precdiff.rounding import Rounding
from precdiff.trace import Trace


@dataclass(frozen=True)
class Golden:
    """One output: carriers of its format, and how many elements are undecided."""

    values: Array
    format: Format
    undecided: int


def golden(subject: Subject, inputs: Mapping[str, np.ndarray]) -> dict[str, Golden]:
    """The outputs by name."""
    run = subject.run(inputs)
    meant = Judgement(run.trace, subject.kernel).reference_trace() or run.trace
    return {
        name: _rounded(meant, meant.outputs[name], get_format(run.trace.formats[id]))
        for name, id in run.trace.outputs.items()
    }


def _rounded(meant: Trace, tensor: str, format: Format) -> Golden:
    def once(exact: RealArray) -> tuple[Array, Array]:
        return exact.rounded(Rounding(format)) if format.is_float else exact.exact_values(format)

    def doubt(exact: RealArray, _: Format) -> Array:
        return np.asarray(~once(exact)[1] & ~_vanishes(exact, format))

    made = reference.total(meant, [tensor], doubt=doubt)[tensor]
    exact = reference.spot_check(meant, tensor, made, made.values.radius).values
    return Golden(once(exact)[0], format, int(np.count_nonzero(doubt(exact, format))))


def _vanishes(exact: RealArray, format: Format) -> Array:
    """Where only the sign of a zero is open: below fp64's range no pair of numbers tells it."""
    least = format.min_subnormal if format.is_float else 0.0
    return np.asarray((exact.kind == FINITE) & (2 * (np.abs(exact.hi) + np.abs(exact.lo) + exact.radius) < least))
