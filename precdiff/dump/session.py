"""An HDF5 file while it is written: flushed in time as one commit, by one thread at a time, with failures told once.

This file knows when things reach the disk and what was kept when they did not; it must not know what they mean.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import h5py

from precdiff.dump.commit import CommitFile
from precdiff.dump.leaving import close_at_exit
from precdiff.dump.target import new_file, reason
from precdiff.errors import FileError

FLUSH_BYTES = 64 * 2**20


class Part(Protocol):
    """What holds rows back until a flush."""

    def flush(self) -> None:
        """Write what waits."""


class Session:
    """A new file at `path`; `file` is its h5py.File. Write inside `with session.writing():` only."""

    def __init__(self, path: Path, flush_seconds: float) -> None:
        self.path = path
        self.parts: list[Part] = []
        #: bytes that wait for a flush, counted by whoever writes
        self.waiting = 0
        #: how far the writer is, and what of it a reader would find: said when writing fails
        self.progress = self._kept = "nothing"
        self.open = True
        self.lock = threading.RLock()
        self._seconds = flush_seconds
        self._timer: threading.Timer | None = None
        self._error: FileError | None = None
        self._commits = CommitFile(new_file(path))
        self.file: Any = h5py.File(self._commits, "w")
        close_at_exit(self)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Around everything that writes; what it wrote is flushed in time."""
        with self.lock:
            self._check()
            with self._told():
                yield
                if self._commits.failure is not None:
                    raise self._commits.failure
            if self.waiting >= FLUSH_BYTES:
                self.flush()
            elif self._timer is None and math.isfinite(self._seconds):
                self._timer = threading.Timer(self._seconds, self._timed_flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Make everything up to now survive a kill."""
        with self.lock:
            self._check()
            self._stop_timer()
            with self._told():
                for part in self.parts:
                    part.flush()
                self.file.flush()
                self._commits.commit()
            self.waiting, self._kept = 0, self.progress

    def close(self) -> None:
        """Flush, unless writing failed before, and close."""
        with self.lock:
            if not self.open:
                return
            try:
                if self._error is None:
                    self.flush()
            finally:
                self._stop_timer()
                self.open = False
                self._close_file()

    def _close_file(self) -> None:
        self.file.close()
        try:
            if self._error is None:
                with self._told():
                    self._commits.commit()
        finally:
            self._commits.close()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if not self.open:
            raise FileError(f"{self.path}: the dump is closed; nothing can be added. Make a new DumpWriter")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"Kept: {self._kept}, of {self.progress} recorded; `complete` is not set"
            self._error = FileError(f"writing {self.path} failed: {reason(error)}. {what}")
            raise self._error from error

    def _timed_flush(self) -> None:
        with self.lock:
            self._timer = None
            if self.open and self._error is None:
                with contextlib.suppress(FileError):  # the next call tells
                    self.flush()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
