"""GitHub annotations: workflow commands, which a runner reads from a step's output.

    ::error file=kernels/pow.py,line=41,title=precdiff: out::worst 9.378 ULP, ...

(docs.github.com/actions, "Workflow commands"; the escapes are those of actions/toolkit, packages/core/src/command.ts.)
A step shows ten annotations of a kind (github.com/orgs/community/discussions/26680), so at most ten are written, the
worst first. A runner would obey such lines in any other text too; `quoted` is the text with that turned off.
"""

from __future__ import annotations

import math
import re
import secrets
from pathlib import Path

from precdiff.comparison import TensorComparison, worst_ulp
from precdiff.report import rows, terms
from precdiff.report.printable import printable, printable_lines
from precdiff.report.report import Report

MOST = 10
_SOURCE = re.compile(r"(?P<file>.+):(?P<line>[1-9][0-9]*)")


def lines(report: Report, folder: Path) -> list[str]:
    """The annotations, and how many tensors have none; `folder` is the repository's, which files are named from."""
    failing = [row for row in report.tensors if row.verdict in ("fail", "undecided") and not row.waived]
    worst = sorted(failing, key=_badness, reverse=True)
    if not worst and report.verdict != "pass":
        return [_command("error", {"title": "precdiff"}, rows.verdict_line(report)), *_asides(report)[: MOST - 1]]
    hidden = len(worst) - MOST
    more = [f"and {hidden} more tensors do not pass; --junit and --markdown show them"] if hidden > 0 else []
    errors = [_annotation(row, folder) for row in worst[:MOST]]
    return [*errors, *_asides(report)[: MOST - len(errors)], *more]


def _asides(report: Report) -> list[str]:
    """Waivers that somebody should look at, then what is waived."""
    overdue = [row for row in report.agreed if row.kind != "limit" and terms.is_overdue(row)]
    waived = [row for row in report.tensors if row.waived]
    return [
        *(_command("warning", {"title": f"precdiff: {row.kind}"}, terms.sentence(row)) for row in overdue),
        *(_command("notice", {"title": f"precdiff: {rows.name_of(row)}"}, terms.waived_by(row)) for row in waived),
    ]


def render_error(actual: str, message: str) -> str:
    """The annotation of a comparison that could not be made."""
    return _command("error", {"title": f"precdiff: {actual}"}, message)


def quoted(text: str) -> str:
    """Text whose lines a runner does not obey."""
    word = f"precdiff-{secrets.token_hex(16)}"
    return f"::stop-commands::{word}\n{text}\n::{word}::"


def _badness(row: TensorComparison) -> tuple[bool, float]:
    worst = worst_ulp(row)
    return row.verdict == "fail", math.inf if math.isnan(worst) else worst


def _annotation(row: TensorComparison, folder: Path) -> str:
    title = f"precdiff: {rows.name_of(row)}" + ("" if row.verdict == "fail" else f" {rows.VERDICTS[row.verdict]}")
    place = _place(row.source, folder)
    return _command("error", {**place, "title": title}, f"{rows.largest(row)}; {rows.over_limit(row)}; {row.rule}")


def _place(source: str, folder: Path) -> dict[str, str]:
    """File and line, where the file is one of the repository's."""
    found = _SOURCE.fullmatch(source)
    if found is None or not source.isprintable():
        return {}
    root = folder.resolve()
    try:
        path = (folder / found["file"]).resolve()
        inside = path.is_relative_to(root) and path.is_file()
    except OSError:  # a name too long for any file
        return {}
    return {"file": path.relative_to(root).as_posix(), "line": found["line"]} if inside else {}


def _command(kind: str, properties: dict[str, str], message: str) -> str:
    stated = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {stated}::{_data(printable_lines(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
