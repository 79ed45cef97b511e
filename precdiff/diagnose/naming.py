"""The cause of one step's deviation: the imitation that gives its bits, else what the evidence says.

It knows one step and the imitations; where the step comes from, and what a whole run shows, is reproduction.py's.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

import numpy as np

from precdiff.diagnose.departure import Imitated, finding_of, unexplained
from precdiff.diagnose.deviation import FEW, Deviation
from precdiff.diagnose.finding import Finding
from precdiff.diagnose.measuring import measured
from precdiff.diagnose.rule import IMITATIONS, Changes, Imitation
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format, to_bits, ulp
from precdiff.trace import replay

#: one-step replays tried before the evidence has to do: where it names a cause, and where it names none
REPLAYS = 16, 500
#: possibilities of a recognised cause that are tried before those of causes not recognised
_LIKELY = 4
#: where the evidence says no more than that another order may be it: bits alone can tell
_DOUBTFUL = 100
#: of the deviation's energy, what the nearest imitation has to explain to be named
NEAR = 0.5


def no_fault(finding: Finding) -> Finding:
    """Another legal order explains the bits, and blames nobody."""
    return finding if finding.standing == "insufficient" else dataclasses.replace(finding, standing="candidate")


def named(found: Deviation, end: float, replays: tuple[int, int], measuring: bool = True) -> Finding:
    """The cause of one step's deviation; `measuring`: numbers of digits that nobody lists are measured."""
    said = {cause: row.recognised(found) for cause, row in IMITATIONS.items()}
    tried: list[Imitated] = []
    most = _most(said, replays)
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
    nearest, count = _in_digits(found, end) if measuring and not said["reduction_order"] else (None, 0)
    if nearest is not None and nearest.differing == 0:
        return finding_of(found, nearest, len(tried) + count, "verified", said[nearest.imitation.cause])
    return _recognised(found, said, [*tried, *([nearest] if nearest else [])], len(tried) + count)


def _in_digits(found: Deviation, end: float) -> tuple[Imitated | None, int]:
    """The imitation in a measured number of digits that comes nearest, and how many were replayed."""
    nearest, count = None, 0
    families = [(row, digits) for _, row in IMITATIONS.items() for digits in row.digits(found)]
    for row, digits in families:
        if time.monotonic() > end:
            break
        made, replays = measured(digits, partial(_imitated, found, row))
        count += replays
        if made is not None and (nearest is None or made.left < nearest.left):
            nearest = made
            if made.differing == 0:
                break
    return nearest, count


def _most(said: Mapping[str, str], replays: tuple[int, int]) -> int:
    """How many imitations are worth a replay."""
    causes = {cause for cause, why in said.items() if why}
    return min(_DOUBTFUL, replays[1]) if causes == {"reduction_order"} else replays[0] if causes else replays[1]


def _in_order(found: Deviation, said: Mapping[str, str]) -> Iterator[tuple[Imitation, Changes]]:
    """Imitations of recognised causes by rank, then the others, those with few possibilities first; the likeliest of
    every cause before its further ones. The others are listed only when it comes to them: that may take long.
    """
    rows = sorted((row for _, row in IMITATIONS.items()), key=lambda row: row.rank)
    recognised = [(row, iter(row.changes(found))) for row in rows if said[row.cause]]
    for row, possibilities in recognised:
        yield from ((row, changes) for changes in islice(possibilities, _LIKELY))
    others = [(row, list(row.changes(found))) for row in rows if not said[row.cause]]
    others.sort(key=lambda pair: len(pair[1]))
    for row, listed in others:
        yield from ((row, changes) for changes in listed[:2])
    for row, possibilities in recognised:
        yield from ((row, changes) for changes in possibilities)
    for row, listed in others:
        yield from ((row, changes) for changes in listed[2:])


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


def _recognised(found: Deviation, said: Mapping[str, str], tried: list[Imitated], count: int) -> Finding:
    """What the evidence says where no imitation gives the bits, the nearest one beside it."""
    nearest = min(tried, key=lambda made: made.left, default=None)
    causes = sorted((row.rank, cause) for cause, row in IMITATIONS.items() if said[cause])
    if said["reduction_order"]:
        nearest, causes = None, [(0, "reduction_order")]
    if nearest is not None and nearest.left < NEAR and (not causes or nearest.left < 0.05):
        return finding_of(found, nearest, count, "candidate", said[nearest.imitation.cause])
    if not causes:
        return unexplained(found, count)
    row = IMITATIONS[causes[0][1]]
    own = min((made for made in tried if made.imitation is row), key=lambda made: made.left, default=None)
    made = own or Imitated(row, {}, int(np.count_nonzero(found.where)), 1.0)
    return finding_of(found, made, count, "candidate", said[row.cause])
