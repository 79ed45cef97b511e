"""What a case's outputs should be: the certified reference of the kernel on the case's inputs, rounded once.

    golden = round(r),  r enclosed tightly enough that both its ends round alike

An element for which no precision decides that (a value that lies on a boundary of rounding, or on a decision such as a
floor) counts as undecided and is the middle of its ball. What the emulated device gives plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from precdiff.diagnose.judgement import Judgement
from precdiff.formats import Array, Format, get_format
from precdiff.generate.subject import Subject
from precdiff.rounding import Rounding


@dataclass(frozen=True)
class Golden:
    """One output: carriers of its format, and how many elements are undecided."""

    values: Array
    format: Format
    undecided: int


def golden(subject: Subject, inputs: Mapping[str, np.ndarray]) -> dict[str, Golden]:
    """The outputs by name."""
    run = subject.run(inputs)
    judgement = Judgement(run.trace, subject.kernel)
    found = {}
    for name, id in run.trace.outputs.items():
        format, exact = get_format(run.trace.formats[id]), judgement.intended[id].values
        values, decided = exact.rounded(Rounding(format)) if format.is_float else exact.exact_values(format)
        found[name] = Golden(values, format, int(np.count_nonzero(~decided)))
    return found
