"""Bare values as devices write them, with a sidecar that says what they are.

    x.bin        little-endian values in C order, nothing else
    x.bin.json   {"format": "fp16", "shape": [64, 1024]}

With "layout": "FRACTAL_NZ" the values lie in tiles of 16 rows of 32 bytes (Ascend C, "Data Format": a fractal is
16 x 32 bytes), or of "tile": [rows, columns], as fp32 in L0C of [16, 16]; `shape` is that without tiles and padding.

This file knows the sidecar; a file that is not exactly as long as its shape says is refused.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from precdiff.dump.files.jsonfile import read_json
from precdiff.dump.files.stored import Room, Source, checked_shape, stored
from precdiff.dump.files.tiled import fractal_nz, nz_shape
from precdiff.dump.rows import TensorRow
from precdiff.errors import FileError
from precdiff.formats import Format, get_format

#: rows of a tile and bytes of one of them, and the most of either
_ROWS, _BYTES, _MOST_TILE = 16, 32, 2**16


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


def raw_file(path: Path) -> Source:
    """The array in a bare file with a sidecar."""
    format, shape = described(path)
    tile = _tile(path, format)
    lies = nz_shape(shape, tile) if tile else shape
    found, expected = path.stat().st_size, math.prod(lies) * format.storage.itemsize
    if found != expected:
        sizes = " x ".join(map(str, lies)) or "one"
        raise FileError(f"{path}: expected {expected:,} bytes ({sizes} {format}), found {found:,}; see {sidecar(path)}")
    room = Room(path, 0, found)
    return (fractal_nz(room, format, lies, shape) if tile else None) or stored(room, format, lies)


def _tile(path: Path, format: Format) -> tuple[int, int] | None:
    """Rows and columns of a tile by the sidecar; None where the values lie in C order."""
    about = read_json(sidecar(path))
    layout, tile = about.get("layout", "ND"), about.get("tile", [_ROWS, _BYTES // format.storage.itemsize])
    if layout not in ("ND", "FRACTAL_NZ"):
        raise FileError(f"{sidecar(path)}: found the layout {str(layout)[:40]!r}; allowed are ND and FRACTAL_NZ")
    if layout == "ND":
        return None
    if not about["shape"]:
        raise FileError(f"{sidecar(path)}: a scalar has no tiles")
    if not isinstance(tile, list) or len(tile) != 2 or not all(type(n) is int and 0 < n <= _MOST_TILE for n in tile):
        raise FileError(f"{sidecar(path)}: found the tile {str(tile)[:40]}; allowed is [rows, columns]")
    return tile[0], tile[1]


def describe(path: Path, row: TensorRow) -> None:
    """Write the sidecar of `path`, which holds the stored codes of the tensor."""
    same = get_format(row.format).storage == get_format(row.stored_format).storage
    about = {"format": row.format if same else row.stored_format, "shape": list(row.shape)}
    sidecar(path).write_text(json.dumps(about) + "\n", encoding="utf-8")
