"""Arrays from files: .npy, and raw little-endian values as devices write them, `PATH:FORMAT:SHAPE`.

Raw bits in, raw bits out: nothing is converted, and a file that is not exactly as long as its shape says is refused. A
raw file may have a sidecar PATH.json with `format` and `shape` instead. A file of another kind that holds one array is
read as dumps are.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from precdiff.dump import Streamed
from precdiff.dump.arrays import ArrayFile
from precdiff.dump.files.npy import npy_file
from precdiff.dump.files.raw import described, raw_file, sidecar
from precdiff.dump.files.stored import Room, Source, stored
from precdiff.dump.reader import reader_of
from precdiff.errors import FileError
from precdiff.formats import Array, Format, get_format, native_dtype

#: bytes of a file that is not read at once
LARGE = 64 * 2**20
_RAW = re.compile(r"(?P<path>.+):(?P<format>[A-Za-z]\w*):(?P<shape>[\d,x ]*)")
_WAYS = (
    "Allowed are FILE.npy, FILE:FORMAT:SHAPE as in x.bin:fp16:64,1024, FILE with FILE.json beside it that gives format "
    "and shape, and files of one array: .pt, .safetensors, .npz"
)


def is_raw(text: str) -> bool:
    """Whether this names a raw file: PATH:FORMAT:SHAPE, or a file with a sidecar."""
    return bool(_RAW.fullmatch(text)) or (Path(text).is_file() and sidecar(Path(text)).is_file())


def read_array(text: str) -> Array:
    """The array in a file, in the ecosystem's dtype of its format."""
    raw = _RAW.fullmatch(text)
    if raw and not Path(text).is_file():
        return _raw(Path(raw["path"]), get_format(raw["format"]), _shape(raw["shape"]))
    path = _existing(Path(text))
    if path.suffix == ".npy":
        return _npy(path)
    return _described(path) if sidecar(path).is_file() else _only(path)


def _described(path: Path) -> Array:
    """The array of a bare file with a sidecar."""
    found, (format, _) = raw_file(path), described(path)
    codes = found.block((0,) * len(found.shape), found.shape)
    return np.asarray(codes).view(native_dtype(format)).reshape(found.shape)


def large_array(text: str) -> Streamed | None:
    """The array in a .npy or raw file that is too large to be read at once, piece by piece; None of any other."""
    raw = _RAW.fullmatch(text) if not Path(text).is_file() else None
    path = Path(raw["path"]) if raw else Path(text)
    if not path.is_file() or path.stat().st_size < LARGE:
        return None
    if raw:
        source: Source = stored(Room(path, 0, path.stat().st_size), get_format(raw["format"]), _shape(raw["shape"]))
    elif path.suffix == ".npy":
        source = npy_file(path)
    elif sidecar(path).is_file():
        source = raw_file(path)
    else:
        return None
    if math.prod(source.shape) * source.format.storage.itemsize < LARGE:
        return None  # of another length: reading it says so
    return Streamed(ArrayFile(path, source), "array")


def _only(path: Path) -> Array:
    """The one array in a file of another kind."""
    try:
        reader = reader_of(path)
    except FileError:
        raise FileError(f"{path}: format and shape are unknown, and there is no {sidecar(path)}. {_WAYS}.") from None
    with reader.open(path) as dump:
        ids = [id for id, row in dump.tensors.items() if row.data == "full"]
        if len(ids) == 1:
            return dump.native(ids[0])
    advice = f"`precdiff convert {path} -o FOLDER` makes a file of each"
    raise FileError(f"{path}: holds {len(ids)} arrays, {', '.join(ids[:6])}; one is needed. {advice}")


def read_row(path: str, format: str) -> Array:
    """All values of a raw file of that format, in one row."""
    row = get_format(format)
    size, width = _existing(Path(path)).stat().st_size, row.storage.itemsize
    if size % width:
        raise FileError(
            f"{path}: found {size:,} bytes, which is no whole number of {row.name} of {width}. Check --format"
        )
    return _raw(Path(path), row, (size // width,))


def _existing(path: Path) -> Path:
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no file"
        raise FileError(f"{path}: there is {found} of that name (working folder {Path.cwd()}). {_WAYS}.")
    return path


def _npy(path: Path) -> Array:
    try:
        array: Array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path}: not a readable .npy file: {error}. Write it with numpy.save.") from None
    if array.dtype.kind == "V":
        raise FileError(
            f"{path}: its dtype is {array.dtype}; .npy files forget the dtypes numpy does not know, as bf16 and fp8. "
            f"Write the bits with array.tofile(FILE) and pass FILE:bf16:{','.join(map(str, array.shape))}."
        )
    return array


def _raw(path: Path, format: Format, shape: tuple[int, ...]) -> Array:
    found, expected = _existing(path).stat().st_size, math.prod(shape) * format.storage.itemsize
    if found != expected:
        sizes = " x ".join(map(str, shape)) or "one"
        raise FileError(
            f"{path}: expected {expected:,} bytes ({sizes} {format.name} of {format.storage.itemsize} bytes), "
            f"found {found:,}. Check format and shape; the file must hold the values and nothing else."
        )
    codes = np.fromfile(path, format.storage.newbyteorder("<")).astype(format.storage, copy=False)
    values: Array = codes.view(native_dtype(format)).reshape(shape)
    return values


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(n) for n in re.split("[,x]", text.strip(" ,x")) if text.strip(" ,x"))
    except ValueError:
        raise FileError(f"shape {text!r}: allowed are whole numbers with commas, as in 64,1024") from None
