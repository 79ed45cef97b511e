"""The Report of values against values: arrays, or two runs or dumps, tensor by tensor."""

from __future__ import annotations

import dataclasses
import fnmatch
from typing import Any

from precdiff.comparison import Expected, Pair, TensorComparison, compare_tensor, pair, require_compared
from precdiff.diagnose.judgement import Settings
from precdiff.report.judged import held_back, versions
from precdiff.report.report import Report, Unmatched
from precdiff.report.sources import Named, incomplete, named_tensors, opened, shown


def values_report(actual: Any, expected: Any, settings: Settings, layer: str | None = None) -> Report:
    """Compare every tensor the two sides share; what only one has is listed."""
    with opened(actual) as mine, opened(expected) as theirs:
        pairing = pair(named_tensors(mine), named_tensors(theirs))
        reason = incomplete(mine) or incomplete(theirs)
    rows = [_row(found, settings) for found in pairing.pairs if _wanted(found, layer)]
    require_compared(rows)
    report = Report.of(
        rows,
        standard=settings.standard,
        actual=shown(actual),
        expected=shown(expected),
        unmatched=Unmatched(pairing.unmatched_actual, pairing.unmatched_expected),
        provenance=versions(),
    )
    return held_back(report, reason)


def _wanted(found: Pair[Named, Named], layer: str | None) -> bool:
    return layer is None or fnmatch.fnmatch(found.actual[0].layer, layer)


def _row(found: Pair[Named, Named], settings: Settings) -> TensorComparison:
    identity, values, format = found.actual
    _, wanted, theirs = found.expected
    against = Expected.array(wanted, format) if theirs == format else Expected.reals(wanted)
    placed = dataclasses.replace(identity, paired_by=found.paired_by)
    limits = settings.limits(role=identity.role)
    return compare_tensor(values, against, format, settings.standard, limits, placed).row
