"""CANN adump: what one kernel read and wrote, as a protobuf header and the values behind it.

    length of the header (8 bytes, little-endian), DumpData, values of inputs, outputs, buffers, and more in that order
    DumpData    1 version, 2 dump_time, 3 output*, 4 input*, 5 buffer*, 6 op_name; later versions have more
    OpOutput    1 data_type, 2 format, 3 shape{1 dim*}, 5 data, 6 size, 7 original_shape
    OpInput     1 data_type, 2 format, 3 shape, 4 data, 5 size, 6 original_shape
    OpBuffer    1 type, 2 data, 3 size

(CANN's dump_data.proto, package toolkit.dumpdata; types and layouts by mindstudio-probe 26.2.0,
msaccucmp/cmp_utils/constant/const_manager.py, the order of the values by dump_parse/big_dump_data.py there.) The
kernel is a step, its tensors are called `input.0`, `output.0`. FRACTAL_NZ and NC1HWC0 are read in their original shape;
other layouts as they lie, in the shape they have there, with their name in the options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from precdiff.dump.arrays import ArraysDump, Held, held, without_format
from precdiff.dump.files.protobuf import BYTES, VARINT, Field, fields, mapped, signed, varints
from precdiff.dump.files.stored import Room, Source, checked_shape, stored
from precdiff.dump.files.tiled import fractal_nz, nc1hwc0
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes, StepRow
from precdiff.errors import FileError
from precdiff.formats import get_format

#: bytes of a header; it holds names and shapes
MOST_HEADER = 2**26
_LENGTH = 8
_TYPES = {
    1: "fp32", 2: "fp16", 3: "i8", 4: "u8", 5: "i16", 6: "u16", 7: "i32", 8: "i64", 9: "u32", 10: "u64", 11: "bool",
    12: "fp64", 27: "bf16", 34: "e5m2", 35: "e4m3fn",
}  # fmt: skip
_OTHER_TYPES = {
    13: "string", 16: "complex64", 17: "complex128", 29: "uint1", 32: "complex32", 33: "hifloat8", 36: "e8m0",
    37: "e3m2", 38: "e2m3", 39: "e2m1", 40: "e1m2",
}  # fmt: skip
_LAYOUTS = {
    0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 12: "NC1HWC0_C04", 14: "CHWN", 16: "HWCN",
    27: "NDHWC", 29: "FRACTAL_NZ", 30: "NCDHW", 31: "DHWCN", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D",
}  # fmt: skip
_UNTILED = {"FRACTAL_NZ": fractal_nz, "NC1HWC0": nc1hwc0}
#: number in DumpData -> what it is, and the numbers of data, size and original_shape in it, in the order of the values
_PARTS = {4: ("input", 4, 5, 6), 3: ("output", 5, 6, 7), 5: ("buffer", 2, 3, 0)}
_HEADER_FIELDS = {1: BYTES, 2: VARINT, 3: BYTES, 4: BYTES, 5: BYTES, 6: BYTES}


@dataclass
class _Part:
    """One tensor of the header, and where its values are."""

    id: str
    type: int = 0
    layout: int = 2
    shape: tuple[int, ...] = ()
    original: tuple[int, ...] = ()
    size: int = 0
    data: tuple[int, int] = (0, 0)
    room: Room = field(default_factory=lambda: Room(Path(), 0, 0))


class AdumpDump(ArraysDump):
    """Dumps of single kernels by CANN's adump."""

    reader = "adump"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A length, a header of the fields of DumpData, and a tensor in it."""
        length = int.from_bytes(head[:_LENGTH], "little")
        if path.is_dir() or not 0 < length <= MOST_HEADER:
            return False
        try:
            found = list(_header(path))
        except (OSError, ValueError):
            return False
        known = all(_HEADER_FIELDS.get(part.number, part.wire) == part.wire for part in found)
        return known and any(part.number in (3, 4) for part in found)

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            parts = list(_parts(path))
        except (OSError, ValueError) as error:
            raise FileError(f"{path} is a damaged adump file: {error}. Copy it again") from error
        tensors = [_held(part) for part in parts]
        options: dict[str, Any] = {f"{part.id}.layout": _layout(part) for part in parts}
        return cls(path, Attributes(complete=True, options=options), [_step(path, tensors)], tensors)


def _header(path: Path) -> Iterator[Field]:
    content = mapped(path)
    length = int.from_bytes(content[:_LENGTH], "little")
    if length > len(content) - _LENGTH:
        raise ValueError(f"its header of {length:,} bytes is cut off")
    return fields(content, _LENGTH, _LENGTH + length)


def _parts(path: Path) -> Iterator[_Part]:
    """Its inputs and outputs; the values of buffers come after them."""
    content, header = mapped(path), list(_header(path))
    place, end = _LENGTH + int.from_bytes(content[:_LENGTH], "little"), len(content)
    for number, (kind, *numbers) in _PARTS.items():
        for index, found in enumerate(part for part in header if part.number == number):
            part = _part(f"{kind}.{index}", content, found, *numbers)
            within = part.data[1] > part.data[0]
            part.room = Room(path, *((part.data[0], part.data[1] - part.data[0]) if within else (place, part.size)))
            place += 0 if within else part.size
            if place > end:
                raise ValueError(f"{part.id} of {part.size:,} bytes ends at {place:,} of {end:,}")
            if kind in ("input", "output"):
                yield part


def _part(id: str, content: memoryview, found: Field, data: int, size: int, original: int) -> _Part:
    part = _Part(id)
    for inner in fields(content, found.start, found.stop):
        if inner.number == data and inner.wire == BYTES:
            part.data = inner.start, inner.stop
        elif inner.number == size and inner.wire == VARINT:
            part.size = inner.value
        elif inner.number == 1:
            part.type = inner.value
        elif inner.number == 2:
            part.layout = inner.value
        elif inner.number in (3, original) and inner.wire == BYTES:
            shape = checked_shape(_dims(content, inner), id)
            part.shape, part.original = (shape, part.original) if inner.number == 3 else (part.shape, shape)
    return part


def _dims(content: memoryview, shape: Field) -> list[int]:
    found: list[int] = []
    for inner in fields(content, shape.start, shape.stop):
        numbers = [inner.value] if inner.wire == VARINT else varints(content[inner.start : inner.stop]).tolist()
        found += [signed(n) for n in numbers if inner.number == 1]
    return found


def _step(path: Path, tensors: list[Held]) -> StepRow:
    """The kernel; its op is the first word of the file's name, `{op_type}.{op_name}.{task}[.{stream}].{time}`."""
    ports = [(row.role, (row.id, row.id)) for row, _ in tensors]
    given, made = (tuple(port for role, port in ports if role == wanted) for wanted in ("input", "output"))
    return StepRow(path.name, path.name.partition(".")[0], given, made)


def _layout(part: _Part) -> str:
    return _LAYOUTS.get(part.layout, f"layout {part.layout}")


def _held(part: _Part) -> Held:
    role = part.id.partition(".")[0]
    if part.type not in _TYPES:
        return without_format(part.id, _OTHER_TYPES.get(part.type, f"of CANN type {part.type}"), part.shape)
    return held(part.id, _source(part), role=role)


def _source(part: _Part) -> Source:
    format, layout = get_format(_TYPES[part.type]), _layout(part)
    untiled = _UNTILED[layout](part.room, format, part.shape, part.original) if layout in _UNTILED else None
    return untiled or stored(part.room, format, part.shape)


READERS.add("adump", AdumpDump)
