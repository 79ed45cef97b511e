"""`precdiff eval`: arithmetic at a point, every step with its exact value, its error and where the error came from.

With --batch, points of FPCore expressions from a file of JSON rows, answered one a line.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from precdiff.cli.judging import exit_code
from precdiff.cli.options import LIMIT, iterations_option, pairs, profile_options, subcommand
from precdiff.cli.running import changed_profile
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError, PrecDiffError

if TYPE_CHECKING:
    from precdiff.api import Evaluation
    from precdiff.report import Report


@subcommand
@click.argument("expression", required=False)
@click.argument("values", nargs=-1, callback=pairs, metavar="NAME=VALUE...")
@click.option("--format", "format", default="fp16", show_default=True, metavar="NAME", help="Of every step.")
@profile_options
@click.option("--max-ulp", type=LIMIT, metavar="N", help="Largest allowed ULP error. [4]")
@iterations_option
@click.option("--batch", type=click.Path(), metavar="ROWS.jsonl", help="Answer rows {id, fpcore, vars, fmt, point}.")
@click.option("--fault-bits", metavar="FORMAT=BITS,...", help="With --batch: bits of error allowed, by format.")
def command(
    terminal: Terminal, expression: str | None, values: dict[str, str], format: str, profile: str,
    profile_fields: dict[str, str], max_ulp: float | None, max_iterations: int | None, batch: str | None,
    fault_bits: str | None,
) -> int:  # fmt: skip
    """Evaluate EXPRESSION at a point, step by step.

    It says which step lost the digits, as in: precdiff eval '(x + 1) - x' x=4096. Values are decimals or hex floats,
    rounded once to the format; numbers in the expression are exact in the reference. An EXPRESSION that starts with -
    goes behind --, as in: precdiff eval -- '-x' x=1. EXPRESSION may be FILE.fpcore, or FILE.fpcore:NAME. Exit 0 within
    4 ULP, 1 beyond; with --batch 0 once every row is answered.
    """
    from precdiff import api
    from precdiff.report import text

    if batch is not None:
        return _batch(terminal, batch, expression, fault_bits, max_iterations)
    if expression is None or fault_bits is not None:
        raise PrecDiffError("eval: give an EXPRESSION, as in: precdiff eval '(x+1)-x' x=4096; or --batch ROWS.jsonl")
    _check_names(expression, values)
    made = api.evaluate(
        expression, values, format=format, profile=changed_profile(profile, profile_fields), max_ulp=max_ulp,
        max_iterations=max_iterations,
    )  # fmt: skip
    for line in _table(made, terminal.width):
        terminal.say(line)
    terminal.say()
    report = _with_next(made, expression, values)
    terminal.say(text.render(report, terminal.width, terminal.colour).rstrip("\n"))
    terminal.document(made.to_json())
    return exit_code(made.report.verdict)


def _batch(
    terminal: Terminal, path: str, expression: str | None, fault_bits: str | None, max_iterations: int | None
) -> int:
    """One answer a row, in the order of the file."""
    from precdiff.diagnose.points import MAX_ITERATIONS, answer, answerable, fault_limits

    if expression is not None:
        raise PrecDiffError(f"eval --batch: found {expression!r} beside it; allowed is one of the two")
    limits = fault_limits(fault_bits)
    try:
        with Path(path).open(encoding="utf-8") as rows:
            for number, line in enumerate(rows, 1):
                if line.strip():
                    terminal.line(answer(answerable(line, number), limits, max_iterations or MAX_ITERATIONS))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    return 0


def _with_next(made: Evaluation, expression: str, values: Mapping[str, str]) -> Report:
    """The report with the command to try next: the same in a wider format."""
    wider = {"fp32": "fp64", "fp64": "fp64"}.get(made.format, "fp32")
    point = [expression, *(f"{k}={v}" for k, v in values.items())]
    options = ["--format", wider]
    words = ["precdiff", "eval", *([*options, "--", *point] if expression[:1] == "-" else [*point, *options])]
    return dataclasses.replace(made.report, provenance={**made.report.provenance, "next": shlex.join(words)})


def _check_names(expression: str, values: Mapping[str, str]) -> None:
    """Say in the command's own words which value is missing or too many."""
    from precdiff.report.evaluation import names_of

    wanted = names_of(expression)
    missing, foreign = [n for n in wanted if n not in values], [n for n in values if n not in wanted]
    if missing or foreign:
        problem = f"{missing[0]} has no value" if missing else f"{foreign[0]} does not occur in it"
        example = " ".join(f"{name}=1.5" for name in wanted)
        raise PrecDiffError(f"expression {expression!r}: {problem}. Its names are {', '.join(wanted)}: give {example}")


def _table(made: Evaluation, width: int) -> list[str]:
    """The steps; errors in ULP."""
    from precdiff.report import numbers
    from precdiff.report.table import Column, Table

    titles = ("step", "of", "exact", made.format, "bits", "local", "inherited", "total ULP")
    columns = [Column(title, "right" if i > 1 else "left", {1: 2, 4: 1}.get(i, 0)) for i, title in enumerate(titles)]
    rows = [
        [
            row.id, ", ".join(row.operands), row.exact, numbers.value(row.value, made.format), row.bits,
            *(numbers.error(error) for error in (row.local, row.inherited, row.total)),
        ]
        for row in made.rows
    ]  # fmt: skip
    return Table(columns, rows).lines(width)
