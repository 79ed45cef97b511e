"""`precdiff accept`: what is pending becomes the baseline."""

from __future__ import annotations

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.cli.waiting import in_option, meant


@subcommand
@click.argument("words", nargs=-1, metavar="[TEST]...")
@click.option("--all", "every", is_flag=True, help="Everything that is pending.")
@in_option
def command(terminal: Terminal, words: tuple[str, ...], every: bool, places: tuple[str, ...]) -> int:
    """Make what is pending the baseline.

    TEST is a test's id, the beginning of one, a glob or a file. Names a pending file does not hold stay as they are.
    """
    from precdiff.dump import baselines

    found = meant(places, words, every)
    paths = [baselines.accept(one.path) for one in found]
    for one, path in zip(found, paths, strict=True):
        terminal.say(f"accepted {one.line()} -> {path}")
    terminal.say(f"{len(found)} accepted" + (". Put them into git" if found else ""))
    terminal.document({"schema": "precdiff.accept/1", "accepted": [one.document() for one in found]})
    return 0
