"""The file a dump goes to: locked against a second writer, and never a file that is not a dump.

This file knows paths, locks and the reasons of the operating system; the lock is `flock`'s, which HDF5 asks for as
well, so that h5dump and h5py refuse a file that is being written.
"""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any, BinaryIO, cast

from precdiff.dump.commit import apply_journal
from precdiff.dump.guard import GuardedFile, GuardedHDF5
from precdiff.dump.schema import SCHEMA
from precdiff.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_ADVICE = {
    errno.ENOENT: "its folder does not exist: make it first, or choose another",
    errno.EACCES: "no permission to write there: choose a folder that is yours",
    errno.EROFS: "the file system is read-only: choose another",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the quota is used up: free some space",
}
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def reason(error: OSError) -> str:
    """What the operating system said, and what to do about it."""
    advice = _ADVICE.get(error.errno or 0, "")
    said = error.strerror or str(error)
    return f"{said}; {advice}" if advice else said


def place_for(path: Path) -> Path:
    """Where to write a dump that is to be at `path`: beside a complete one, which only a complete one replaces."""
    if not path.is_file():
        return path
    file = _locked(path, os.O_RDWR)
    try:
        return path.with_name(path.name + ".new") if _complete(file) else path
    finally:
        file.close()


def new_file(path: Path) -> BinaryIO:
    """An empty file at `path`, locked; an older dump there is replaced, anything else is refused."""
    file = _locked(path, os.O_RDWR | os.O_CREAT)
    try:
        if not _replaceable(file):
            raise FileError(f"{path} exists and is no PrecDiff dump; choose another name, or delete it first")
        file.truncate(0)
    except OSError as error:
        file.close()
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    except FileError:
        file.close()
        raise
    return file


def existing_file(path: Path) -> BinaryIO:
    """The dump at `path`, locked for more to be written."""
    file = _locked(path, os.O_RDWR)
    apply_journal(file)
    return file


def share(file: BinaryIO) -> bool:
    """Lock a file to be read, beside other readers; whether no one writes to it. It is closed otherwise."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            file.close()
            return False
    return True


def _locked(path: Path, flags: int) -> BinaryIO:
    try:
        file = cast("BinaryIO", io.FileIO(os.open(path, flags, 0o666), "r+"))
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    if not (path.is_file() and file.seekable()):
        file.close()
        raise FileError(f"cannot write {path}: it is a device or a pipe; a dump needs a regular file")
    _lock(path, file)
    return file


def _lock(path: Path, file: BinaryIO) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return
        file.close()
        message = f"cannot write {path}: another writer or reader has it open. Close that one, or choose another name"
        raise FileError(message) from error


def _replaceable(file: BinaryIO) -> bool:
    """Whether the file is empty or a PrecDiff dump."""
    return file.seek(0, io.SEEK_END) == 0 or str(_attributes(file).get("schema")) == SCHEMA


def _complete(file: BinaryIO) -> bool:
    found = _attributes(file)
    return str(found.get("schema")) == SCHEMA and bool(found.get("complete", False))


def _attributes(file: BinaryIO) -> dict[str, Any]:
    """The attributes of an HDF5 file; empty where it is none, or not readable."""
    try:
        with GuardedHDF5(Path(), GuardedFile.recovered(_borrowed(file))) as found:
            return {name: found.attrs[name] for name in ("schema", "complete") if name in found.attrs}
    except (OSError, RuntimeError):
        return {}


def _borrowed(file: BinaryIO) -> BinaryIO:
    """A second handle, so that closing the view leaves the first one open and locked."""
    return cast("BinaryIO", io.FileIO(os.dup(file.fileno()), "r"))
