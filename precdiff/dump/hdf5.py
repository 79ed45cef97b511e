"""Opening an HDF5 file, and taking from it only what really is in it.

Links other than hard ones, external storage and virtual data sets are refused: they would read other files silently.
A file whose last flush was cut short is read through its journal (commit.py), and none through bytes that HDF5's
library cannot stand (guard.py). This file must not know what a dump
holds.
"""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path
from typing import Any, BinaryIO, cast

import h5py

from precdiff.dump.guard import GuardedFile, GuardedHDF5
from precdiff.dump.target import share
from precdiff.errors import FileError

SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: what h5py raises on a damaged file
DAMAGE = (OSError, KeyError, TypeError, ValueError, RuntimeError, MemoryError)
SALVAGE = "`precdiff verify FILE --salvage` saves what can be read"

#: end of the file as superblock version 0 states it (HDF5 File Format Specification, II.A)
_END = struct.Struct("<Q")
_END_PLACE = 40
#: bytes of a chunk
MOST_CHUNK = 2**28
#: no dump is larger, so a larger end is damage
_MOST = 2**50


def open_hdf5(path: Path) -> Any:
    """The file, read-only, and no one writes to it meanwhile."""
    try:
        file = _raw(path)
        if not share(file):
            raise FileError(f"{path} is being written; wait until the run has ended")
        return GuardedHDF5(path, GuardedFile.recovered(file))
    except OSError as error:
        raise FileError(_unreadable(path, error)) from error


def open_damaged(path: Path) -> Any:
    """The file, read-only, with zeros for what is cut off at its end."""
    try:
        view = GuardedFile.recovered(_raw(path))
        view.seek(_END_PLACE)
        (end,) = _END.unpack(view.read(_END.size))
        view.truncate(max(min(end, _MOST), view.seek(0, io.SEEK_END)))
        return GuardedHDF5(path, view)
    except DAMAGE as error:
        raise FileError(f"{path}: nothing can be saved: {error}") from error


def _raw(path: Path) -> BinaryIO:
    return cast("BinaryIO", io.FileIO(path, "r"))


def _unreadable(path: Path, error: OSError) -> str:
    said = str(error)
    if "truncated" in said:
        return f"{path} is truncated: it has {path.stat().st_size} bytes, fewer than it says. {SALVAGE}"
    return f"{path} is a damaged HDF5 file: {said}. {SALVAGE}"


def member(file: Any, name: str, kind: type = h5py.Dataset) -> Any:
    """A data set (or group) of the file; one that lies elsewhere, or is missing, is refused."""
    parts = name.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        link = file.get(part, getlink=True, default=None)
        if link is None:
            raise FileError(f"{name} is missing from {file.filename}; the file is damaged. {SALVAGE}")
        if not isinstance(link, h5py.HardLink):
            raise FileError(f"/{part} is a link that leaves {file.filename}; a dump may not point outside itself")
    found = file[name]
    if not isinstance(found, kind):
        raise FileError(f"{name} of {file.filename} is a {type(found).__name__}, not a {kind.__name__}. {SALVAGE}")
    if isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
        raise FileError(f"{name} is stored outside {file.filename}; a dump may not point outside itself")
    return found


def check_chunks(dataset: Any) -> None:
    """Refuse chunks that are absurd: the library unpacks each in memory."""
    chunk = math.prod(dataset.chunks or ()) * dataset.id.get_type().get_size()
    if chunk > MOST_CHUNK:
        raise FileError(
            f"{dataset.name} has chunks of {chunk:,} bytes, unpacked one at a time; {MOST_CHUNK:,} are read. "
            "Write it in smaller chunks"
        )


def whole(dataset: Any) -> Any:
    """The data set, where every byte of it is in the file: what is absent would be read as zeros of any size."""
    check_chunks(dataset)
    if dataset.chunks is None:
        size = dataset.size * dataset.id.get_type().get_size()
        expected, found, unit = size, dataset.id.get_storage_size(), "bytes"
    else:
        counts = (-(-n // chunk) for n, chunk in zip(dataset.shape, dataset.chunks, strict=True))
        expected, found, unit = math.prod(counts), dataset.id.get_num_chunks(), "chunks"
    if found < expected:
        raise FileError(f"{dataset.name} has {found} of {expected} {unit}; the file is damaged")
    return dataset


def contents(file: Any, most: int = 8) -> str:
    """What an HDF5 file holds at its root, in one line."""
    shown = [_described(name, file) for name in list(file)[:most]]
    more = f" and {len(file) - most} more" if len(file) > most else ""
    return ", ".join(shown) + more if shown else "nothing"


def _described(name: str, file: Any) -> str:
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        return f"/{name} (link)"
    found = file[name]
    if isinstance(found, h5py.Group):
        return f"/{name} (group of {len(found)})"
    return f"/{name} ({found.dtype} {found.shape})" if isinstance(found, h5py.Dataset) else f"/{name} (type)"
