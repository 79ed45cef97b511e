""".safetensors: named tensors behind a JSON header.

    length of the header (8 bytes, little-endian), header, bytes
    header = {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}

(huggingface/safetensors, README "Format".) Offsets count from the end of the header; values lie in C order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from precdiff.dump.arrays import ArraysDump, Held, held, kept_rows, without_format, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.jsonfile import parse_json
from precdiff.dump.files.naming import format_called
from precdiff.dump.files.stored import Room, checked_shape, stored
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes, TensorRow
from precdiff.errors import FileError
from precdiff.formats import get_format

#: the format's own limit of the header (safetensors, MAX_HEADER_SIZE)
MOST_HEADER = 100_000_000
METADATA = "__metadata__"
#: format -> what safetensors calls it
_NAMES = {"fp16": "F16", "bf16": "BF16", "fp32": "F32", "fp64": "F64", "e4m3fn": "F8_E4M3", "e5m2": "F8_E5M2"}


class SafetensorsDump(ArraysDump):
    """Files of safetensors."""

    reader = "safetensors"
    suffix = ".safetensors"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A length no header exceeds, then an object."""
        return 2 <= int.from_bytes(head[:8], "little") <= MOST_HEADER and head[8:9] == b"{"

    @classmethod
    def open(cls, path: Path) -> Self:
        start, header = _header(path)
        about = header.pop(METADATA, {})
        options = about if isinstance(about, dict) else {}
        end = path.stat().st_size
        found = [_held(path, name, entry, start, end) for name, entry in header.items()]
        return cls(path, Attributes(complete=True, options=options), (), found)

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        rows = kept_rows(dump)
        header = json.dumps(dict(_entries(rows))).encode()
        header += b" " * (-len(header) % 8)
        with path.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            for row in rows:
                write_codes(file, dump, row.id)


def _entries(rows: list[TensorRow]) -> Iterator[tuple[str, Any]]:
    place = 0
    for row in rows:
        if row.id == METADATA:
            raise FileError(f"a tensor is called {METADATA!r}, which .safetensors keeps for itself")
        end = place + row.size * get_format(row.stored_format).storage.itemsize
        dtype = _NAMES.get(row.stored_format, row.stored_format.upper())
        yield row.id, {"dtype": dtype, "shape": list(row.shape), "data_offsets": [place, end]}
        place = end


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length)
    if len(text) < length:
        raise FileError(f"{path}: its header of {length:,} bytes is cut off; copy it again")
    found = parse_json(text, f"{path}: the header")
    if not isinstance(found, dict):
        raise FileError(f"{path}: its header is a JSON {type(found).__name__}, not an object")
    return 8 + length, found


def _held(path: Path, name: str, entry: Any, start: int, end: int) -> Held:
    what = f"{path}: tensor {name!r}"
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise FileError(f"{what} has no dtype")
    shape, (first, last) = checked_shape(entry.get("shape") or (), what), _span(entry.get("data_offsets"), what)
    if start + last > end:
        raise FileError(f"{what} ends at {last:,} of {max(end - start, 0):,} bytes; copy the file again")
    format = format_called(entry["dtype"])
    if format is None:
        return without_format(name, entry["dtype"], shape)
    found = stored(Room(path, start + first, last - first), get_format(format), shape)
    if math.prod(shape) * found.format.storage.itemsize != last - first:
        raise FileError(f"{what} has {last - first:,} bytes for {format} {list(shape)}")
    return held(name, found)


def _span(span: Any, what: str) -> tuple[int, int]:
    if (
        not isinstance(span, list)
        or len(span) != 2
        or not all(type(n) is int for n in span)
        or not 0 <= span[0] <= span[1]
    ):
        raise FileError(f"{what} has the data_offsets {str(span)[:60]}; allowed is [first, last]")
    return span[0], span[1]


READERS.add("safetensors", SafetensorsDump)
