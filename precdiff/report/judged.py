"""The Report of a judged trace: rows of both questions, envelope, first divergence, findings, and what made it all."""

from __future__ import annotations

import dataclasses
import fnmatch
import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from precdiff.comparison import Verdict, require_compared
from precdiff.diagnose import Finding, diagnose
from precdiff.diagnose.judgement import Judgement
from precdiff.errors import NotComparableError
from precdiff.report.report import Candidate, Report


def judged_report(
    judgement: Judgement, name: str, layer: str | None = None, findings: Sequence[Finding] = ()
) -> Report:
    """The Report of a Judgement; `layer` is a glob on layer names."""
    rows = [c.row for c in judgement.steps.values()] + [c.row for c in judgement.outputs.values()]
    kept = [r for r in rows if layer is None or fnmatch.fnmatch(r.layer, layer)]
    if not kept:
        raise NotComparableError(f"no layer matches {layer!r}; there are {', '.join(sorted({r.layer for r in rows}))}")
    require_compared(kept)
    envelope = [Candidate(profile, verdict) for profile, verdict in judgement.candidates]
    report = Report.of(
        kept,
        standard=judgement.settings.standard,
        rule=f"steps: local error within the op's bound; outputs: {judgement.limit}",
        envelope=envelope or None,
        actual=name,
        expected="reference",
        first_divergence=judgement.first_divergence,
        findings=tuple(findings),
        provenance=provenance(judgement),
    )
    return dataclasses.replace(report, verdict=_over_the_envelope(report.verdict, envelope))


def _over_the_envelope(verdict: Verdict, envelope: Sequence[Candidate]) -> Verdict:
    """The verdict all candidates agree on, else undecided."""
    return verdict if all(c.verdict == verdict for c in envelope) else "undecided"


def findings_of(judgement: Judgement, budget: float | None = None) -> list[Finding]:
    """The findings of every problem, the first problem's first; `budget` in seconds a problem."""
    limit = float("inf") if budget is None else budget
    found: list[Finding] = []
    for problem in judgement.problems:
        own = problem.trace is judgement.trace
        totals, locals_ = (judgement.totals, judgement.locals_) if own else (None, None)
        found += diagnose(problem, totals, locals_, limit)
    return found


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


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
