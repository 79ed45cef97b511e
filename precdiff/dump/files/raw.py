"""Bare values as devices write them, with a sidecar that says what they are.

    x.bin        little-endian values in C order, nothing else
    x.bin.json   {"format": "fp16", "shape": [64, 1024]}

This file knows the sidecar; a file that is not exactly as long as its shape says is refused.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from precdiff.dump.files.jsonfile import read_json
from precdiff.dump.files.stored import Room, Stored, checked_shape, stored
from precdiff.dump.rows import TensorRow
from precdiff.errors import FileError
from precdiff.formats import Format, get_format


def sidecar(path: Path) -> Path:
    """The file that describes `path`."""
    return path.with_name(f"{path.name}.json")


def described(path: Path) -> tuple[Format, tuple[int, ...]]:
    """Format and shape by the sidecar of `path`."""
    beside = sidecar(path)
    row = read_json(beside)
    if not isinstance(row, dict) or not {"format", "shape"} <= row.keys() or not isinstance(row["shape"], list):
        example = '{"format": "fp16", "shape": [64, 1024]}'
        raise FileError(f"{beside}: expected format and shape, as in {example}; found {json.dumps(row)[:200]}")
    return get_format(str(row["format"])), checked_shape(row["shape"], str(beside))


def raw_file(path: Path) -> Stored:
    """The array in a bare file with a sidecar."""
    format, shape = described(path)
    found, expected = path.stat().st_size, math.prod(shape) * format.storage.itemsize
    if found != expected:
        sizes = " x ".join(map(str, shape)) or "one"
        raise FileError(f"{path}: expected {expected:,} bytes ({sizes} {format}), found {found:,}; see {sidecar(path)}")
    return stored(Room(path, 0, found), format, shape)


def describe(path: Path, row: TensorRow) -> None:
    """Write the sidecar of `path`, which holds the stored codes of the tensor."""
    same = get_format(row.format).storage == get_format(row.stored_format).storage
    about = {"format": row.format if same else row.stored_format, "shape": list(row.shape)}
    sidecar(path).write_text(json.dumps(about) + "\n", encoding="utf-8")
