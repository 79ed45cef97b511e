"""Lengths of text attributes as they lie in an HDF5 file, told before its library reads one.

A text of variable length is (length, heap address, index), 4 + 8 + 4 bytes, and the library allocates whatever length
is said there: up to 4 GiB for one damaged number (HDF5 2.0, tried). h5py does not show that number, so it is read here:

    header, version 1    = version 1 (1), 0 (1), messages (2), references (4), size (4), 4 zeros, message*
    message              = type (2), size (2), flags (1), 3 zeros, data
    attribute, type 12   = version 1 | 3 (1), flags (1), sizes of name, type and space (2 each), version 3: set (1);
                           name, type, space (version 1: each padded to 8), values
    continued, type 16   = address (8), size (8) of more messages

(HDF5 File Format Specification 3.0, IV.A.1.a, IV.A.2.m, IV.A.2.q.) Headers of version 2 (libver "latest") are known by
their signature OHDR; of their attributes no text of variable length is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

_PREFIX = struct.Struct("<BxHII4x")
_MESSAGE = struct.Struct("<HHB3x")
_ATTRIBUTE = struct.Struct("<BBHHH")
_CONTINUED = struct.Struct("<QQ")
_TEXT = struct.Struct("<IQI")
_ATTRIBUTE_TYPE, _CONTINUED_TYPE = 12, 16
#: class of a type of variable length, the low half of its first byte
_VARIABLE = 9
#: parts of one header
_MOST_PARTS = 1000


def text_lengths(file: BinaryIO, address: int) -> dict[str, int]:
    """Name -> bytes of every attribute with one text of variable length, by the object header at `address`."""
    found: dict[str, int] = {}
    for kind, body in _messages(file, address):
        if kind == _ATTRIBUTE_TYPE and len(body) > _ATTRIBUTE.size:
            name, type_, values = _attribute(body)
            if type_ and type_[0] & 15 == _VARIABLE and len(values) >= _TEXT.size:
                found[name] = max(length for length, _, _ in _TEXT.iter_unpack(values[: len(values) // 16 * 16]))
    return found


def _messages(file: BinaryIO, address: int) -> Iterator[tuple[int, bytes]]:
    prefix = _at(file, address, _PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[0] != 1:
        return
    parts = [(address + _PREFIX.size, _PREFIX.unpack(prefix)[3])]
    for place, size in parts:
        content = _at(file, place, size)
        for kind, body in _part(content):
            if kind == _CONTINUED_TYPE and len(body) >= _CONTINUED.size and len(parts) < _MOST_PARTS:
                parts.append(_CONTINUED.unpack_from(body))
            yield kind, body


def _part(content: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + _MESSAGE.size <= len(content):
        kind, size, _ = _MESSAGE.unpack_from(content, place)
        place += _MESSAGE.size
        yield kind, content[place : place + size]
        place += size


def _attribute(body: bytes) -> tuple[str, bytes, bytes]:
    version, _, *sizes = _ATTRIBUTE.unpack_from(body)
    place, parts = _ATTRIBUTE.size + (version >= 3), []
    for size in sizes:
        parts.append(body[place : place + size])
        place += -(-size // 8) * 8 if version == 1 else size
    return parts[0].rstrip(b"\0").decode(errors="replace"), parts[1], body[place:]


def _at(file: BinaryIO, address: int, size: int) -> bytes:
    """The bytes there, fewer at the end of the file."""
    end = file.seek(0, 2)
    if not 0 <= address < end:
        return b""
    file.seek(address)
    return file.read(min(size, end - address))
