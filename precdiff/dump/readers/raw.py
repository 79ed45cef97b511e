"""Bare values (.bin) with a sidecar FILE.json that gives format and shape (dump/files/raw.py)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Self

from precdiff.dump.arrays import ArraysDump, Held, held, kept_rows, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.raw import describe, described, raw_file, sidecar
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError


class RawDump(ArraysDump):
    """Files of bare values with a sidecar."""

    reader = "raw"
    suffix = ".bin"
    general = True

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """By the sidecar."""
        return path.is_file() and sidecar(path).is_file()

    @classmethod
    def open(cls, path: Path) -> Self:
        row, source = held(path.stem, raw_file(path))
        return cls(path, Attributes(complete=True), (), [Held(replace(row, format=described(path)[0].name), source)])

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        rows = kept_rows(dump)
        if len(rows) != 1:
            raise FileError(f"{dump.path} holds {len(rows)} tensors, a .bin file holds one; convert to a folder")
        with path.open("wb") as file:
            write_codes(file, dump, rows[0].id)
        describe(path, rows[0])


READERS.add("raw", RawDump)
