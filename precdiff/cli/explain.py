"""`precdiff explain`: as compare, and why, each cause proved by running again with only that changed."""

from __future__ import annotations

from typing import Any

import click

from precdiff.cli.judging import finish, judged
from precdiff.cli.options import LIMIT, judging_options, subcommand
from precdiff.cli.terminal import Terminal


@subcommand
@judging_options
@click.option("--budget", type=LIMIT, metavar="SECONDS", help="Stop looking for proofs after it.")
def command(
    terminal: Terminal, actual: str, expected: str | None, output: str | None, verbose: bool, kernel: str | None,
    **options: Any,
) -> int:  # fmt: skip
    """Judge as compare does, and prove why.

    Takes compare's arguments; exits 0 within the standard, 1 beyond it.
    """
    from precdiff import api

    with terminal.waiting("explaining"):
        report = judged(api.explain, actual, expected, kernel, **options)
    return finish(terminal, report, output, verbose)
