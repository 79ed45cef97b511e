"""`precdiff reject`: what is pending is thrown away."""

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
    """Throw away what is pending; baselines stay as they are.

    TEST is a test's id, the beginning of one, a glob or a file.
    """
    found = meant(places, words, every)
    for one in found:
        one.path.unlink(missing_ok=True)
        terminal.say(f"rejected {one.line()}")
    terminal.say(f"{len(found)} rejected")
    terminal.document({"schema": "precdiff.reject/1", "rejected": [one.document() for one in found]})
    return 0
