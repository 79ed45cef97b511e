"""Explain a device: which departure from the declared arithmetic gives the bits it gave.

Given the declared run and the device's values of its tensors:

    all steps      the first step whose recorded bits are not what the declared arithmetic makes of the step's own
                   recorded inputs is where it departs (no replay); imitations of that step alone are replayed, those of
                   recognised causes first, until one gives the very bits
    outputs only   imitations of every step, and of all steps alike, are replayed through the whole run and compared at
                   the outputs

What reproduces the bits is verified. Where nothing does, the cause the evidence recognises is a candidate, with the
nearest imitation beside it. A sum that another order of the declared arithmetic explains is no fault and passed over.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from precdiff.diagnose.departure import Imitated, finding_of, rms
from precdiff.diagnose.deviation import Deviation, deviation, unseen
from precdiff.diagnose.finding import Finding, Standing
from precdiff.diagnose.hidden import told
from precdiff.diagnose.measuring import measured
from precdiff.diagnose.naming import NEAR, REPLAYS, distance, named, no_fault
from precdiff.diagnose.problem import Group
from precdiff.diagnose.proof import describe
from precdiff.diagnose.rule import IMITATIONS, Changes, Imitation
from precdiff.errors import PrecDiffError
from precdiff.formats import to_bits
from precdiff.trace import Change, Region, Trace, replay

#: kinds of change that are a unit's, not a line's: a device that has them has them at every step
_UNITS = ("direction", "tie_rule", "subnormals", "accumulator", "operands", "approximation", "order", "format")
#: causes whose changes may pass a format of too small a range
_TOO_SMALL = ("intermediate_too_narrow", "wrong_rounding_cast")
#: possibilities of a cause at a step that are tried before those of whole devices, and before its rest
_FIRST = 16
#: whole replays tried where only outputs are known
SEARCHED = 2000


def explain_device(
    declared: Trace, actual: Mapping[str, np.ndarray], budget: float = float("inf"), replays: tuple[int, int] = REPLAYS
) -> list[Finding]:
    """The findings for a device that gave `actual` (by tensor id) where `declared` was meant; best first."""
    unknown = [id for id in actual if id not in declared.values]
    if unknown:
        raise PrecDiffError(f"explain: the run has no tensor {unknown[0]!r}; it has {', '.join(declared.values)}")
    end = time.monotonic() + budget
    recorded = dataclasses.replace(declared, values={**declared.values, **actual})
    if all(step.id in actual for step in declared.steps):
        return _located(recorded, end, replays)
    return searched(declared, actual, end)


def _located(recorded: Trace, end: float, replays: tuple[int, int]) -> list[Finding]:
    """The first step that departs beyond what another order explains; else the first legal departure."""
    legal: list[Finding] = []
    for step in recorded.steps:
        found = deviation(recorded, step)
        if found is None:
            continue
        finding = named(found, end, replays)
        if finding.cause != "reduction_order":
            return [finding]
        legal = legal or [no_fault(finding)]
    return legal


def searched(declared: Trace, actual: Mapping[str, np.ndarray], end: float) -> list[Finding]:
    """Outputs only: the departure that makes the whole run give the device's outputs, or the nearest."""
    missed = [id for id in actual if not _equal(declared.values[id], actual[id], declared.formats[id])]
    if not missed:
        return []
    last = _at_the_output(declared, actual, missed[0], end)
    if last is not None and last.cause == "reduction_order":
        return [no_fault(last)]
    if last is not None and last.standing == "verified":
        return [last]
    best, count = _nearest(declared, actual, missed, end)
    count += 0 if last is None else int(last.evidence["replays"])
    if best is None or best[1].differing:
        best, more = _measured(declared, actual, missed, end, best)
        count += more
    rebuilt = _hidden(declared, actual, missed, end, count) if best is None or best[1].left > 0.05 else None
    if rebuilt is not None:
        return [rebuilt]
    if best is None or best[1].left >= NEAR:
        return [] if last is None else [dataclasses.replace(last, evidence={**last.evidence, "replays": count})]
    legal = best[1].imitation.cause == "reduction_order"
    standing: Standing = "verified" if best[1].differing == 0 and not legal else "candidate"
    why = "of all departures, this one comes nearest to the outputs"
    finding = _over_its_steps(finding_of(*best, count, standing, why), declared, best[1].changes)
    return [_seen_at_the_outputs(finding, declared, actual, missed)]


def _hidden(
    declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str], end: float, count: int
) -> Finding | None:
    """What the hidden steps tell."""

    def trial(row: Imitation, changes: Changes) -> Imitated | None:
        return _through(declared, actual, missed, row, changes)

    found = told(declared, actual, missed, trial, end)
    if found is None:
        return None
    legal = found.made.imitation.cause == "reduction_order"
    standing: Standing = "verified" if found.made.differing == 0 and not legal else "candidate"
    finding = finding_of(found.found, found.made, count + found.replays, standing, found.why)
    return _seen_at_the_outputs(finding, declared, actual, missed)


def _nearest(
    declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str], end: float
) -> tuple[tuple[Deviation, Imitated] | None, int]:
    """The imitation that leaves least of the deviation, the first that gives the bits; and how many were replayed."""
    best: tuple[Deviation, Imitated] | None = None
    for count, (found, row, changes) in enumerate(_everything(declared)):
        if time.monotonic() > end or count >= SEARCHED:
            return best, count
        made = _through(declared, actual, missed, row, changes)
        if made is not None and (best is None or made.left < best[1].left):
            best = found, made
            if made.differing == 0:
                return best, count + 1
    return best, SEARCHED


