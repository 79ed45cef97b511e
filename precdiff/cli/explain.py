"""`precdiff explain`: as compare, and why, each cause proved by running again with only that changed."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.agreeing import waiver_options
from precdiff.cli.exporting import Exports, export_options
from precdiff.cli.judging import finish, judged
from precdiff.cli.options import LIMIT, judging_options, subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import PrecDiffError

if TYPE_CHECKING:
    from precdiff.report import Report

#: leading columns of text, and the room a table of numbers needs
_TEXTS, _WIDTH = 4, 150


@subcommand
@judging_options
@export_options
@waiver_options
@click.option("--evidence", is_flag=True, help="Show every step's errors, share, condition, margins and grid.")
@click.option("--again", multiple=True, metavar="FILE", help="The device's output of the same run repeated.")
@click.option("--repro", metavar="STEP", help="Write that call of a dump, and a script that runs it, into a folder.")
@click.option("--budget", type=LIMIT, metavar="SECONDS", help="Stop looking for proofs after it.")
def command(
    terminal: Terminal, actual: str, expected: str | None, output: str | None, verbose: bool, kernel: str | None,
    evidence: bool, repro: str | None, **options: Any,
) -> int:  # fmt: skip
    """Judge as compare does, and prove why.

    Takes compare's arguments; exits 0 within the standard, 1 beyond it.
    """
    from precdiff import api

    exports = Exports.taken(options)
    with exports.answering(terminal, actual), terminal.waiting("explaining"):
        report = judged(api.explain, actual, expected, kernel, **options)
    if evidence:
        report = _with_evidence(terminal, report, actual, kernel)
    if repro is not None:
        folder = api.repro(actual, repro, "repro-" + re.sub(r"[^\w.-]+", "_", repro))
        terminal.say(f"written {folder}/call.h5 and again.py; run it with `python {folder}/again.py npu:0`")
    return finish(terminal, report, output, verbose, exports)


def _with_evidence(terminal: Terminal, report: Report, actual: str, kernel: str | None) -> Report:
    """The report with the evidence of every step in its provenance, and as a table for people."""
    from precdiff import api
    from precdiff.report.table import Column, Table

    if kernel is not None:
        raise PrecDiffError("--evidence: an output alone has no steps; run the kernel with -o and explain the dump")
    rows = [row.to_json() for row in api.survey(actual)]
    titles = list(rows[0]) if rows else []
    cells = [
        ["-" if v is None else f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()]
        for row in rows
        if row["total"] or row["share"]  # exact steps are in the document
    ]
    columns = [
        Column(t.replace("_margin", ""), "left" if i < _TEXTS else "right", 4 if i else 0) for i, t in enumerate(titles)
    ]
    for line in Table(columns, cells).lines(max(terminal.width, _WIDTH)):
        terminal.say(line)
    terminal.say()
    return dataclasses.replace(report, provenance={**report.provenance, "evidence": rows})
