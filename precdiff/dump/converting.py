"""One kind of dump as another: the new one appears whole or not at all, and what it cannot hold is said.

The kind is that of the destination's ending; a destination without one is a folder. This file knows no file format.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from precdiff.dump.dump import Dump
from precdiff.dump.reader import READERS, open_dump
from precdiff.dump.target import reason
from precdiff.errors import FileError

#: the kind that holds everything: nothing is left out of it
WHOLE, FOLDER = "precdiff", "folder"


@dataclass(frozen=True)
class Converted:
    """What was written, and what the new kind has no place for."""

    reader: str
    kind: str
    tensors: int
    left_out: tuple[str, ...]


def convert(source: str | Path, destination: str | Path, *, force: bool = False) -> Converted:
    """Write the dump at `source` to `destination`; an existing file is replaced with `force` only."""
    place = Path(destination)
    kind = _kind(place)
    if place.is_dir() and next(place.iterdir(), None) is not None:
        raise FileError(f"{place} is a folder that holds something; choose another name")
    if place.exists() and not place.is_dir() and not force:
        raise FileError(f"{place} exists; choose another name, or replace it with --force")
    with open_dump(source) as dump, _whole_or_nothing(place) as new:
        kind.write(new, dump)
        left = tuple(_left_out(dump)) if kind.reader != WHOLE else ()
        kept = sum(row.data == "full" for row in dump.tensors.values())
        return Converted(dump.reader, kind.reader, kept if kind.reader != WHOLE else len(dump.tensors), left)


def _kind(place: Path) -> type[Dump]:
    kinds = {reader.suffix: reader for _, reader in READERS.items() if reader.suffix}
    if not place.suffix or place.is_dir():
        return READERS[FOLDER]
    if place.suffix not in kinds:
        raise FileError(
            f"{place}: nothing is written to {place.suffix} files; allowed are {', '.join(sorted(kinds))}, "
            "and a name without an ending for a folder"
        )
    return kinds[place.suffix]


@contextlib.contextmanager
def _whole_or_nothing(place: Path) -> Iterator[Path]:
    """A new place beside, renamed when all is there; what a killed run left there goes first."""
    new = place.with_name(f".{place.stem}.precdiff-part{place.suffix}")
    _remove(new)
    try:
        yield new
        if place.is_dir():
            _remove(place)
        for file in _with_sidecar(new):
            file.replace(place.with_name(file.name.replace(new.name, place.name, 1)))
    except OSError as error:
        raise FileError(f"cannot write {place}: {reason(error)}") from error
    finally:
        _remove(new)


def _with_sidecar(new: Path) -> Iterator[Path]:
    beside = new.with_name(f"{new.name}.json")
    yield from (file for file in (beside, new) if file.exists())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return
    for file in (path, path.with_name(f"{path.name}.json")):
        if ".precdiff-part" in file.name:
            file.unlink(missing_ok=True)


def _left_out(dump: Dump) -> Iterator[str]:
    if dump.steps:
        yield f"{len(dump.steps)} steps"
    if dump.references():
        yield f"{len(dump.references())} references"
    missing = Counter(row.data for row in dump.tensors.values() if row.data != "full")
    yield from (f"{count} tensors of which only {data} was kept" for data, count in missing.items())
    wider = sum(row.data == "full" and row.format != row.stored_format for row in dump.tensors.values())
    if wider:
        yield f"that {wider} tensors were of a narrower format than they are stored in"
