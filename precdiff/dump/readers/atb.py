"""ATB dumps (.bin of the Ascend Transformer Boost library): lines of text, then the values.

    $Version=1.0
    $Object.Count=1
    $Object.Length=N
    format=2
    dtype=1
    dims=64,1024
    $Object.data=0,N
    $End=1

and little-endian values in C order up to the end of the file (Ascend/AscendSpeed,
speed_infer/tools/python_tools/tensor_file.py; mindstudio-probe 26.2.0, core/compare/atb_data_compare.py; dtype is
aclDataType of CANN's acl/acl_base.h). A line `data=FILE` says that the values are in another file; it is taken from the
same folder or below it, from nowhere else. FRACTAL_NZ (format 29) stays as it lies: the header does not have the
original shape.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from precdiff.dump.arrays import ArraysDump, Held, held, without_format
from precdiff.dump.files.stored import Room, checked_shape, inside, stored
from precdiff.dump.reader import HEAD, READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError
from precdiff.formats import get_format

_END = b"$End=1\n"
_TYPES = {
    0: "fp32", 1: "fp16", 2: "i8", 3: "i32", 4: "u8", 6: "i16", 7: "u16", 8: "u32", 9: "i64", 10: "u64", 11: "fp64",
    12: "bool", 27: "bf16",
}  # fmt: skip


class AtbDump(ArraysDump):
    """Tensors of ATB and msit (.bin with a text header)."""

    reader = "atb"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Lines with dtype and dims that end with $End=1."""
        before = b"\n" + head.partition(_END)[0]
        return _END in head and b"\ndtype=" in before and b"\ndims=" in before

    @classmethod
    def open(cls, path: Path) -> Self:
        with path.open("rb") as file:
            header, end, _ = file.read(HEAD).partition(_END)
        found = dict(_pair(line, path) for line in header.decode("latin1").splitlines())
        options = {key: value for key, value in found.items() if key == "format"}
        return cls(path, Attributes(complete=True, options=options), (), [_held(path, found, len(header) + len(end))])


def _pair(line: str, path: Path) -> tuple[str, str]:
    key, equals, value = line.partition("=")
    if not equals:
        raise FileError(f"{path}: its header has the line {line[:60]!r}; allowed is NAME=VALUE")
    return key, value


def _held(path: Path, found: dict[str, str], start: int) -> Held:
    type_, shape = _number(path, found, "dtype"), _shape(path, found)
    if type_ not in _TYPES:
        return without_format(path.stem, f"of ACL type {type_}", shape)
    file, offset = (inside(path, found["data"]), 0) if found.get("data") else (path, start)
    room = Room(file, offset, file.stat().st_size - offset)
    return held(path.stem, stored(room, get_format(_TYPES[type_]), shape))


def _shape(path: Path, found: dict[str, str]) -> tuple[int, ...]:
    words = [word for word in found.get("dims", "").split(",") if word]
    return checked_shape([_integer(path, word) for word in words], str(path))


def _number(path: Path, found: dict[str, str], key: str) -> int:
    return _integer(path, found.get(key, ""))


def _integer(path: Path, word: str) -> int:
    if not word.strip().isdecimal() or len(word) > 20:
        raise FileError(f"{path}: its header has {word[:30]!r} where a number from 0 on is needed")
    return int(word)


READERS.add("atb", AtbDump)
