"""`precdiff review`: look at what is pending, one test after the other, and accept, reject or skip it."""

from __future__ import annotations

import sys

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.cli.waiting import Waiting, describe, in_option, waiting
from precdiff.errors import PrecDiffError

_KEYS = {"a": "accepted", "r": "rejected", "s": "skipped", "q": "left"}


@subcommand
@click.argument("words", nargs=-1, metavar="[TEST]...")
@in_option
def command(terminal: Terminal, words: tuple[str, ...], places: tuple[str, ...]) -> int:
    """Look at what is pending, and accept or reject it.

    One key each: a accept, r reject, s skip, q quit. Scripts use pending, accept and reject.
    """
    found = waiting(places, words)
    done: dict[str, list[dict[str, object]]] = {word: [] for word in _KEYS.values()}
    if found and not asks_a_person():
        raise PrecDiffError(
            f"review asks at a terminal, and there is none; {len(found)} pending. Use pending, accept and reject"
        )
    for number, one in enumerate(found, 1):
        terminal.say(f"--- {number} of {len(found)} ---")
        for line in describe(one):
            terminal.say(line)
        answer = _asked(terminal)
        if answer == "q":
            break
        _act(answer, one)
        done[_KEYS[answer]].append(one.document())
    stated = ", ".join(f"{len(rows)} {word}" for word, rows in done.items() if word != "left")
    terminal.say(stated if found else "0 pending")
    terminal.document({"schema": "precdiff.review/1", **{w: rows for w, rows in done.items() if w != "left"}})
    return 0


def asks_a_person() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()


def _asked(terminal: Terminal) -> str:
    """The key that was pressed; the end of the input leaves."""
    while True:
        terminal.say("[a]ccept  [r]eject  [s]kip  [q]uit")
        key = click.getchar().lower()
        if key in ("", "\x04", "\x1b"):
            return "q"
        if key in _KEYS:
            return key


def _act(answer: str, one: Waiting) -> None:
    from precdiff.dump import baselines

    if answer == "a":
        baselines.accept(one.path)
    elif answer == "r":
        one.path.unlink(missing_ok=True)
