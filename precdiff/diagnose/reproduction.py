"""Explain a device: which departure from the declared arithmetic gives the bits it gave.

Given the declared run and the device's values of its tensors:

    all steps      the first step whose recorded bits are not what the declared arithmetic makes of the step's own
                   recorded inputs is where it departs (no replay); imitations of that step alone are replayed, those of
                   recognised causes first, until one gives the very bits
    outputs only   imitations of every step are replayed through the whole run and compared at the outputs

What reproduces the bits is verified. Where nothing does, the cause the evidence recognises is a candidate, with the
nearest imitation beside it. A sum that another order of the declared arithmetic explains is no fault and passed over.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping

import numpy as np

from precdiff.diagnose.departure import Imitated, finding_of, rms, unexplained
from precdiff.diagnose.deviation import FEW, Deviation, deviation, unseen
from precdiff.diagnose.finding import Finding, Standing
from precdiff.diagnose.problem import Group
from precdiff.diagnose.rule import IMITATIONS, Changes, Imitation
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format, to_bits, ulp
from precdiff.trace import Trace, replay

#: one-step replays tried before the evidence has to do: where it names a cause, and where it names none
REPLAYS = 16, 500
#: whole replays tried where only outputs are known
SEARCHED = 2000
#: of the deviation's energy, what the nearest imitation has to explain to be named
_NEAR = 0.5


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
        finding = _named(found, end, replays)
        if finding.cause != "reduction_order":
            return [finding]
        legal = legal or [_no_fault(finding)]
    return legal


def _no_fault(finding: Finding) -> Finding:
    """Another legal order explains the bits, and blames nobody."""
    return finding if finding.standing == "insufficient" else dataclasses.replace(finding, standing="candidate")


def _named(found: Deviation, end: float, replays: tuple[int, int]) -> Finding:
    """The cause of one step's deviation."""
    said = {cause: row.recognised(found) for cause, row in IMITATIONS.items()}
    tried: list[Imitated] = []
    most = replays[0] if any(said.values()) else replays[1]
    for row, changes in _in_order(found, said):
        if len(tried) == most or time.monotonic() > end:
            break
        made = _imitated(found, row, changes)
        if made is not None:
            tried.append(made)
            if made.differing == 0:
                # of a few bits that an order explains as well, a fault that gives them proves nothing
                chance = bool(said["reduction_order"]) and int(np.count_nonzero(found.where)) < FEW
                return finding_of(found, made, len(tried), "candidate" if chance else "verified", said[row.cause])
    return _recognised(found, said, tried)


def _in_order(found: Deviation, said: Mapping[str, str]) -> Iterator[tuple[Imitation, Changes]]:
    """Imitations of recognised causes by rank, then the others, those with few possibilities first; the first two of
    every cause before its further ones.
    """
    listed = [(row, list(row.changes(found))) for _, row in IMITATIONS.items()]
    listed.sort(key=lambda pair: (0, pair[0].rank) if said[pair[0].cause] else (1, len(pair[1])))
    for part in (slice(0, 2), slice(2, None)):
        for row, possibilities in listed:
            for changes in possibilities[part]:
                yield row, changes


def _imitated(found: Deviation, row: Imitation, changes: Changes) -> Imitated | None:
    try:
        with np.errstate(all="ignore"):
            made = replay(found.trace, changes).values[found.step.id]
    except PrecDiffError:
        return None
    return Imitated(row, changes, *distance(made, found.actual, found.declared, found.step.format))


