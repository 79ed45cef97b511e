"""The folder that is shown: reports and dumps under one root, addressed by id, read within limits.

An id is a short hash of the relative path, so that no path ever comes from a request. Links that lead out of the root
are not followed. A dump without a stored report is judged when it is first asked for, and kept until the file
changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from precdiff.errors import FileError, PrecDiffError
from precdiff.report import SCHEMA, Report, pictures, render

_DUMPS = (".h5", ".hdf5")
#: where a report says what it is: `schema` is its first key
_HEAD = 4096


@dataclass(frozen=True)
class Entry:
    """A file that can be shown."""

    id: str
    name: str
    path: Path
    kind: Literal["report", "dump"]
    size: int
    modified: float

    @property
    def when(self) -> str:
        """When the file was last written, in UTC."""
        return datetime.fromtimestamp(self.modified, UTC).strftime("%Y-%m-%d %H:%M:%S")


class Library:
    """The entries under a root, and their reports."""

    def __init__(self, root: Path, max_report_bytes: int, max_dump_bytes: int, max_entries: int) -> None:
        self._root = root.resolve()
        self._limits = {"report": max_report_bytes, "dump": max_dump_bytes}
        self._max_entries = max_entries
        self._known: dict[str, tuple[tuple[float, int], Report]] = {}
        self._lock = threading.Lock()

    @property
    def root(self) -> Path:
        """The folder."""
        return self._root

    def entries(self) -> list[Entry]:
        """All entries, newest first."""
        found = []
        for entry in self._walk():
            found.append(entry)
            if len(found) == self._max_entries:
                break
        return sorted(found, key=lambda entry: (-entry.modified, entry.name))

    def _walk(self) -> Iterator[Entry]:
        for folder, folders, files in os.walk(self._root, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                entry = self._entry(Path(folder, name))
                if entry is not None:
                    yield entry

    def _entry(self, path: Path) -> Entry | None:
        """The entry of a file, None where it is neither report nor dump or leads out of the root."""
        suffix = path.suffix.lower()
        if suffix not in (".json", *_DUMPS) or not path.resolve().is_relative_to(self._root) or not path.is_file():
            return None
        if suffix == ".json" and not _is_report(path):
            return None
        name, state = path.relative_to(self._root).as_posix(), path.stat()
        bits = os.fsencode(name)
        name, id = bits.decode("utf-8", "replace"), hashlib.sha256(bits).hexdigest()[:12]
        return Entry(id, name, path, "report" if suffix == ".json" else "dump", state.st_size, state.st_mtime)

    def find(self, id: str) -> Entry | None:
        """The entry of that id."""
        return next((entry for entry in self._walk() if entry.id == id), None)

    def stored(self, entry: Entry) -> Report | None:
        """The report of an entry as far as it is already there; a dump's may lie beside it as NAME.json."""
        if entry.kind == "report":
            return self.report(entry)
        beside = self._beside(entry)
        if beside is not None:
            return beside
        known = self._known.get(entry.id)
        return known[1] if known and known[0] == (entry.modified, entry.size) else None

    def _beside(self, dump: Entry) -> Report | None:
        """The report NAME.json beside a dump, where it is one of that dump, readable and not older."""
        entry = self._entry(dump.path.with_suffix(".json"))
        if entry is None or entry.modified < dump.modified:
            return None
        try:
            report = self.report(entry)
        except PrecDiffError:
            return None
        return report if _names(report.actual, dump.path) else None

    def report(self, entry: Entry) -> Report:
        """The report of an entry, read, or for a dump computed."""
        if entry.size > self._limits[entry.kind]:
            allowed = f"allowed are {self._limits[entry.kind]}"
            raise FileError(f"{entry.name} has {entry.size} bytes, {allowed}; serve it with a higher limit")
        stored = self.stored(entry) if entry.kind == "dump" else None
        if stored is not None:
            return stored
        with self._lock:
            known = self._known.get(entry.id)
            if known is None or known[0] != (entry.modified, entry.size):
                known = ((entry.modified, entry.size), _read(entry) if entry.kind == "report" else _explain(entry))
                self._known[entry.id] = known
        return known[1]


def _is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return SCHEMA.encode() in file.read(_HEAD)
    except OSError:
        return False


def _read(entry: Entry) -> Report:
    """The report of a file; one that parses but cannot be printed is as unreadable as one that does not parse."""
    try:
        document = json.loads(entry.path.read_text(encoding="utf-8"))
        if not isinstance(document, dict):
            raise FileError("it is no JSON object")
        report = Report.from_json(document)
        render(report, verbose=True).encode()
        pictures.timeline(report, report.tensors)
        json.dumps(report.to_json(), allow_nan=False, ensure_ascii=False).encode()
    except PrecDiffError as error:
        raise FileError(f"{entry.name} cannot be read: {error}") from error
    except Exception as error:  # the file is anybody's: whatever it breaks, the other pages stay
        raise FileError(f"{entry.name} cannot be read: {type(error).__name__}: {error}") from error
    return report


def _names(actual: str, dump: Path) -> bool:
    """Whether a report's `actual`, a path as it was typed somewhere, names that dump.

    >>> [_names(a, Path("/d/out/pow.h5")) for a in ("pow.h5", "../out/pow.h5", "/d/out/pow.h5", "pow.npy", "/e/pow.h5")]
    [True, True, True, False, False]
    """
    named = Path(os.path.normpath(actual))
    if named.is_absolute():
        return named.resolve() == dump.resolve()
    parts = [part for part in named.parts if part != ".."]
    return bool(parts) and list(dump.parts[-len(parts) :]) == parts


def _explain(entry: Entry) -> Report:
    from precdiff import api

    return api.explain(entry.path)
