"""A file HDF5 reads in safety: what its library never comes back from is refused before it sees it.

This file knows the one structure of HDF5 that makes the library loop for ever, and no other. Texts of tables and
attributes lie in global heap collections, objects one behind the other:

    collection = "GCOL", version 1, 3 zeros, size (8), object*
    object     = index (2), references (2), 4 zeros, size (8), data padded to 8; with index 0 the rest is free, and
                 its size counts this header

(HDF5 File Format Specification 3.0, III.E). The library steps from object to object by their sizes: over a free object
of size 0, as zeroed or misplaced blocks make it, it never moves (H5HG, HDF5 2.0, tried). HDF5 reads a collection by
itself and from its beginning, so the file meets each one here. No single read is longer than the file, and no text of
an attribute (headers.py): both would become memory.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import h5py
import numpy as np

from precdiff.dump.commit import CommitFile
from precdiff.dump.headers import text_lengths
from precdiff.dump.leaving import close_at_exit

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import WriteableBuffer

#: bytes a damaged file is read beyond its end (as zeros), and bytes of a text
MOST_BEYOND, MOST_TEXT = 2**20, 2**28

_BEGINNING = b"GCOL\x01\0\0\0"
_COLLECTION = struct.Struct("<8sQ")
_OBJECT = struct.Struct("<HHIQ")
#: how a table's rows refer to a text (IV.B); h5py shows the size of a pointer in memory instead
_TEXT = np.dtype([("length", "<u4"), ("collection", "<u8"), ("object", "<u4")])


class GuardedFile(CommitFile):
    """As CommitFile; reading what the library would not come back from, or more than there is, raises."""

    @property
    def held(self) -> int:
        """Bytes the file has, whatever it says."""
        return max(self._committed, MOST_BEYOND)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        start, size = self._place, memoryview(buffer).nbytes
        if size > self.held:
            raise OSError(f"{size:,} bytes were to be read at address {start}; the file has {self.held:,}")
        count = super().readinto(buffer)
        if bytes(memoryview(buffer).cast("B")[: len(_BEGINNING)]) == _BEGINNING:
            self._check(start)
            self._place = start + count
        return count

    def _check(self, start: int) -> None:
        self._place = start
        header = bytearray(_COLLECTION.size)
        super().readinto(header)
        size = _COLLECTION.unpack(header)[1]
        if not _COLLECTION.size <= size <= self.seek(0, io.SEEK_END) - start:
            raise OSError(f"the texts at address {start} run over the end of the file")
        collection = bytearray(size)
        self._place = start
        super().readinto(collection)
        if not walkable(collection):
            raise OSError(f"the texts at address {start} are damaged")


def walkable(collection: bytes | bytearray) -> bool:
    """Whether every object of a global heap collection has a next one, or is the last.

    >>> walkable(_BEGINNING + bytes([48, *bytes(7), 1, 0, 0, 0, *bytes(4), 3, *bytes(7)]) + b"abc" + bytes(13))
    True
    >>> walkable(_BEGINNING + bytes([64, *bytes(7)]) + bytes(48))
    False
    """
    place = _COLLECTION.size
    while place + _OBJECT.size <= len(collection):
        index, _, _, size = _OBJECT.unpack_from(collection, place)
        step = _OBJECT.size + -(-size // 8) * 8 if index else size
        if not _OBJECT.size <= step <= len(collection) - place:
            return False
        place += step
    return True


class SoundAttributes(h5py.AttributeManager):  # type: ignore[misc]  # h5py has no types
    """The attributes of an object; one whose text is longer than the file is not read."""

    def __init__(self, parent: Any, view: GuardedFile) -> None:
        super().__init__(parent)
        address = h5py.h5o.get_info(parent.id).addr
        self._lengths, self._most = text_lengths(cast("BinaryIO", view), address), min(view.held, MOST_TEXT)

    def __getitem__(self, name: Any) -> Any:
        if name not in self._lengths and name in self and _is_text(self.get_id(name).get_type()):
            raise OSError(f"attribute {name} has a length that cannot be told before it is read")
        if self._lengths.get(name, 0) > self._most:
            raise OSError(f"attribute {name} has {self._lengths[name]:,} bytes by its length; {self._most:,} are read")
        return super().__getitem__(name)


def _is_text(type_: Any) -> bool:
    return bool(type_.get_class() == h5py.h5t.STRING and type_.is_variable_str())


class GuardedHDF5(h5py.File):  # type: ignore[misc]  # h5py has no types
    """The HDF5 file in a GuardedFile, read-only; `filename` is the path."""

    def __init__(self, path: Path, view: GuardedFile) -> None:
        self._view, self._path = view, path
        try:
            super().__init__(view, "r")
        except BaseException:
            view.close()
            raise
        close_at_exit(self)

    @property
    def attrs(self) -> Any:
        """The attributes of the root."""
        return self.sound(self)

    def sound(self, part: Any) -> SoundAttributes:
        """The attributes of a part of the file."""
        return SoundAttributes(part, self._view)

    @property
    def filename(self) -> Any:
        """The path, as of any HDF5 file."""
        return str(self._path)

    def close(self) -> None:
        """Close the file and let go of its lock."""
        super().close()
        self._view.close()


def sound_rows(table: Any, count: int, most: int) -> np.ndarray:
    """Which of the first `count` rows of a table hold texts of at most `most` bytes, by what lies in the file.

    For a damaged length the library would clear as much memory.
    """
    record, sound = _on_disk(table.dtype), np.zeros(count, bool)
    for first in range(0, count, table.chunks[0]):
        chunk = _chunk(table, first)
        rows = np.frombuffer(chunk, record, len(chunk) // record.itemsize)[: count - first]
        found = [rows[name]["length"] <= min(most, MOST_TEXT) for name in record.names or () if record[name] == _TEXT]
        sound[first : first + len(rows)] = np.logical_and.reduce(found) if found else True
    return sound


def _on_disk(columns: np.dtype[Any]) -> np.dtype[Any]:
    texts = {name: h5py.check_string_dtype(columns[name]) is not None for name in columns.names or ()}
    return np.dtype([(name, _TEXT if is_text else columns[name]) for name, is_text in texts.items()])


def _chunk(table: Any, first: int) -> bytes:
    """A chunk as it lies in the file; empty where there is none, or it is packed (a dump's tables are not)."""
    if table.id.get_create_plist().get_nfilters():
        return b""
    try:
        return bytes(table.id.read_direct_chunk((first,))[1])
    except (OSError, RuntimeError, ValueError, KeyError, MemoryError):
        return b""
