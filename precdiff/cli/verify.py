"""`precdiff verify`: whether a dump is whole, and what of a damaged one can be saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal

if TYPE_CHECKING:
    from precdiff.dump import Problem


@subcommand
@click.argument("file")
@click.option("--salvage", is_flag=True, help="Copy what is whole to run.salvaged.h5 where FILE is run.h5, or to -o.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE.h5", help="Where --salvage writes.")
def command(terminal: Terminal, file: str, salvage: bool, output: str | None) -> int:
    """Check that a dump is whole.

    Structure, checksums, statistics, and that the run came to its end. Exit 1 where something is wrong or was lost.
    """
    if output is not None and not salvage:
        raise click.UsageError("-o goes with --salvage")
    with terminal.waiting(f"reading {file}"):
        problems, document = _salvaged(file, output) if salvage else _verified(file)
    for problem in problems:
        terminal.say(f"  {problem}")
    rows = [{"where": problem.where, "problem": problem.problem} for problem in problems]
    stated = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}" if problems else "whole"
    kept = f", saved to {document['salvaged']}" if "salvaged" in document else ""
    terminal.say(f"{file}: {stated}, {document['tensors']} tensors{kept}")
    terminal.document({"schema": "precdiff.verify/1", "file": file, **document, "problems": rows})
    return 1 if problems else 0


def _verified(file: str) -> tuple[list[Problem], dict[str, Any]]:
    from precdiff import api

    with api.open_dump(file) as dump:
        return dump.verify(), {"tensors": len(dump.tensors)}


def _salvaged(file: str, output: str | None) -> tuple[list[Problem], dict[str, Any]]:
    from precdiff.dump import salvage

    found = salvage(file, output or Path(file).with_suffix(".salvaged.h5"))
    return list(found.lost), {"tensors": found.tensors, "salvaged": str(found.path)}
