"""Where only outputs are known and no listed departure gives them: what hidden steps must have held tells the cause.

Each step's tensor is rebuilt from the outputs (rebuilding.py). A step whose rebuilt tensor brings the outputs back is
possible; of the possible, those with the fewest elements say most: a sum of 4 rows that accounts for 800 outputs is no
chance. What was rebuilt there is then read as a recorded value would be: a grid of few bits, one factor on every
element, a missing term, a span, a side. What one number explains (numbers.py) is told first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from precdiff.diagnose.departure import Imitated, Told
from precdiff.diagnose.deviation import FEW, Deviation, deviation
from precdiff.diagnose.numbers import Trial, one_number
from precdiff.diagnose.rebuilding import Rebuilt, rebuilt
from precdiff.diagnose.rule import IMITATIONS, Imitation
from precdiff.formats import get_format
from precdiff.ops import OPS, Layout
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Step, Trace, needed_for

#: times the fewest elements that are as few
_AS_FEW = 1.1
#: standard deviations beyond which an element has moved
_MOVED = 3.0
#: changes tried for a cause
_CHANGES = 8
#: of the deviation's energy, less than what the nearest change may leave to be told
_HALF = 0.5
#: causes any departure upstream is mistaken for where the step's own operands are as declared
_WEAK = ("inaccurate_intrinsic", "wrong_rounding_cast", "tie_flip", "constant_truncated")


def told(
    declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], trial: Trial, end: float
) -> Told | None:
    """The cause the hidden steps tell; None where they tell nothing."""
    if not _numbers(declared, actual, outputs):
        return None
    one, spent = one_number(declared, actual, outputs, _candidates(declared, outputs), trial, end)
    if one is not None:
        return one
    possible = list(_possible(declared, actual, outputs, end))
    least = _AS_FEW * min((row.free for row in possible), default=0)
    claims = sorted(_claims(declared, [row for row in possible if row.free <= least]), key=lambda claim: claim[0])
    if not claims:
        return None
    _, row, found, why = claims[0]
    return _tried(found, row, why, trial, spent)


def _numbers(declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str]) -> bool:
    """Whether the outputs are floats, and numbers on the device where they are in the run."""
    if not all(get_format(declared.formats[o]).is_float for o in outputs):
        return False
    return all(np.array_equal(np.isfinite(declared.values[o]), np.isfinite(actual[o])) for o in outputs)


def _possible(
    declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], end: float
) -> Iterator[Rebuilt]:
    """Steps that bring the outputs back, the small ones first; none that has more elements than the first such."""
    rng, least = np.random.default_rng(declared.seed), float("inf")
    steps = (step for step in _candidates(declared, outputs) if step.op != "constant")
    for step in sorted(steps, key=lambda step: declared.values[step.id].size):
        if time.monotonic() > end or declared.values[step.id].size > least:
            return
        row = rebuilt(declared, actual, outputs, step, rng)
        if row is not None and row.explains:
            least = min(least, declared.values[step.id].size)
            yield row


def _candidates(declared: Trace, outputs: Sequence[str]) -> list[Step]:
    needed = needed_for(declared, outputs)
    return [s for s in declared.steps
            if s.id in needed and get_format(s.format).is_float and not isinstance(OPS[s.op], Layout)]  # fmt: skip


def _seen(declared: Trace, row: Rebuilt) -> Deviation | None:
    """The step as though what was rebuilt had been recorded; what moved by no more than doubt stays as declared."""
    step, own = row.step, declared.values[row.step.id]
    moved = np.abs(row.values - own) > _MOVED * row.doubt
    held = np.where(moved, row.values, own)
    rounding = Rounding(get_format(step.format), overflow="saturate")
    recorded = replace(declared, values={**declared.values, step.id: round_array(held, rounding).astype(own.dtype)})
    found = deviation(recorded, step)
    return None if found is None else replace(found, rebuilt=(row.values, row.doubt))


def _claims(declared: Trace, rows: Sequence[Rebuilt]) -> Iterator[tuple[int, Imitation, Deviation, str]]:
    """(rank, cause, step, why): what each possible step's evidence says; a grid before all else."""
    order = {step.id: number for number, step in enumerate(declared.steps)}
    for row in sorted(rows, key=lambda row: order[row.step.id]):
        found = _seen(declared, row)
        if found is None:
            continue
        if found.coarse:
            narrow = IMITATIONS["intermediate_too_narrow"]
            yield 5, narrow, found, narrow.recognised(found)
        for cause, imitation in IMITATIONS.items():
            why = "" if cause in _WEAK else imitation.recognised(found)
            if why and (cause != "missing_sync" or _dense(found)):
                yield imitation.rank, imitation, found, why


def _dense(found: Deviation) -> bool:
    """Whether the elements that moved are several and fill their span."""
    start, stop = found.span
    count = int(np.count_nonzero(found.where))
    return count >= FEW and count >= (stop - start) / 2


def _tried(found: Deviation, row: Imitation, why: str, trial: Trial, spent: int) -> Told:
    """The claim with the change that comes nearest to the outputs."""
    made = [m for m in (trial(row, changes) for changes in islice(row.changes(found), _CHANGES)) if m is not None]
    best = min(made, key=lambda m: (m.differing, m.left), default=None)
    nothing = Imitated(row, {}, int(np.count_nonzero(found.where)), 1.0)
    return Told(found, best if best is not None and best.left < _HALF else nothing, why, spent + len(made))
