"""--junit, --markdown, --csv, --github of compare and explain: the one report, written for other programs as well.

Where nothing could be compared the files say that, so that no older file stays behind and looks like an answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from precdiff.cli.options import stack
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError, PrecDiffError

if TYPE_CHECKING:
    from precdiff.report import Report

F = TypeVar("F", bound=Callable[..., Any])

_FILES = ("junit", "markdown", "csv")


def _checked(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """Refuse, before any work is done, a file that cannot be made, or that exists and is something else."""
    if path is None or _is_summary(path):
        return path
    if not Path(path).absolute().parent.is_dir():
        raise click.BadParameter(f"{path}: there is no folder {Path(path).parent}; make it first", context, parameter)
    if Path(path).exists() and not _is_ours(str(parameter.name), Path(path)):
        allowed = "exists and is no such file of PrecDiff; choose another name, or delete it first"
        raise click.BadParameter(f"{path} {allowed}", context, parameter)
    return path


def _is_ours(name: str, path: Path) -> bool:
    mark = _module(name).MARK.encode()
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(mark)) in (b"", mark)


def _is_summary(path: str) -> bool:
    """Whether it is the summary of a GitHub job, to which steps append."""
    return path == os.environ.get("GITHUB_STEP_SUMMARY")


def export_options(function: F) -> F:
    """The options."""
    return stack(
        _file("--junit", "FILE.xml", "Write JUnit XML, a test case a tensor."),
        _file("--markdown", "FILE.md", "Write Markdown, for a job's summary or a comment."),
        _file("--csv", "FILE.csv", "Write a table with all figures of all tensors."),
        click.option("--github", is_flag=True, help="Print GitHub annotations, the ten worst."),
    )(function)


def _file(name: str, metavar: str, line: str) -> Callable[[F], F]:
    return click.option(name, type=click.Path(), callback=_checked, metavar=metavar, help=line)


@dataclass(frozen=True)
class Exports:
    """What was asked for: a file for each format, and annotations."""

    files: Mapping[str, str]
    github: bool

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Exports:
        """Take the options of this file out of a command's."""
        given = {name: options.pop(name) for name in _FILES}
        files = {name: path for name, path in given.items() if path is not None}
        if len({Path(path).absolute() for path in files.values()}) < len(files):
            raise PrecDiffError(f"{', '.join(f'--{name}' for name in files)}: give each a file of its own")
        return cls(files, options.pop("github"))

    @contextmanager
    def answering(self, terminal: Terminal, actual: str) -> Iterator[None]:
        """Where the work ends with an error, the files say so."""
        try:
            yield
        except Exception as error:
            for name, path in self.files.items():
                _write(path, _module(name).render_error(actual, str(error)))
            if self.github:
                terminal.say(_module("github").render_error(actual, str(error)))
            raise

    def say(self, terminal: Terminal, text: str) -> None:
        """Text for people; a runner that reads annotations must find none in it."""
        terminal.say(_module("github").quoted(text) if self.github else text)

    def write(self, terminal: Terminal, report: Report) -> None:
        """Write the files and print the annotations."""
        for name, path in self.files.items():
            _write(path, _module(name).render(report))
            terminal.say(f"written {path}")
        if self.github:
            github = _module("github")
            root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
            for line in github.lines(report, root):
                terminal.say(line)


def _module(name: str) -> Any:
    from precdiff.report.exports import github, junit, markdown, spreadsheet

    return {"junit": junit, "markdown": markdown, "csv": spreadsheet, "github": github}[name]


def _write(path: str, text: str) -> None:
    try:
        with Path(path).open("a" if _is_summary(path) else "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}. Choose another place.") from None