def _measured(
    declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str], end: float,
    best: tuple[Deviation, Imitated] | None,
) -> tuple[tuple[Deviation, Imitated] | None, int]:  # fmt: skip
    """The same with each step in the number of digits that comes nearest, beside the best so far."""
    count, steps = 0, [unseen(declared, step) for step in declared.steps]
    rows = [(found, row) for _, row in IMITATIONS.items() for found in steps]
    families = [(found, row, digits) for found, row in rows for digits in row.digits(found)]
    # a narrow range first: a result rounded twice is as well a stage of a digit too few before its cast
    for found, row, digits in sorted(families, key=lambda family: family[2].most - family[2].fewest):
        if time.monotonic() > end:
            break
        made, replays = measured(digits, partial(_through, declared, actual, missed, row))
        count += replays
        if made is not None and (best is None or made.left < best[1].left):
            best = found, made
            if made.differing == 0:
                break
    return best, count


def _over_its_steps(finding: Finding, declared: Trace, changes: Changes) -> Finding:
    """The finding at the first step that the change of several moves, its region those it moves."""
    if len(changes) < 2 or finding.counterfactual is None:
        return finding
    with np.errstate(all="ignore"):
        values = replay(declared, changes).values
    order = [s.id for s in declared.steps if s.id in changes]
    moved = [id for id in order if not _equal(values[id], declared.values[id], declared.formats[id])]
    step, (change, *_) = declared.step(moved[0]), changes.values()
    proof = dataclasses.replace(finding.counterfactual, change=describe({Region(tuple(moved)): change}))
    return dataclasses.replace(
        finding, step=step.id, source=str(step.source), layer=step.layer, region=moved, born_at=moved, chain=moved,
        counterfactual=proof,
    )  # fmt: skip


def _seen_at_the_outputs(
    finding: Finding, declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str]
) -> Finding:
    """The finding with the outputs' numbers: the step's own are not known."""
    rows = [deviation(dataclasses.replace(declared, values={**declared.values, id: actual[id]}), declared.step(id))
            for id in missed]  # fmt: skip
    seen = [row for row in rows if row is not None]
    before = float(np.sqrt(np.mean([rms(row) ** 2 for row in seen])))
    proof = finding.counterfactual
    assert proof is not None
    moved = dataclasses.replace(proof, error_before=before, error_after=before / proof.factor)
    elements = sum(int(np.count_nonzero(row.where)) for row in seen)
    lost = any(row.lost.any() for row in seen)
    group: Group = "nonfinite" if lost else "finite"
    return dataclasses.replace(finding, counterfactual=moved, elements=elements, group=group)


def _equal(one: np.ndarray, other: np.ndarray, format: str) -> bool:
    return bool(np.array_equal(to_bits(one, format), to_bits(other, format)))


def _at_the_output(declared: Trace, actual: Mapping[str, np.ndarray], id: str, end: float) -> Finding | None:
    """What the output's own step says, were all its operands as declared."""
    found = deviation(dataclasses.replace(declared, values={**declared.values, id: actual[id]}), declared.step(id))
    return None if found is None else named(found, end, REPLAYS, measuring=False)


def _everything(declared: Trace) -> Iterator[tuple[Deviation, Imitation, Changes]]:
    """The first imitations of every step, those of causes with few of them first; of all steps alike; the further."""
    steps = [unseen(declared, step) for step in declared.steps]
    listed = [(found, row, list(row.changes(found))) for _, row in IMITATIONS.items() for found in steps]
    listed.sort(key=lambda entry: (len(entry[2]), entry[1].rank))
    for found, row, possibilities in listed:
        yield from ((found, row, changes) for changes in possibilities[:_FIRST])
    yield from _everywhere(listed)
    for found, row, possibilities in listed:
        yield from ((found, row, changes) for changes in possibilities[_FIRST:])


def _everywhere(
    listed: list[tuple[Deviation, Imitation, list[Changes]]],
) -> Iterator[tuple[Deviation, Imitation, Changes]]:
    """Each change of a unit at every step that can have it, where those are several."""
    alike: dict[tuple[str, str], list[tuple[Deviation, Imitation, Change]]] = {}
    for found, row, possibilities in listed:
        for changes in possibilities:
            change = changes.get(found.step.id)
            if change is not None and change.kind in _UNITS:
                alike.setdefault((row.cause, str(change)), []).append((found, row, change))
    for (found, row, change), *others in alike.values():
        steps = (found.step.id, *(other.step.id for other, _, _ in others))
        if len(set(steps)) > 1:
            yield found, row, dict.fromkeys(steps, change)


def _through(
    declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str], row: Imitation, changes: Changes
) -> Imitated | None:
    try:
        with np.errstate(all="ignore"):
            made = replay(declared, changes).values
    except PrecDiffError:
        return None
    if row.cause in _TOO_SMALL and _overflows(declared, made, changes):
        row = IMITATIONS["overflow"]
    parts = [distance(made[id], actual[id], declared.values[id], declared.formats[id]) for id in missed]
    return Imitated(row, changes, sum(d for d, _ in parts), float(np.mean([left for _, left in parts])))


def _overflows(declared: Trace, made: Mapping[str, np.ndarray], changes: Changes) -> bool:
    """Whether a changed step gives infinities in place of numbers: then its range was too narrow, not its digits."""
    steps = [id for id in changes if isinstance(id, str)]
    return any((np.isinf(made[id]) & np.isfinite(declared.values[id])).any() for id in steps)
