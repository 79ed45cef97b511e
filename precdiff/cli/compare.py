"""`precdiff compare`: how far apart, and whether that is within the standard."""

from __future__ import annotations

from typing import Any

import click

from precdiff.cli.agreeing import waiver_options
from precdiff.cli.baseline import against, folder_option
from precdiff.cli.exporting import Exports, export_options
from precdiff.cli.judging import finish, judged
from precdiff.cli.options import judging_options, subcommand
from precdiff.cli.terminal import Terminal


@subcommand
@judging_options
@export_options
@click.option("--dry-run", is_flag=True, help="Of two dumps: only say which tensors would be compared.")
@click.option("--baseline", is_flag=True, help="Fail also where figures got worse than `baseline set` keeps them.")
@folder_option
@waiver_options
def command(
    terminal: Terminal, actual: str, expected: str | None, output: str | None, verbose: bool, kernel: str | None,
    dry_run: bool, baseline: bool, folder: str | None, **options: Any,
) -> int:  # fmt: skip
    """Judge ACTUAL by EXPECTED or by the reference.

    Each is a dump (.h5, a folder of msprobe ...), FILE.npy or FILE:FORMAT:SHAPE. Without EXPECTED, ACTUAL is a dump,
    or with --kernel and --input the bare output of a device. Exit 0 within the standard, 1 beyond it.
    """
    from precdiff import api

    if dry_run:
        return _pairing(terminal, actual, expected, options["mapping"])
    if folder is not None and not baseline:
        raise click.UsageError("--baseline-dir goes with --baseline")
    exports = Exports.taken(options)
    with exports.answering(terminal, actual), terminal.waiting("comparing"):
        report = judged(api.compare, actual, expected, kernel, **options)
        report = against(report, actual, folder) if baseline else report
    return finish(terminal, report, output, verbose, exports)


def _pairing(terminal: Terminal, actual: str, expected: str | None, mapping: str | None) -> int:
    """Say how the tensors of two dumps are paired; exit 0."""
    from precdiff import api
    from precdiff.report.foreign import pairing_lines

    document = api.pairing(actual, expected, mapping)
    terminal.say("\n".join(pairing_lines(document)))
    terminal.document(document)
    return 0
