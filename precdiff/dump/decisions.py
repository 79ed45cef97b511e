"""What people decided on results: accept, reject, needs work; kept at the root of the dumps, beside what they speak of.

A decision is a row that is only ever added; undoing one adds a row that names it (decision.py says what then stands).
Each call opens the file, locks it, and closes it (SQLite with a write-ahead log, sqlite.org/wal.html), so commands,
tests and pages may decide at once; who decides on what another has decided meanwhile is told so (ConflictError).
This file knows how decisions are kept. It must not know what follows from them (precdiff/report/agreements).
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from precdiff.dump.decision import FIELDS, STORED, Decision, Kind, check, read, standing, write
from precdiff.errors import FileError, PrecDiffError

#: where the store lies, below the root of the dumps
STORE = Path(".precdiff") / "decisions.sqlite"
VERSION = 1
#: marks the file as ours among SQLite's: "PrDc"
_APPLICATION = 0x50724463
_BUSY_SECONDS = 10.0

_STATEMENTS = (
    """
    CREATE TABLE decisions (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        key     TEXT NOT NULL UNIQUE,
        at      TEXT NOT NULL,
        kind    TEXT NOT NULL CHECK (kind IN ('tensor', 'finding', 'baseline')),
        run     TEXT NOT NULL,
        name    TEXT NOT NULL,
        layer   TEXT NOT NULL,
        content TEXT NOT NULL,
        verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'needs_work', 'undo')),
        author  TEXT NOT NULL,
        reason  TEXT NOT NULL,
        max_ulp REAL,
        expires TEXT NOT NULL,
        undoes  TEXT NOT NULL
    )
    """,
    "CREATE INDEX of_subject ON decisions (kind, run, name)",
    *(
        f"CREATE TRIGGER no_{what} BEFORE {what} ON decisions "
        "BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END"
        for what in ("UPDATE", "DELETE")
    ),
)


class ConflictError(PrecDiffError):
    """Somebody decided on the same subject since the caller looked."""


class Decisions:
    """The store at the root of a folder of dumps. Reading where none is finds no decision and makes no file."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.path = self.root / STORE

    @classmethod
    def near(cls, path: str | Path) -> Decisions | None:
        """The store that a dump belongs to: that of the nearest folder above it which has one."""
        folders = Path(path).resolve().parents
        return next((cls(folder) for folder in folders if (folder / STORE).is_file()), None)

    def run_of(self, path: str | Path) -> str:
        """How a dump is called here: its path below the root, with /; outside the root, its whole path."""
        whole, root = Path(path).resolve(), self.root.resolve()
        return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix()

    def record(self, decision: Decision, seen: str | None = None) -> Decision:
        """Add a decision and return it as stored.

        `seen` is the key of the newest decision on the subject the caller knows ("": knows of none). ConflictError
        where there is a newer one; nothing is added then. None: whatever there is.
        """
        check(decision)
        with self._writing() as database:
            return self._add(database, decision, seen)

    def undo(self, kind: Kind, run: str, name: str, author: str, seen: str | None = None) -> Decision:
        """Take back what stands on a subject; what stood before stands again. PrecDiffError where nothing stands."""
        with self._writing() as database:
            stands = standing(_read(database, kind=kind, run=run, name=name))
            if not stands:
                raise PrecDiffError(f"undo: nothing is decided on {kind} {name!r} of {run!r}")
            made = dataclasses.replace(stands[0], verdict="undo", author=author, reason="", undoes=stands[0].key)
            check(made)
            return self._add(database, made, seen)

    def history(self, kind: Kind | None = None, run: str | None = None, name: str | None = None) -> list[Decision]:
        """All decisions, oldest first; of one kind, run or name if given."""
        asked = {"kind": kind, "run": run, "name": name}
        with self._reading() as database:
            return [] if database is None else _read(database, **{k: v for k, v in asked.items() if v is not None})

    def standing(self, kind: Kind | None = None, run: str | None = None, name: str | None = None) -> list[Decision]:
        """What stands, one decision a subject at most, in the order they were made."""
        return standing(self.history(kind, run, name))

    def to_json(self) -> dict[str, Any]:
        """The whole history, for another store's `merge`."""
        return write(self.history())

    def merge(self, document: Mapping[str, Any]) -> int:
        """Add the decisions of another store that this one lacks; how many. All are added, or none."""
        rows = read(document)
        with self._writing() as database:
            known = {key for (key,) in database.execute("SELECT key FROM decisions")}
            new = [row for row in rows if row.key not in known]
            for row in new:
                _insert(database, row)
        return len(new)

    def _add(self, database: sqlite3.Connection, decision: Decision, seen: str | None) -> Decision:
        kind, run, name = decision.subject
        before = _read(database, kind=kind, run=run, name=name)
        last = before[-1] if before else None
        if seen is not None and seen != (last.key if last else ""):
            raise ConflictError(_conflict(decision, last))
        now = datetime.now(UTC)
        if last is not None:  # the clock may have been set back; the order of decisions may not
            now = max(now, datetime.fromisoformat(last.at) + timedelta(microseconds=1))
        stored = dataclasses.replace(decision, key=uuid.uuid4().hex, at=now.isoformat(timespec="microseconds"))
        return dataclasses.replace(stored, number=_insert(database, stored))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.path}: decisions cannot be kept here: {error.strerror}") from None
        with _told(self.path), closing(_open(f"{self.path.absolute().as_uri()}?mode=rwc")) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("BEGIN IMMEDIATE")
            try:
                _prepared(database, self.path)
                yield database
            except BaseException:
                database.rollback()
                raise
            database.commit()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        if not self.path.is_file():
            yield None
            return
        # beside a write-ahead log even a reader writes; where it may not, nobody else can either
        how = "mode=ro" if os.access(self.path.parent, os.W_OK) else "immutable=1"
        with _told(self.path), closing(_open(f"{self.path.absolute().as_uri()}?{how}")) as database:
            yield database if _version(database, self.path) else None


