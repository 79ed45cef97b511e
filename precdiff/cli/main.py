"""precdiff: the group of commands. A command is a file of this folder that defines `command`; its name is the file's.

Loading one command loads no other, and no file of this folder imports numpy before its command runs. Here errors become
one message on stderr and an exit code: 0 within the standard, 1 beyond it, 2 trouble, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import click

from precdiff import __version__, cli
from precdiff.cli.options import global_options
from precdiff.cli.terminal import Terminal
from precdiff.errors import PrecDiffError

EPILOG = """\b
Exit codes: 0 within the standard, 1 beyond it, 2 usage, unreadable or not comparable, 130 interrupted.
Text for people goes to stderr; stdout holds the document of --json and nothing else.

Start with `precdiff demo`."""


class Commands(click.Group):
    """The files of this folder as commands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names; loads every file, which the overview needs for their first lines anyway."""
        return [name for name in _files() if _command(name) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        return _command(cmd_name) if cmd_name in _files() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the names known and the nearest one in the message."""
        if args[0][:1] != "-" and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(args[0], f"No such command {args[0]!r}. Known: {', '.join(names)}.", names, ctx)
        return super().resolve_command(ctx, args)

    def main(  # type: ignore[override]  # click's is two overloads
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run, print what went wrong as one message, and leave with the exit code."""
        terminal, run = Terminal(), super().main
        extra |= {"standalone_mode": False, "obj": terminal}
        sys.exit(_guarded(lambda: run(args, prog_name or "precdiff", **extra), terminal))


def _files() -> list[str]:
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(cli.__path__)]


def _command(name: str) -> click.Command | None:
    return getattr(importlib.import_module(f"precdiff.cli.{name.replace('-', '_')}"), "command", None)


def _guarded(run: Callable[[], Any], terminal: Terminal) -> int:
    try:
        code = run()
        return code if isinstance(code, int) else 0
    except click.Abort:
        terminal.say("interrupted")
        return 130
    except click.ClickException as error:
        error.show()
    except PrecDiffError as error:
        _trace(terminal)
        terminal.say(f"precdiff: {error}")
    except SystemExit as error:
        _trace(terminal)
        terminal.say(f"precdiff: the kernel, or a file it comes from, ended the program: SystemExit({error.code!r})")
    except Exception as error:  # noqa: BLE001 - a defect of ours; Python's exit code 1 would mean "beyond the standard"
        _trace(terminal)
        terminal.say(f"precdiff: {_unforeseen(error, terminal)}")
    return 2


def _unforeseen(error: Exception, terminal: Terminal) -> str:
    """A path the system refuses (too long, no permission) is the caller's; everything else is a defect."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {os.fsdecode(error.filename)[:200]}: {error.strerror}. Name another path."
    advice = "" if terminal.debug else " --debug shows where."
    return f"a defect of PrecDiff: {type(error).__name__}: {error}. Please report it.{advice}"


def _trace(terminal: Terminal) -> None:
    if terminal.debug:
        terminal.say(traceback.format_exc())


_WIDE = {"max_content_width": 110}


@click.command(cls=Commands, name="precdiff", params=global_options(), epilog=EPILOG, context_settings=_WIDE)
@click.version_option(__version__, prog_name="precdiff", message="%(prog)s %(version)s")
def main() -> None:
    """How far a kernel's numbers are from the truth, where they first left it, and why, proved by replay."""
