"""The Report of values against values: arrays, or two runs or dumps, tensor by tensor."""

from __future__ import annotations

import dataclasses
import fnmatch
from typing import Any

import numpy as np

from precdiff.comparison import (
    Expected,
    Pair,
    Pairing,
    TensorComparison,
    compare_streamed,
    holds_reals,
    pair,
    require_compared,
)
from precdiff.diagnose.settings import Settings
from precdiff.errors import NotComparableError
from precdiff.report.judged import held_back, versions
from precdiff.report.report import Report, Unmatched
from precdiff.report.sources import Named, incomplete, is_bare, named_tensors, only_output, opened, shown


def values_report(actual: Any, expected: Any, settings: Settings, layer: str | None = None) -> Report:
    """Compare every tensor the two sides share; what only one has is listed."""
    with opened(actual) as mine, opened(expected) as theirs:
        pairing = _paired(mine, theirs)
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


def _paired(actual: Any, expected: Any) -> Pairing[Named, Named]:
    """Pair by name; an array without a name with the one output of the other side."""
    mine, theirs = named_tensors(actual), named_tensors(expected)
    if is_bare(actual) != is_bare(expected):
        return _with_the_output(mine, theirs, is_bare(actual), shown(expected if is_bare(actual) else actual))
    pairing = pair(mine, theirs)
    if not pairing.pairs:
        names = f"actual has {', '.join(mine) or 'none'}, expected has {', '.join(theirs) or 'none'}"
        raise NotComparableError(f"no tensor has the same name on both sides: {names}")
    return pairing


def _with_the_output(
    mine: dict[str, Named], theirs: dict[str, Named], array_is_actual: bool, other: str
) -> Pairing[Named, Named]:
    """An array against the one output of the other side, under the output's name."""
    ((name, output),) = only_output(theirs if array_is_actual else mine, other).items()
    ((_, values, format),) = (mine if array_is_actual else theirs).values()
    array = (output[0], values, format)
    return Pairing((Pair(name, *((array, output) if array_is_actual else (output, array)), "position"),))


def _wanted(found: Pair[Named, Named], layer: str | None) -> bool:
    return layer is None or fnmatch.fnmatch(found.actual[0].layer, layer)


def _row(found: Pair[Named, Named], settings: Settings) -> TensorComparison:
    identity, values, format = found.actual
    _, wanted, theirs = found.expected

    def expected_of(part: np.ndarray) -> Expected:
        return Expected.array(part, format) if theirs == format and not holds_reals(part) else Expected.reals(part)

    placed = dataclasses.replace(identity, paired_by=found.paired_by)
    own = settings.of(identity.id, found.name, identity.layer)
    limits = own.limits(role=identity.role, peer=settings.peer(found.name, format.name))
    return compare_streamed(values, wanted, expected_of, format, own.standard, limits, placed)
