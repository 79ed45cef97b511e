""".npz: several arrays as numpy.savez and numpy.savez_compressed write them, a zip of .npy files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Self

from precdiff.dump.arrays import ArraysDump, Held, held, numpy_only, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.npy import read_header, write_header
from precdiff.dump.files.stored import Room, Source, stored
from precdiff.dump.files.zipped import Inflated, Member, first_name, inflating, members
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError
from precdiff.formats import get_format


class NpzDump(ArraysDump):
    """Files of numpy.savez; arrays are called as in them."""

    reader = "npz"
    suffix = ".npz"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A zip whose first member is a .npy."""
        return first_name(head).endswith(b".npy")

    @classmethod
    def open(cls, path: Path) -> Self:
        return cls(path, Attributes(complete=True), (), [_held(path, *item) for item in members(path).items()])

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for row in numpy_only(dump, cls.suffix):
                with archive.open(f"{row.id}.npy", "w", force_zip64=True) as file:
                    write_header(file, get_format(row.stored_format), row.shape)
                    write_codes(file, dump, row.id)


def _held(path: Path, name: str, member: Member) -> Held:
    if not name.endswith(".npy"):
        raise FileError(f"{path}: holds {name!r}; a .npz holds .npy files and nothing else")
    return held(name.removesuffix(".npy"), _source(path, name, member))


def _source(path: Path, name: str, member: Member) -> Source:
    what = f"{path}: {name}"
    if not member.deflated:
        with path.open("rb") as file:
            file.seek(member.offset)
            header = read_header(io.BytesIO(file.read(min(member.size, 2**16))), what)
        room = Room(path, member.offset + header.start, member.size - header.start)
        return stored(room, header.format, header.shape, header.strides, header.byteorder)
    header = inflating(path, name, lambda stream: read_header(stream, what))
    stored(Room(path, 0, member.size - header.start), header.format, header.shape, header.strides)  # fits, or raises
    return Inflated(path, name, header)


READERS.add("npz", NpzDump)
