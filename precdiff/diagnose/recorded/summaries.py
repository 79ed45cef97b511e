"""What can be said of tensors whose values were not kept: whether checksums are equal, what statistics show.

    checksums     equal or not; where one side kept the values, of the other side's kind of them
    statistics    equal to within UNITS units of rounding of the format, or how far apart; NaN and infinity
    growth        a call that made what is not finite from what is, told from values or statistics alike

A mean or norm that was computed in fp16 may be infinite where the tensor is not: only min and max tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from precdiff.comparison import TensorComparison
from precdiff.diagnose.recorded.contents import Contents
from precdiff.dump import Statistics, TensorRow
from precdiff.dump.statistics import UNCOUNTED, VALUE, checksum
from precdiff.formats import get_format

#: units of rounding by which statistics of the same values may differ that were added up in another order
UNITS = 64.0
_NAMES = ("min", "max", "mean", "l2")


def is_finite(contents: Contents, id: str) -> bool | None:
    """Whether a tensor holds neither NaN nor infinity; None where nobody knows. Integers do."""
    row = contents.row(id)
    if not row.stored_format or not get_format(row.stored_format).is_float:
        return True if row.stored_format else None
    if contents.held(id):
        return bool(np.isfinite(np.asarray(contents.operand(id).values, np.float64)).all())
    return None if row.statistics is None else _finite(row.statistics)


def _finite(found: Statistics) -> bool:
    if found.inf_count != UNCOUNTED:
        return found.inf_count == 0 and found.nan_count == 0
    return math.isfinite(found.min) and math.isfinite(found.max)


def grew(contents: Contents, given: Iterable[str], made: str) -> str:
    """How a tensor that is not finite was made from finite ones; empty where it was not."""
    given = list(given)
    if is_finite(contents, made) is not False or not given or not all(is_finite(contents, id) for id in given):
        return ""
    largest = max((_largest(contents, id) for id in given), default=math.nan)
    row = contents.row(made)
    top = f"the largest {row.format} is {get_format(row.stored_format).max_finite:g}"
    return f"not finite, made from finite inputs of at most {largest:g}; {top}"


def _largest(contents: Contents, id: str) -> float:
    if contents.held(id):
        return float(np.max(np.abs(np.asarray(contents.operand(id).values, np.float64)), initial=0.0))
    found = contents.row(id).statistics
    return math.nan if found is None else max(abs(found.min), abs(found.max))


def overflowed_by_itself(row: TensorRow) -> list[str]:
    """Names of recorded statistics that are not finite while the tensor is."""
    found = row.statistics
    if found is None or not (math.isfinite(found.min) and math.isfinite(found.max)):
        return []
    return [name for name in ("mean", "l2") if math.isinf(getattr(found, name))]


def by_summary(row: TensorComparison, mine: Contents, id: str, theirs: Contents, other: str) -> TensorComparison:
    """The row of a tensor of which one side at least kept no values."""
    a, b = mine.row(id), theirs.row(other)
    if a.shape != b.shape:
        return replace(row, verdict="fail", rule=f"shapes: {list(a.shape)} against {list(b.shape)}")
    sums = _checksums(mine, id, theirs, other)
    if sums is not None:
        kind = sums[0].partition(":")[0]
        equal = sums[0] == sums[1]
        said = f"equal {kind} checksums" if equal else f"{kind} checksums differ: {' against '.join(sums)}"
        if not equal:
            return replace(row, verdict="fail", rule=said)
        return replace(row, verdict="pass", rule=said, compared=a.size, max_ulp=0.0, max_abs=0.0, max_rel=0.0)
    if a.statistics is None or b.statistics is None or not a.stored_format:
        return row
    return _by_statistics(row, a, b.statistics)


def _checksums(mine: Contents, id: str, theirs: Contents, other: str) -> tuple[str, str] | None:
    """Both checksums, of one kind; None where there are not two of a kind. Formats have to be the same."""
    a, b = mine.row(id), theirs.row(other)
    if a.format != b.format or not (a.checksum or b.checksum):
        return None
    for kind in dict.fromkeys(r.checksum.partition(":")[0] for r in (a, b) if r.checksum):
        found = [_of_kind(contents, i, kind) for contents, i in ((mine, id), (theirs, other))]
        if None not in found:
            return str(found[0]), str(found[1])
    return None


def _of_kind(contents: Contents, id: str, kind: str) -> str | None:
    row = contents.row(id)
    if row.checksum.startswith(f"{kind}:"):
        return row.checksum
    if not contents.held(id) or row.stored_format != row.format:
        return None
    if kind == VALUE.rstrip(":"):
        return f"{VALUE}{np.ravel(contents.operand(id).values)[0].item()!r}" if row.size == 1 else None
    return checksum((codes for _, codes in contents.dump.code_chunks(id)), kind)


def _by_statistics(row: TensorComparison, a: TensorRow, theirs: Statistics) -> TensorComparison:
    mine = a.statistics
    assert mine is not None
    if get_format(a.stored_format).is_float and _finite(mine) != _finite(theirs):
        return replace(row, verdict="fail", rule="statistics: one side is not finite, the other is")
    pairs = {n: (getattr(mine, n), getattr(theirs, n)) for n in _NAMES}
    apart = {n: _relative(x, y) for n, (x, y) in pairs.items() if not (math.isnan(x) and math.isnan(y))}
    worst = max(apart, key=lambda n: apart[n], default="")
    limit = UNITS * get_format(a.stored_format).u if get_format(a.stored_format).is_float else 0.0
    if not worst or apart[worst] <= limit:
        return replace(row, verdict="pass", rule=f"statistics equal to {limit:.2g} relative; values were not kept")
    said = f"statistics: {worst} {pairs[worst][0]:.6g} against {pairs[worst][1]:.6g}, {apart[worst]:.2g} relative"
    return replace(row, verdict="not_compared", rule=f"{said}; values were not kept")


def _relative(x: float, y: float) -> float:
    if x == y:
        return 0.0
    return abs(x - y) / max(abs(x), abs(y)) if math.isfinite(x) and math.isfinite(y) else math.inf
