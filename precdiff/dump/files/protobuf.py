"""Protocol buffers read without their library: the fields of a message, and where in the file each one's bytes are.

    message = (key, value)*     key = number << 3 | wire type, a varint
    wire    0 varint            1 eight bytes       2 length (varint), bytes        5 four bytes

(protobuf.dev, Encoding.) A varint has seven bits a byte, low ones first, the high bit set on all bytes but the last;
what is signed is its two's complement in 64 bits. This file knows no message.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from precdiff.formats import Array

#: fields of one message
MOST_FIELDS = 1_000_000
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
#: bytes of the longest varint
_LONGEST = 10


class Field(NamedTuple):
    """One field: the value of a varint, or where its bytes are."""

    number: int
    wire: int
    value: int
    start: int
    stop: int


def mapped(path: Path) -> memoryview:
    """The bytes of a file, mapped, not read; ValueError where it is empty."""
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def key(number: int, wire: int) -> bytes:
    """What precedes a field's value."""
    return varint(number << 3 | wire)


def varint(value: int) -> bytes:
    """A number from 0 on.

    >>> varint(150).hex()
    '9601'
    """
    count = max(1, -(-value.bit_length() // 7))
    return bytes(value >> 7 * n & 127 | (n < count - 1) << 7 for n in range(count))


def fields(content: memoryview, start: int = 0, stop: int | None = None) -> Iterator[Field]:
    """The fields of the message in content[start:stop]; ValueError where it is none."""
    place, end = start, len(content) if stop is None else stop
    for _ in range(MOST_FIELDS):
        if place >= end:
            return
        key, place = _varint(content, place, end)
        number, wire, value, first = key >> 3, key & 7, 0, place
        if wire == VARINT:
            value, place = _varint(content, place, end)
        elif wire == BYTES:
            length, first = _varint(content, place, end)
            place = first + length
        else:
            place += _fixed(wire)
        if place > end or number == 0:
            raise ValueError(f"field {number} at byte {first:,} does not lie within its message")
        yield Field(number, wire, value, first, place)
    raise ValueError(f"a message of more than {MOST_FIELDS:,} fields")


def _fixed(wire: int) -> int:
    if wire not in _FIXED:
        raise ValueError(f"wire type {wire}")
    return _FIXED[wire]


def _varint(content: memoryview, place: int, end: int) -> tuple[int, int]:
    value = 0
    for n in range(min(_LONGEST, end - place)):
        byte = content[place + n]
        value |= (byte & 127) << 7 * n
        if byte < 128:
            return value, place + n + 1
    raise ValueError(f"a number at byte {place:,} that does not end")


def signed(value: int) -> int:
    """The number whose two's complement in 64 bits a varint gave.

    >>> signed(2**64 - 1)
    -1
    """
    return value - 2**64 if value >= 2**63 else value


def varints(packed: memoryview) -> Array:
    """Every varint of a packed field, as u64.

    >>> varints(memoryview(bytes([1, 0x96, 1]))).tolist()
    [1, 150]
    """
    content = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(content < 128)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[: len(ends)]
    if (ends.size and ends[-1] + 1 != content.size) or (not ends.size and content.size):
        raise ValueError("packed numbers that do not end")
    lengths = ends - starts + 1
    if lengths.size and lengths.max() > _LONGEST:
        raise ValueError("a packed number of more than ten bytes")
    values = np.zeros(len(ends), np.uint64)
    for n in range(int(lengths.max()) if lengths.size else 0):
        here = lengths > n
        values[here] |= (content[starts[here] + n].astype(np.uint64) & np.uint64(127)) << np.uint64(7 * n)
    return values
