"""Which tensors of a report are worth a line where there are many, and what is said of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from precdiff.comparison import TensorComparison
from precdiff.report.report import Report


def subject(report: Report) -> TensorComparison | None:
    """The tensor a report is about: among those with its verdict (or all) the output, else the one furthest off.

    Where no tensor is an output, what follows from the first divergence says less than that; where all that does not
    pass is waived, that is what it is about.
    """
    alike = [row for row in report.tensors if row.verdict == report.verdict]
    rows = (waived(report) if report.verdict == "pass" else []) or alike or report.tensors
    first = next((row for row in rows if row.id == report.first_divergence), None)
    if first is not None and first.verdict == "fail" and not any(row.role == "output" for row in report.tensors):
        return first
    return max(rows, key=lambda row: (row.role == "output", _severity(row)), default=None)


def waived(report: Report) -> list[TensorComparison]:
    """The tensors that do not pass and need not."""
    return [row for row in report.tensors if row.waived]


def _severity(row: TensorComparison) -> float:
    """How far off: as a part of what is allowed where that is known, else in ULP; the ULP of a sum that cancels is no
    measure of anything.
    """
    x = row.extra.get("share_of_allowed", row.max_ulp)
    return -1.0 if x != x else x


#: tensors a terminal shows before it leaves out those with nothing to say
_MANY = 24


def notable(report: Report) -> list[tuple[int, TensorComparison]]:
    """The tensors worth a line where a run has many: what does not pass, outputs, what divergence and findings name."""
    numbered = list(enumerate(report.tensors))
    if len(numbered) <= _MANY:
        return numbered
    named = {report.first_divergence}
    for finding in report.findings:
        named |= {finding.step, *finding.born_at, *finding.region, *finding.chain}
    return [(number, row) for number, row in numbered if _says_something(row, named)]


def hidden(report: Report, shown: Sequence[TensorComparison]) -> list[str]:
    """A line on the tensors a table leaves out."""
    left = Counter(row.verdict for row in report.tensors) - Counter(row.verdict for row in shown)
    words = {"pass": "that pass", "not_compared": "not compared"}
    said = [f"{count} more {words.get(verdict, verdict)}" for verdict, count in left.items()]
    return [f"  and {', '.join(said)}"] if said else []


def _says_something(row: TensorComparison, named: set[str | None]) -> bool:
    return row.verdict not in ("pass", "not_compared") or row.role == "output" or bool({row.id, row.name} & named)