def distance(made: np.ndarray, actual: np.ndarray, declared: np.ndarray, format: str) -> tuple[int, float]:
    """(bit patterns that differ, energy of made - actual over that of declared - actual, in ulps)."""
    row = get_format(format)
    differing = int(np.count_nonzero(to_bits(made, row) != to_bits(actual, row)))
    with np.errstate(all="ignore"):
        unit = ulp(np.where(np.isfinite(declared), declared, 1.0), row) if row.is_float else np.ones(declared.shape)
        one, other = (np.abs((v.astype(np.float64) - actual) / unit) for v in (made, declared))
        cap = 2.0**row.p
        one, other = (np.minimum(np.where(np.isnan(v), np.where(_same(w, actual), 0.0, cap), v), cap)
                      for v, w in ((one, made), (other, declared)))  # fmt: skip
        energy = float(np.sum(other**2))
        return differing, float(np.sum(one**2)) / energy if energy else float(differing > 0)


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def _recognised(found: Deviation, said: Mapping[str, str], tried: list[Imitated]) -> Finding:
    """What the evidence says where no imitation gives the bits, the nearest one beside it."""
    nearest = min(tried, key=lambda made: made.left, default=None)
    causes = sorted((row.rank, cause) for cause, row in IMITATIONS.items() if said[cause])
    if said["reduction_order"]:
        nearest, causes = None, [(0, "reduction_order")]
    if nearest is not None and nearest.left < _NEAR and (not causes or nearest.left < 0.05):
        return finding_of(found, nearest, len(tried), "candidate", said[nearest.imitation.cause])
    if not causes:
        return unexplained(found, len(tried))
    row = IMITATIONS[causes[0][1]]
    own = min((made for made in tried if made.imitation is row), key=lambda made: made.left, default=None)
    made = own or Imitated(row, {}, int(np.count_nonzero(found.where)), 1.0)
    return finding_of(found, made, len(tried), "candidate", said[row.cause])


def searched(declared: Trace, actual: Mapping[str, np.ndarray], end: float) -> list[Finding]:
    """Outputs only: the departure of one step that makes the whole run give the device's outputs, or the nearest."""
    missed = [id for id in actual if not _equal(declared.values[id], actual[id], declared.formats[id])]
    if not missed:
        return []
    last = _at_the_output(declared, actual, missed[0], end)
    if last is not None and last.cause == "reduction_order":
        return [_no_fault(last)]
    if last is not None and last.standing == "verified":
        return [last]
    best: tuple[Deviation, Imitated] | None = None
    count = 0
    for found, row, changes in _everything(declared):
        if time.monotonic() > end or count >= SEARCHED:
            break
        made = _through(declared, actual, missed, row, changes)
        count += 1
        if made is not None and (best is None or made.left < best[1].left):
            best = found, made
            if made.differing == 0:
                break
    if best is not None and best[1].left < _NEAR:
        standing: Standing = "verified" if best[1].differing == 0 else "candidate"
        if best[1].imitation.cause == "reduction_order":
            standing = "candidate"
        why = "of all departures, this one comes nearest to the outputs"
        return [_seen_at_the_outputs(finding_of(*best, count, standing, why), declared, actual, missed)]
    return [last] if last is not None else []


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
    return None if found is None else _named(found, end, REPLAYS)


def _everything(declared: Trace) -> Iterator[tuple[Deviation, Imitation, Changes]]:
    """Imitations of every step, those with few possibilities a step first."""
    steps = [unseen(declared, step) for step in declared.steps]
    listed = [(row, found, list(row.changes(found))) for _, row in IMITATIONS.items() for found in steps]
    for row, found, possibilities in sorted(listed, key=lambda entry: (len(entry[2]), entry[0].rank)):
        for changes in possibilities:
            yield found, row, changes


def _through(
    declared: Trace, actual: Mapping[str, np.ndarray], missed: list[str], row: Imitation, changes: Changes
) -> Imitated | None:
    try:
        with np.errstate(all="ignore"):
            made = replay(declared, changes).values
    except PrecDiffError:
        return None
    if row.cause == "intermediate_too_narrow" and _overflows(declared, made, changes):
        row = IMITATIONS["overflow"]
    parts = [distance(made[id], actual[id], declared.values[id], declared.formats[id]) for id in missed]
    return Imitated(row, changes, sum(d for d, _ in parts), float(np.mean([left for _, left in parts])))


def _overflows(declared: Trace, made: Mapping[str, np.ndarray], changes: Changes) -> bool:
    """Whether a changed step gives infinities in place of numbers: then its range was too narrow, not its digits."""
    steps = [id for id in changes if isinstance(id, str)]
    return any((np.isinf(made[id]) & np.isfinite(declared.values[id])).any() for id in steps)
