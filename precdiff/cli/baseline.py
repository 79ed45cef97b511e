"""`precdiff baseline`: list what is kept, keep the figures of a run for `compare --baseline`, remove what is unused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.judging import judged
from precdiff.cli.options import judging_options, subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError

if TYPE_CHECKING:
    from precdiff.report import Report

command = click.Group(
    "baseline", help="Keep figures to compare with, and see what tests keep.\n\nEach is a small dump: inspect opens it."
)
folder_option = click.option(
    "--baseline-dir", "folder", type=click.Path(), metavar="DIR", help="Where it lies. [precdiff_baselines]"
)


@subcommand
@click.argument("places", nargs=-1, metavar="[FOLDER|FILE]...", type=click.Path())
def listed(terminal: Terminal, places: tuple[str, ...]) -> int:
    """List the baselines under folders.

    Without FOLDER, under the working one.
    """
    from precdiff.dump import baselines

    rows = [_row(path) for path in baselines.find([Path(place) for place in places or ["."]])]
    for row in rows:
        terminal.say(f"{row['path']}  {row['owner']}")
        for name, about in row["names"].items():
            terminal.say(f"  {name}  {about}")
    terminal.say(f"{len(rows)} baselines")
    terminal.document({"schema": "precdiff.baseline/1", "baselines": rows})
    return 0


def _row(path: Path) -> dict[str, Any]:
    from precdiff.cli.waiting import in_words
    from precdiff.dump import baselines

    found = baselines.read_baseline(path)
    return {"path": str(path), "owner": found.owner, "names": {name: in_words(row) for name, row in found.kept.items()}}


@subcommand
@judging_options
@folder_option
def kept(
    terminal: Terminal, actual: str, expected: str | None, output: str | None, verbose: bool, kernel: str | None,
    folder: str | None, **options: Any,
) -> int:  # fmt: skip
    """Keep the figures of ACTUAL as the baseline of that name.

    Takes compare's arguments. `compare ACTUAL --baseline` then fails where the figures got worse.
    """
    from precdiff import api
    from precdiff.dump.baselines import Baseline, Kept, write_baseline
    from precdiff.report.regression import figures, outputs_of

    report = judged(api.compare, actual, expected, kernel, **options)
    rows = outputs_of(report)
    if not rows:
        raise FileError(f"{actual}: it has no output whose figures could be kept")
    path = baseline_path(actual, folder)
    write_baseline(
        path, Baseline(actual_name(actual), {name: Kept(figures=figures(row)) for name, row in rows.items()})
    )
    terminal.say(f"kept {', '.join(rows)} of {actual} in {path}; compare with `precdiff compare {actual} --baseline`")
    terminal.document({"schema": "precdiff.baseline/1", "path": str(path), "names": list(rows)})
    return 0


def actual_name(actual: str) -> str:
    """What the baseline of ACTUAL is called: its file's name without the ending, and without format and shape.

    >>> actual_name("out/pow.h5"), actual_name("out.bin:fp16:64,1024")
    ('pow', 'out')
    """
    return Path(Path(actual).name.partition(":")[0]).stem


def baseline_path(actual: str, folder: str | None) -> Path:
    """Where the baseline of ACTUAL lies."""
    from precdiff.dump.baselines import FOLDER

    return Path(folder or FOLDER) / f"{actual_name(actual)}.h5"


def against(report: Report, actual: str, folder: str | None) -> Report:
    """The report, held against the baseline of ACTUAL."""
    from precdiff.dump.baselines import read_baseline
    from precdiff.report.regression import Allowance, against_baseline

    path = baseline_path(actual, folder)
    if not path.is_file():
        raise FileError(f"{path}: there is no baseline of {actual}. Make one with `precdiff baseline set {actual}`")
    figures = {name: row.figures for name, row in read_baseline(path).kept.items()}
    return against_baseline(report, figures, Allowance(), str(path))


@subcommand
@click.option("--dry-run", is_flag=True, help="Say what would go.")
@click.option(
    "--output-dir", type=click.Path(), default=".precdiff", metavar="DIR", help="Of the test run. [.precdiff]"
)
def prune(terminal: Terminal, dry_run: bool, output_dir: str) -> int:
    """Remove the baselines that no test asks for.

    The last run of whole test files knows them: run pytest first, then this in the same folder.
    """
    from precdiff.dump import baselines, orphans

    rows = orphans.noted(Path(output_dir))
    for row in rows:
        if not dry_run:
            baselines.drop(Path(row["path"]), row["names"])
        names = f" {', '.join(row['names'])} of" if row["names"] else ""
        terminal.say(f"{'would remove' if dry_run else 'removed'}{names} {row['path']}: {row['why']}")
    if not dry_run:
        orphans.note(Path(output_dir), [], [row["module"] for row in rows])
    terminal.say(f"{len(rows)} unused" + ("" if rows else ", as far as the last run of the tests noted"))
    terminal.document({"schema": "precdiff.baseline/1", "removed": [] if dry_run else rows, "unused": rows})
    return 0


command.add_command(listed, "list")
command.add_command(kept, "set")
command.add_command(prune, "prune")
