"""`precdiff pending`: what tests found that is not in their baselines yet."""

from __future__ import annotations

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.cli.waiting import in_option, waiting


@subcommand
@click.argument("words", nargs=-1, metavar="[TEST]...")
@in_option
def command(terminal: Terminal, words: tuple[str, ...], places: tuple[str, ...]) -> int:
    """List what waits to become a baseline.

    TEST is a test's id, the beginning of one, a glob or a file. `precdiff review` shows each and asks.
    """
    found = waiting(places, words)
    for one in found:
        terminal.say(one.line())
    terminal.say(f"{len(found)} pending" + (". Next: precdiff review" if found else ""))
    terminal.document({"schema": "precdiff.pending/1", "pending": [one.document() for one in found]})
    return 0
