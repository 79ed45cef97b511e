"""JUnit XML: a test case a tensor. Written so that the two common schemas both take it: Ant's as published by Windy
Road (JUnit.xsd) and Jenkins' (xunit-plugin, junit-10.xsd). tests/report/test_junit.py states their rules.

    fail -> failure     undecided, not compared -> error     waived, or a step with nothing to compare -> skipped

A file is red exactly where the command's exit code is not 0: where no tensor shows why, a case `verdict` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal
from xml.etree import ElementTree as ET

from precdiff.comparison import TensorComparison
from precdiff.report import findings, rows, terms, text
from precdiff.report.printable import printable, printable_lines
from precdiff.report.report import Report

#: how every file begins, by which an older one is known
MARK = "<?xml version='1.0' encoding='utf-8'?>\n<testsuites>\n  <testsuite name=\"precdiff"

Outcome = Literal["failure", "error", "skipped"]


def render(report: Report, now: datetime | None = None) -> str:
    """The document; `now` (UTC) is its time stamp."""
    cases = [_case(row, report) for row in report.tensors]
    if report.verdict != "pass" and not any(_is_red(case) for case in cases):
        cases.append(_verdict(report))
    return _document(report.actual, cases, _properties(report), text.render(report), now)


def render_error(actual: str, message: str, now: datetime | None = None) -> str:
    """The document of a comparison that could not be made: one case in error."""
    case = ET.Element("testcase", {"name": "comparison", "classname": "precdiff", "time": "0"})
    _outcome_of(case, "error", "error", message, message)
    return _document(actual, [case], [("actual", actual)], message, now)


def _document(
    actual: str, cases: Sequence[ET.Element], properties: Iterable[tuple[str, str]], out: str, now: datetime | None
) -> str:
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", _attributes(actual, cases, now or datetime.now(UTC)))
    listed = ET.SubElement(suite, "properties")
    for name, value in properties:
        ET.SubElement(listed, "property", {"name": f"precdiff.{name}", "value": printable(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = printable_lines(out)
    ET.SubElement(suite, "system-err").text = ""
    ET.indent(suites)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(suites, encoding='unicode')}\n"


def _attributes(actual: str, cases: Sequence[ET.Element], now: datetime) -> dict[str, str]:
    found = Counter(child.tag for case in cases for child in case)
    return {
        "name": f"precdiff {printable(actual)}",
        "tests": str(len(cases)),
        "failures": str(found["failure"]),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
        "time": "0",
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
        "package": "precdiff",
        "id": "0",
    }


def _properties(report: Report) -> Iterable[tuple[str, str]]:
    """What was compared, by what, and what came of it."""
    yield "verdict", report.verdict
    yield "standard", report.standard
    yield "actual", report.actual
    yield "expected", report.expected
    yield "first_divergence", rows.divergence(report)
    if report.findings:
        yield "cause", findings.likely_cause(report)


def _case(row: TensorComparison, report: Report) -> ET.Element:
    named = rows.name_of(row)
    name = named if row.id in ("", named) else f"{named} [{row.id}]"
    case = _named(name, row.layer, report)
    outcome = _outcome(row)
    if outcome is not None:
        message = f"{rows.largest(row)}; {row.rule}"
        message = f"{terms.waived_by(row)}; {message}" if row.waived else message
        _outcome_of(case, outcome, row.verdict, message, text.about(row))
    return case


def _outcome(row: TensorComparison) -> Outcome | None:
    if row.waived:
        return "skipped"
    if row.verdict == "not_compared":
        return "error" if row.role == "output" else "skipped"
    outcomes: dict[str, Outcome] = {"fail": "failure", "undecided": "error"}
    return outcomes.get(row.verdict)


def _verdict(report: Report) -> ET.Element:
    """A case for a verdict that no tensor shows: an incomplete dump, candidates of a profile that disagree."""
    case = _named("verdict", "", report)
    outcome: Outcome = "failure" if report.verdict == "fail" else "error"
    _outcome_of(case, outcome, report.verdict, rows.verdict_line(report), terms.envelope(report))
    return case


def _named(name: str, layer: str, report: Report) -> ET.Element:
    kernel = str(report.provenance.get("kernel") or "tensors")
    parts = [part for part in (kernel, layer) if part and part != kernel] or [kernel]
    classname = ".".join(["precdiff", *(printable(part).replace("/", ".") for part in parts)])
    return ET.Element("testcase", {"name": printable(name), "classname": classname, "time": "0"})


def _outcome_of(case: ET.Element, outcome: Outcome, verdict: str, message: str, details: str) -> None:
    made = ET.SubElement(case, outcome, {"type": f"precdiff.{verdict}", "message": printable(message)})
    made.text = printable_lines(details)


def _is_red(case: ET.Element) -> bool:
    return any(child.tag in ("failure", "error") for child in case)
