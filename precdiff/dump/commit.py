"""A file that only ever moves from one flushed state to the next, whatever kills the process in between.

This file knows bytes and nothing of HDF5, which rewrites its own structures in place: killed between two of its writes
it leaves a file that no longer opens. So writes are kept apart by what they touch:

    beyond the committed end    nothing refers to it yet: straight to the file
    before the committed end    into pages in memory, until `commit`

and a commit appends the pages as a journal behind the data, writes them in place, and cuts the journal off:

    journal = (offset, length, bytes)* + footer (sha256 of what precedes, its length, magic)

Whoever finds a whole journal at the end of a file reads through it (`recovered`); a torn one is a commit that did not
happen. The first commit of a new file is one write, before which the file is empty. No fsync: this guards against a
killed process, not against a power failure. After a failed write (disk full) everything stays in memory, so that HDF5
can close in peace and the file stays as last committed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import struct
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, BinaryIO, Self, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

PAGE = 4096
MAGIC = b"PDJRNL1\n"
_RECORD = struct.Struct("<QQ")
_FOOTER = struct.Struct("<32sQ8s")


class CommitFile(io.RawIOBase):
    """`file`, unbuffered and open for reading and writing, as h5py's file-like driver wants it."""

    def __init__(self, file: BinaryIO, *, frozen: bool = False) -> None:
        super().__init__()
        self.failure: OSError | None = None
        self._file = file
        self._frozen = frozen
        self._pages: dict[int, bytearray] = {}
        self._size = self._committed = file.seek(0, io.SEEK_END)
        self._new = self._size == 0
        self._place = 0

    @classmethod
    def recovered(cls, file: BinaryIO) -> Self:
        """A view of a file that ends in a journal, as that commit meant it; nothing is written."""
        view = cls(file, frozen=True)
        for offset, content in journal_of(file):
            view._keep(offset, content)
        return view

    def commit(self) -> None:
        """Make all writes up to now the state a reader finds."""
        if self.failure is not None:
            raise self.failure
        try:
            if self._new:
                self._safely(0, bytes(_read_at(cast("BinaryIO", self), 0, self._size)))
            else:
                self._rewrite()
            self._file.truncate(self._size)
        except OSError as error:
            self._fail(error)
            raise
        self._pages.clear()
        self._new, self._committed = False, self._size

    def _rewrite(self) -> None:
        """Journal, then in place."""
        pending = [(n * PAGE, bytes(page[: self._committed - n * PAGE])) for n, page in sorted(self._pages.items())]
        body = b"".join(_RECORD.pack(offset, len(content)) + content for offset, content in pending)
        if body:
            end = max(self._size, self._file.seek(0, io.SEEK_END))
            self._safely(end, body + _FOOTER.pack(hashlib.sha256(body).digest(), len(body), MAGIC))
        for offset, content in pending:
            _write_at(self._file, offset, content)

    def _safely(self, offset: int, content: bytes) -> None:
        """Write behind the committed end; what does not fit is cut off again."""
        try:
            _write_at(self._file, offset, content)
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._committed)
            raise

    def _fail(self, error: OSError) -> None:
        self.failure = error
        self._frozen = True

    # What h5py's driver calls.

    def write(self, content: ReadableBuffer, /) -> int:
        data = bytes(content)
        held = len(data) if self._frozen or self._new else max(0, min(len(data), self._committed - self._place))
        self._keep(self._place, data[:held])
        if held < len(data):
            self._append(self._place + held, data[held:])
        self._place += len(data)
        self._size = max(self._size, self._place)
        return len(data)

    def _append(self, offset: int, data: bytes) -> None:
        try:
            _write_at(self._file, offset, data)
        except OSError as error:
            self._fail(error)
            self._keep(offset, data)
        else:
            self._keep(offset, data, only_into=self._pages.keys() & {self._committed // PAGE})

    def _keep(self, offset: int, data: bytes, only_into: Container[int] | None = None) -> None:
        """Put data into pages: all it touches, or those of `only_into` (the page that the committed end cuts)."""
        for start, stop, page in _pieces(offset, len(data)):
            if only_into is not None and page not in only_into:
                break
            if page not in self._pages:
                self._pages[page] = _read_at(self._file, page * PAGE, PAGE)
            self._pages[page][start - page * PAGE : stop - page * PAGE] = data[start - offset : stop - offset]

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        if self._place >= self._size:  # HDF5 asks for this only where an address is damaged
            raise OSError(f"address {self._place} lies beyond the end of the file")
        target[:] = _read_at(self._file, self._place, len(target))
        for start, stop, page in _pieces(self._place, len(target)):
            if page in self._pages:
                content = self._pages[page][start - page * PAGE : stop - page * PAGE]
                target[start - self._place : stop - self._place] = content
        self._place += len(target)
        return len(target)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = start + offset
        return self._place

    def truncate(self, size: int | None = None, /) -> int:
        self._size = self._place if size is None else size
        return self._size

    def tell(self) -> int:
        return self._place

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def journal_of(file: BinaryIO) -> list[tuple[int, bytes]]:
    """The (offset, bytes) of a whole journal at the end of a file; empty where there is none."""
    end = file.seek(0, io.SEEK_END)
    if end < _FOOTER.size:
        return []
    digest, length, magic = _FOOTER.unpack(bytes(_read_at(file, end - _FOOTER.size, _FOOTER.size)))
    if magic != MAGIC or length > end - _FOOTER.size:
        return []
    body = bytes(_read_at(file, end - _FOOTER.size - length, length))
    return list(_records(body)) if hashlib.sha256(body).digest() == digest else []


def apply_journal(file: BinaryIO) -> None:
    """Finish the commit a killed process left behind, for a file that is to be written again."""
    for offset, content in journal_of(file):
        _write_at(file, offset, content)


def _records(body: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(body):
        offset, length = _RECORD.unpack_from(body, place)
        place += _RECORD.size + length
        yield offset, body[place - length : place]


def _pieces(offset: int, length: int) -> Iterator[tuple[int, int, int]]:
    """(start, stop, page) for every page the range touches."""
    place, end = offset, offset + length
    while place < end:
        page = place // PAGE
        stop = min(end, (page + 1) * PAGE)
        yield place, stop, page
        place = stop


def _read_at(file: BinaryIO, offset: int, length: int) -> bytearray:
    """The bytes there, zeros beyond the end."""
    file.seek(offset)
    found = bytearray()
    while len(found) < length and (part := file.read(length - len(found))):
        found += part
    return found + bytes(length - len(found))


def _write_at(file: BinaryIO, offset: int, data: bytes) -> None:
    """All of it: an unbuffered file may take less at a time."""
    rest = memoryview(data)
    file.seek(offset)
    while rest:
        rest = rest[file.write(rest) :]
