"""The one message maker: a report as text, for the terminal (`render`) and for a failed assertion (`assertion`).

Layout only; every sentence, number and table comes from rows.py and findings.py. Colour is a flag: who may set it is
decided where the text is printed.
"""

from __future__ import annotations

from precdiff.comparison import TensorComparison
from precdiff.report import findings, notable, rows
from precdiff.report.limits import would_pass
from precdiff.report.printable import printable
from precdiff.report.report import Report

_COLOURS = {"pass": "\x1b[32m", "fail": "\x1b[31m", "undecided": "\x1b[33m", "not_compared": "\x1b[33m"}
_OFF = "\x1b[0m"
_INDENT = "  "
#: width of the labels of an assertion, whose facts stand above and below a table
_LABELS = len("likely cause")


def render(report: Report, width: int = 100, colour: bool = False, verbose: bool = False) -> str:
    """Return the report for a terminal: verdict, first divergence, tensors, findings, worst elements."""
    lines = [_painted(printable(rows.verdict_line(report)), report.verdict, colour), *_facts(rows.summary(report))]
    if len(report.tensors) > 1:
        lines += ["", *_tensor_lines(report, width, colour, verbose)]
    for number, finding in enumerate(report.findings, 1):
        lines += [
            "",
            f"Finding {number}: {printable(findings.headline(finding))}",
            *_facts(findings.finding_facts(finding, verbose)),
        ]
    tensor = notable.subject(report)
    shown = list(report.tensors) if verbose else [tensor] if tensor is not None else []
    for one in shown:
        lines += _tensor_details(one, width, verbose)
    if report.verdict == "fail":
        lines += ["", f"Next: {printable(findings.next_command(report))}"]
    return "\n".join(lines) + "\n"


def _painted(text: str, verdict: str, colour: bool) -> str:
    """Colour the verdict's own words."""
    words = rows.VERDICTS.get(verdict, verdict)
    word = words if words in text else verdict
    return text.replace(word, f"{_COLOURS[verdict]}{word}{_OFF}", 1) if colour else text


def _facts(facts: rows.Facts, wide: int = 0) -> list[str]:
    wide = wide or max((len(label) for label, _ in facts), default=0)
    return [f"{_INDENT}{label.ljust(wide)}  {printable(text)}" for label, text in facts]


def _tensor_lines(report: Report, width: int, colour: bool, verbose: bool) -> list[str]:
    shown = list(report.tensors) if verbose else [row for _, row in notable.notable(report)]
    head, *lines = rows.tensor_table(shown).lines(width)
    verdicts = [tensor.verdict for tensor in shown]
    painted = [_painted(line, verdict, colour) for line, verdict in zip(lines, verdicts, strict=True)]
    return [head, *painted, *notable.hidden(report, shown)]


def _tensor_details(tensor: TensorComparison, width: int, verbose: bool) -> list[str]:
    lines = ["", printable(f"{rows.name_of(tensor)} ({rows.described(tensor)})")]
    facts = rows.facts(tensor) if verbose else [("over limit", rows.over_limit(tensor))]
    lines += _facts([*facts, ("ULP", _distribution(tensor))])
    if tensor.worst:
        table = rows.worst_table(tensor, len(tensor.worst) if verbose else 5)
        lines += ["", *(_INDENT + line for line in table.lines(width - len(_INDENT)))]
    if verbose:
        lines += ["", *(_INDENT + line for line in rows.histogram_table(tensor).lines(width - len(_INDENT)))]
    return lines


def _distribution(tensor: TensorComparison) -> str:
    return ", ".join(f"{name}: {count}" for name, count in rows.distribution(tensor)) or "nothing compared"


def assertion(report: Report) -> str:
    """Return the message of a failed assertion: about twelve lines, worst elements first, and what to do next."""
    tensor = notable.subject(report)
    lines = [printable(rows.verdict_line(report))]
    if tensor is None:
        return lines[0]
    last = [("likely cause", findings.likely_cause(report)), ("next", findings.next_command(report))]
    return "\n".join([*lines, about(tensor), *_facts(last, _LABELS)])


def about(tensor: TensorComparison) -> str:
    """What a tensor that does not pass looks like: mismatches, worst elements, errors by size, what would pass."""
    first = [("over limit", rows.over_limit(tensor)), ("mismatched", rows.mismatches(tensor))]
    last = [("ULP", _distribution(tensor)), ("would pass", would_pass(tensor))]
    table = [_INDENT + line for line in rows.worst_table(tensor).lines()] if tensor.worst else []
    return "\n".join([*_facts(first, _LABELS), *table, *_facts(last, _LABELS)])