def _conflict(decision: Decision, last: Decision | None) -> str:
    kind, run, name = decision.subject
    there = f"{last.author} decided {last.verdict!r} at {last.at}" if last else "what you saw is not in this store"
    return f"{decision.verdict} {kind} {name!r} of {run!r}: meanwhile {there}. Look again, then decide."


def _read(database: sqlite3.Connection, **asked: str) -> list[Decision]:
    where = " AND ".join(f"{name} = :{name}" for name in asked) or "1"
    found = database.execute(
        f"SELECT {', '.join(FIELDS)} FROM decisions WHERE {where} ORDER BY at, number",  # noqa: S608 - our own names
        asked,
    )
    return [Decision(**dict(zip(FIELDS, row, strict=True))) for row in found]


def _insert(database: sqlite3.Connection, decision: Decision) -> int:
    values = {name: getattr(decision, name) for name in STORED}
    places = ", ".join(f":{name}" for name in STORED)
    made = database.execute(
        f"INSERT INTO decisions ({', '.join(STORED)}) VALUES ({places})",  # noqa: S608 - our own names
        values,
    )
    return int(made.lastrowid or 0)


def _open(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _version(database: sqlite3.Connection, path: Path) -> int:
    """The schema's version, 0 of an empty file; FileError where the file is another program's or a later version's."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION:
        raise FileError(f"{path} is a database of another program; move it away")
    if version > VERSION:
        raise FileError(f"{path} has version {version}, made by a newer PrecDiff; this one knows {VERSION}. Update it.")
    return int(version)


def _prepared(database: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the current version, within the transaction that is open."""
    if _version(database, path) == 0:
        for statement in _STATEMENTS:
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise FileError(f"{path}: the store of decisions cannot be used: {error}") from None
