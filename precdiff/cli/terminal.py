"""Where a command's words go: one JSON document to stdout if asked, everything for people to stderr.

A command that stands in for another program prints that program's lines to stdout. This file knows streams, colour and
width; it must not know what is said. Colour: --color/--no-color, else NO_COLOR, else FORCE_COLOR, else whether stderr
is a terminal (no-color.org, force-color.org).
"""

from __future__ import annotations

import json as jsonlib
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import click

#: work shorter than this, in seconds, shows no progress
PATIENCE = 1.0


@dataclass
class Terminal:
    """The global options, and the streams they speak of."""

    json: bool = False
    debug: bool = False
    color: bool | None = None
    #: where documents go while sys.stdout is turned away from what kernels print; None: sys.stdout
    stdout: TextIO | None = None

    @property
    def colour(self) -> bool:
        """Whether text for people is coloured."""
        if self.color is not None:
            return self.color
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
            return True
        return _stderr_is_terminal() and os.environ.get("TERM") != "dumb"

    @property
    def width(self) -> int:
        """Columns for text: the terminal's, 100 where there is none."""
        return max(60, shutil.get_terminal_size((100, 24)).columns) if _stderr_is_terminal() else 100

    def say(self, text: str = "") -> None:
        """A line for people."""
        click.echo(text, err=True, color=self.colour)

    def document(self, document: Mapping[str, Any]) -> None:
        """The command's result, on stdout, where --json asked for it; a reader that left early is no error."""
        if self.json:
            self.line(document, indent=2)

    def line(self, document: Mapping[str, Any], indent: int | None = None) -> None:
        """JSON to stdout whether asked for or not; non-finite numbers are the strings "nan", "inf", "-inf"."""
        self.out(jsonlib.dumps(_finite(document), indent=indent, ensure_ascii=False, allow_nan=False))

    def out(self, text: str) -> None:
        """A line to stdout, for what other programs read; a reader that left early is no error."""
        stdout = self.stdout or sys.stdout
        try:
            click.echo(text, file=stdout)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Say what is going on, and for how long, once it takes more than a second; on a terminal only."""
        if not _stderr_is_terminal():
            yield
            return
        done = threading.Event()
        thread = threading.Thread(target=_tick, args=(what, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _stderr_is_terminal() -> bool:
    return sys.stderr.isatty()


def _tick(what: str, done: threading.Event) -> None:
    start, shown = time.monotonic(), False
    while not done.wait(PATIENCE):
        shown = True
        sys.stderr.write(f"\r{what}: {time.monotonic() - start:.0f} s ")
        sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
