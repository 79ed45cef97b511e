"""What a finding says, as text (rows.py): cause and standing, where, the proof, the remedy, what else was tried."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from precdiff.diagnose.finding import Finding
from precdiff.report import numbers
from precdiff.report.devices import cut_off
from precdiff.report.report import Report
from precdiff.report.rows import Facts, plain

#: how statistics are called in proofs; others stand under their own name
_STATISTICS = {"rms_ulp": "RMS ULP", "ulp": "ULP", "bits": "bits"}


def headline(finding: Finding) -> str:
    """Cause, standing and place in one line."""
    source = f" ({finding.source})" if finding.source else ""
    return f"{finding.cause} ({finding.standing}) at {finding.step}{source}"


def change(row: Mapping[str, Any]) -> str:
    """A change as words: kind, value, where, and a wide exit."""
    kind, value = str(row.get("kind", "change")), row.get("value")
    where = row.get("steps") or row.get("region") or row.get("step")
    stated = kind if value is None else f"{kind} {plain(value)}"
    stated += f" at {plain(where)}" if where else ""
    others = {key: row[key] for key in row if key not in ("kind", "value", "steps", "region", "step", "exit")}
    stated += f" ({plain(others)})" if others else ""
    return stated + (" (exit wide)" if row.get("exit") == "wide" else "")


def before_after(finding: Finding) -> str:
    """The heart of the proof: the statistic before and after the change; without one what the evidence notes."""
    proof = finding.counterfactual
    if proof is None:
        return str(finding.evidence.get("note") or "no replay")
    unit = _STATISTICS.get(finding.statistic, finding.statistic)
    return f"{numbers.error(proof.error_before)} -> {numbers.error(proof.error_after)} {unit}"


def proof_line(finding: Finding) -> str:
    """What was replayed and what became of the error."""
    proof = finding.counterfactual
    if proof is None:
        return "none: evidence only"
    scale = f"limit {numbers.error(finding.limit)}, floor {numbers.error(proof.floor)}"
    bits = ", reproduces the wrong bits" if proof.reproduces_bits else ""
    factor = f"factor {numbers.error(proof.factor)}"
    return f"{change(proof.change)}: {before_after(finding)} ({factor}; {scale}{bits})"


def finding_facts(finding: Finding, evidence: bool = True) -> Facts:
    """All a finding states; empty fields are left out."""
    named = [
        ("layer", finding.layer),
        ("born at", ", ".join(finding.born_at)),
        ("region", ", ".join(finding.region) if len(finding.region) > 1 else ""),
        ("chain", " -> ".join(finding.chain)),
        ("proof", proof_line(finding)),
        ("elements", f"{finding.elements} {finding.group}"),
        ("share of the error", "" if math.isnan(finding.share) else numbers.share(finding.share, 1.0)),
        ("remedy", finding.remedy),
        ("also", ", ".join(finding.also)),
    ]
    found = [(label, text) for label, text in named if text]
    rejected = rejected_lines(finding)
    found += [("rejected", "; ".join(rejected))] if rejected else []
    given = {key: value for key, value in finding.evidence.items() if key != "rejected"}
    return found + ([("evidence", plain(given))] if evidence and given else [])


def rejected_lines(finding: Finding) -> list[str]:
    """Hypotheses that a replay refuted, one a line."""
    rejected = finding.evidence.get("rejected", ())
    if isinstance(rejected, Mapping):
        return [f"{cause}: {plain(why)}" for cause, why in rejected.items()]
    return [_rejected(row, finding) for row in rejected] if isinstance(rejected, list | tuple) else []


def _rejected(row: Any, finding: Finding) -> str:
    """A hypothesis in words: its cause, where, and what its change left of the error."""
    if not isinstance(row, Mapping) or "cause" not in row:
        return plain(row)
    after, unit = row.get("error_after"), _STATISTICS.get(finding.statistic, finding.statistic)
    where = f" at {row['step']}" if row.get("step") else ""
    outcome = "no replay to prove it" if after is None else f"its change leaves {plain(after)} {unit}"
    return f"{row['cause']}{where}: {outcome}"


def likely_cause(report: Report) -> str:
    """The first finding in one line."""
    if not report.findings:
        return "not looked for"
    first, cut = report.findings[0], cut_off(report)
    if first.cause == "unexplained" and cut:
        return f"not found; the search was {cut}"
    return f"{headline(first)}: {before_after(first)}"


def next_command(report: Report) -> str:
    """What to do to dig further."""
    stated, kernel = report.provenance.get("next"), report.provenance.get("kernel")
    if isinstance(stated, str):
        return stated
    if report.actual.endswith((".h5", ".hdf5")):
        return "precdiff serve" if report.findings else f"precdiff explain {report.actual}"
    if kernel is None:
        return "precdiff.explain(precdiff.run(kernel, inputs=...)): two arrays carry no steps to look at"
    return 'keep the run with dump="run.h5", then precdiff serve' if report.findings else "precdiff.explain(run)"
