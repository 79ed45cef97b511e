"""The Report of a judged trace: rows of both questions, envelope, first divergence, findings, and what made it all."""

from __future__ import annotations

import dataclasses
import fnmatch
import platform
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from precdiff.comparison import (
    Expected,
    Identity,
    ReferenceInfo,
    TensorComparison,
    Verdict,
    compare_tensor,
    require_compared,
)
from precdiff.diagnose import Finding, diagnose
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.undecided import undecided_findings
from precdiff.errors import NotComparableError
from precdiff.kernels import Run
from precdiff.report.report import Candidate, Report, over_the_envelope


def judged_report(
    judgement: Judgement, name: str, layer: str | None = None, findings: Sequence[Finding] = (), incomplete: str = ""
) -> Report:
    """The Report of a Judgement; `layer` is a glob on layer names, `incomplete` says why a dump does not hold all."""
    rows = [c.row for c in judgement.steps.values()] + [c.row for c in judgement.outputs.values()]
    rows += _passed_through(judgement)
    kept = [r for r in rows if layer is None or fnmatch.fnmatch(r.layer, layer)]
    if not kept:
        raise NotComparableError(_nothing(judgement, name, layer, incomplete))
    require_compared(kept)
    candidates = judgement.candidates if judgement.outputs else []
    envelope = [Candidate.of(profile, outputs) for profile, outputs in candidates]
    report = Report.of(
        kept,
        standard=judgement.settings.standard,
        rule=f"steps: local error within the op's bound; outputs: {_output_rule(kept)}",
        envelope=envelope or None,
        actual=name,
        expected="reference",
        first_divergence=judgement.first_divergence,
        findings=tuple(findings),
        provenance=provenance(judgement),
    )
    over = dataclasses.replace(report, verdict=over_the_envelope(report.verdict, envelope))
    return held_back(over, incomplete)


def _output_rule(rows: Sequence[TensorComparison]) -> str:
    """The rule the outputs were judged by."""
    rules = dict.fromkeys(row.rule for row in rows if row.role == "output")
    return next(iter(rules), "none was judged") if len(rules) < 2 else "each by its own rule"


def _nothing(judgement: Judgement, name: str, layer: str | None, incomplete: str) -> str:
    """Why there is no row."""
    if incomplete:
        return f"{name}: nothing was computed; incomplete: {incomplete}. Run it again"
    layers = sorted({step.layer for step in judgement.trace.steps})
    if layer is not None and layers:
        return f"no layer matches {layer!r}; there are {', '.join(layers)}"
    return f"{name}: nothing was computed: the kernel returns {', '.join(judgement.trace.outputs.values())} as it came"


def held_back(report: Report, incomplete: str) -> Report:
    """The report of an incomplete dump: it says so, and what passes as far as it goes is undecided."""
    if not incomplete:
        return report
    made = {**report.provenance, "incomplete": True, "incomplete_because": incomplete}
    verdict: Verdict = "undecided" if report.verdict == "pass" else report.verdict
    return dataclasses.replace(report, verdict=verdict, provenance=made)


def _passed_through(judgement: Judgement) -> list[TensorComparison]:
    """Rows of outputs that are inputs, where the kernel names a reference that says what they should be."""
    return [
        _untouched(judgement, name, id)
        for name, id in judgement.trace.outputs.items()
        if id in judgement.trace.inputs.values() and id in judgement.intended
    ]


def _untouched(judgement: Judgement, name: str, id: str) -> TensorComparison:
    trace, made = judgement.trace, judgement.intended[id]
    limit = judgement.limit.size if judgement.limit.kind == "ulp" else 4.0
    values = made.values
    info = ReferenceInfo(made.backend, made.bits, made.status, 0.0, made.checked)
    expected = Expected(values.hi, values.lo, values.radius, values.kind, info=info, measures="total")
    identity = Identity(id=id, name=name, op="input", role="output", paired_by="reference")
    settings = judgement.settings.of(id, name, "")
    limits = settings.limits(role="output", max_ulp=limit)
    return compare_tensor(trace.values[id], expected, trace.formats[id], settings.standard, limits, identity).row


def findings_of(judgement: Judgement, budget: float | None = None) -> list[Finding]:
    """The findings of every problem, the first problem's first; `budget` in seconds a problem."""
    limit = float("inf") if budget is None else budget
    found = undecided_findings(judgement)
    for problem in judgement.problems:
        own = problem.trace is judgement.trace
        totals, locals_ = (judgement.totals, judgement.locals_) if own else (None, None)
        found += diagnose(problem, totals, locals_, limit)
    return found


def expectation_findings(actual: Any, expected: Any) -> list[Finding]:
    """Where a run's one output is right and the array it was to equal is not, that."""
    from precdiff.diagnose.rules.wrong_reference_or_tolerance import misjudged

    if not isinstance(actual, Run) or len(actual.trace.outputs) != 1 or not isinstance(expected, np.ndarray):
        return []
    judgement = Judgement(actual.trace, actual.kernel)
    found = [misjudged(actual.trace, id, made.values, expected) for id, made in judgement.intended.items()]
    return [made for made in found if made is not None]


def provenance(judgement: Judgement) -> dict[str, Any]:
    """What made the report: kernel, profile, options, inputs, versions."""
    trace = judgement.trace
    return {
        "kernel": trace.kernel,
        "profile": trace.profile.name,
        "options": dict(trace.options),
        "seed": trace.seed,
        "formats": {name: trace.formats[id] for name, id in trace.inputs.items()},
        "shapes": {name: list(trace.values[id].shape) for name, id in trace.inputs.items()},
        "kernel_found": judgement.kernel is not None,
        "decided_otherwise": [f"{id} ({trace.step(id).source})" for id in judgement.decided_otherwise],
        "backend": judgement.settings.backend,
        **versions(),
    }


def versions() -> dict[str, str]:
    """Versions of PrecDiff, Python and the libraries whose results count."""
    names = ("precdiff", "numpy", "mpmath", "python-flint", "h5py", "ml_dtypes")
    return {"python": platform.python_version(), **{n: _version(n) for n in names}}


@cache  # reading one takes longer than comparing a small array
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
