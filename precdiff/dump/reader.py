"""Readers: one module in readers/ for each kind of dump, found by what a file holds, never by its name.

This file knows how a path becomes a Dump, and what to say where it does not; it must not know any file format.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from precdiff.dump.dump import Dump
from precdiff.errors import FileError
from precdiff.registry import Registry

#: bytes of the beginning a reader is shown
HEAD = 4096

READERS: Registry[type[Dump]] = Registry("reader", "precdiff.dump.readers")


def open_dump(path: str | Path) -> Dump:
    """Open a dump of any known kind; a set of several raises with their names."""
    path = Path(path)
    reader = reader_of(path)
    members = reader.members(path)
    if len(members) > 1:
        names = ", ".join(str(member.relative_to(path)) for member in members[:8])
        more = f" and {len(members) - 8} more" if len(members) > 8 else ""
        raise FileError(f"{path} holds {len(members)} dumps: {names}{more}. Name one of them")
    return reader.open(path)


def open_dumps(path: str | Path) -> list[Dump]:
    """Open a dump, or every dump of a set: the ranks of a step, the steps of a run, in that order."""
    path = Path(path)
    reader = reader_of(path)
    opened: list[Dump] = []
    try:
        opened.extend(reader.open(member) for member in reader.members(path))
    except BaseException:
        for dump in opened:
            dump.close()
        raise
    return opened


def reader_of(path: Path) -> type[Dump]:
    """The kind of dump at `path`, told by its content; general kinds are asked last."""
    head = _head(path)
    for reader in sorted((reader for _, reader in READERS.items()), key=lambda reader: reader.general):
        if reader.sniff(path, head):
            return reader
    raise FileError(_unknown(path, head))


def _head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    if path.is_fifo() or path.is_socket():
        raise FileError(f"{path} is a pipe or a socket; a dump is read more than once: save it to a file first")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except FileNotFoundError:
        raise FileError(f"{path} does not exist.{near(path)}") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    return head


def near(path: Path) -> str:
    """A hint at a file of a similar name, or at the folder that is missing."""
    if not path.parent.is_dir():
        return f" Nor does its folder {path.parent}."
    similar = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.5)
    return f" Did you mean {path.parent / similar[0]}?" if similar else ""


def _unknown(path: Path, head: bytes) -> str:
    known = f"{', '.join(READERS)} (`precdiff list readers`)"
    if not head and not path.is_dir():
        return f"{path} is empty: the run that was to write it ended before its first flush. Run it again"
    if path.is_dir():
        dumps = sorted(other.name for other in path.glob("*.h5"))
        holds = f"with {', '.join(dumps[:8])}" if dumps else "without dumps"
        return f"{path} is a folder {holds}; name one dump. Known kinds: {known}"
    advice = "A file of bare numbers is given as PATH:FORMAT:SHAPE"
    return f"{path} is no dump: it begins with {head[:8].hex(' ')}. Known kinds: {known}. {advice}"
