""".npy: one array as numpy.save writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from precdiff.dump.arrays import ArraysDump, held
from precdiff.dump.files.npy import MAGIC, npy_file
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes


class NpyDump(ArraysDump):
    """Files of numpy.save; the array is called as the file."""

    reader = "npy"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """By its magic."""
        return head.startswith(MAGIC)

    @classmethod
    def open(cls, path: Path) -> Self:
        return cls(path, Attributes(complete=True), (), [held(path.stem, npy_file(path))])


READERS.add("npy", NpyDump)
