""".npy: one array as numpy.save writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from precdiff.dump.arrays import ArraysDump, held, numpy_only, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.npy import MAGIC, npy_file, write_header
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError
from precdiff.formats import get_format


class NpyDump(ArraysDump):
    """Files of numpy.save; the array is called as the file."""

    reader = "npy"
    suffix = ".npy"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """By its magic."""
        return head.startswith(MAGIC)

    @classmethod
    def open(cls, path: Path) -> Self:
        return cls(path, Attributes(complete=True), (), [held(path.stem, npy_file(path))])

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        rows = numpy_only(dump, cls.suffix)
        if len(rows) != 1:
            raise FileError(
                f"{dump.path} holds {len(rows)} tensors, a .npy file holds one; convert to .npz or a folder"
            )
        with path.open("wb") as file:
            write_header(file, get_format(rows[0].stored_format), rows[0].shape)
            write_codes(file, dump, rows[0].id)


READERS.add("npy", NpyDump)
