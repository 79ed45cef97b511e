"""`precdiff check`: judge a written report again, under another limit; the tensors are not needed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.judging import exit_code
from precdiff.cli.options import LIMIT, subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError

if TYPE_CHECKING:
    from precdiff.comparison.rejudge import Rejudged
    from precdiff.report import Report


@subcommand
@click.argument("result", metavar="RESULT.json")
@click.option("--max-ulp", type=LIMIT, required=True, metavar="N", help="The new limit.")
def command(terminal: Terminal, result: str, max_ulp: float) -> int:
    """Judge RESULT.json again with another limit.

    RESULT.json is what compare -o wrote. Counts are exact where N is 0, 1/2, 1, 2 ... 64 or a power of two, else a
    range; exit 2 where the range leaves the verdict open.
    """
    from precdiff.comparison import over_tensors
    from precdiff.comparison.rejudge import rejudge
    from precdiff.report.printable import printable
    from precdiff.report.rows import incomplete

    report = read_report(result)
    judged = [rejudge(row, max_ulp) for row in report.tensors]
    verdict = over_tensors(dataclasses.replace(one.row, verdict=one.verdict) for one in judged)
    if report.provenance.get("incomplete"):
        terminal.say(f"  {incomplete(report)}")
        verdict = "undecided" if verdict == "pass" else verdict
    for one in judged:
        if one.high is not None or one.verdict == "fail":
            terminal.say(_line(one, max_ulp))
    for row in report.tensors:
        if row.waived:
            terminal.say(f"  {printable(row.name or row.id)} was waived; check applies no waivers")
    terminal.say(f"{verdict.upper()}: {result} under {max_ulp:g} ULP")
    rows = [_row(one) for one in judged]
    terminal.document({"schema": "precdiff.check/1", "verdict": verdict, "max_ulp": max_ulp, "tensors": rows})
    return exit_code(verdict)


def read_report(path: str) -> Report:
    """The report a file holds."""
    from precdiff.report import Report

    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Allowed is a report, as `precdiff compare -o` writes it.") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise FileError(f"{path}: this is no JSON document. Allowed is a report, as `precdiff compare -o` writes it.")
    return Report.from_json(document)


def _line(one: Rejudged, limit: float) -> str:
    name = one.row.name or one.row.id
    if one.high is None:
        return f"  {name}: {one.verdict}, as it was ({one.row.rule})"
    count = f"{one.low}" if one.low == one.high else f"{one.low} to {one.high}"
    return f"  {name}: {one.verdict}, {count} of {one.row.compared} elements beyond {limit:g} ULP"


def _row(one: Rejudged) -> dict[str, Any]:
    beyond = None if one.high is None else [one.low, one.high]
    return {
        "id": one.row.id,
        "name": one.row.name,
        "verdict": one.verdict,
        "compared": one.row.compared,
        "over": beyond,
    }
