"""What a tensor's row says of its values without them: statistics in fp64 and a checksum of its codes.

    min, max, mean, l2     over the finite elements, NaN where there is none; infinities and NaNs are counted apart
    mean                   sum x / n;   l2 = sqrt(sum x^2), scaled by a power of two so that no sum overflows
    checksum               sha256 of the stored codes, little-endian, in C order; other programs record crc32 (zlib's;
                           msprobe calls it md5) or xor64 (exclusive or of 64-bit words, the last filled with zeros)

Sums run over blocks of fixed size which `math.fsum` adds exactly, so a value does not depend on how a tensor was cut up
or on the host. This file must not know files.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.formats import Array

#: elements summed at a time
BLOCK = 2**18


#: how the checksum of a scalar begins that is its own (msprobe's xor)
VALUE = "value:"
#: counts that nobody made, in statistics another program recorded
UNCOUNTED = -2


@dataclass(frozen=True)
class Statistics:
    """The numbers of one tensor; recorded by another program, as it had them: NaN for what it left out."""

    min: float
    max: float
    mean: float
    l2: float
    nan_count: int
    inf_count: int


def statistics_of(values: Array | Iterable[Array]) -> Statistics:
    """The statistics of a carrier array, given whole or in C-ordered pieces of any length.

    >>> statistics_of(np.array([3.0, -4.0, np.inf]))
    Statistics(min=-4.0, max=3.0, mean=-0.5, l2=5.0, nan_count=0, inf_count=1)
    """
    pieces = [values] if isinstance(values, np.ndarray) else values
    nans = infinities = 0
    parts: list[_Part] = []
    for block in _blocks(pieces):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            wide = block.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        missing = int(np.isnan(wide).sum())
        nans, infinities = nans + missing, infinities + wide.size - finite.size - missing
        parts += [_part(finite)] if finite.size else []
    if not parts:
        return Statistics(math.nan, math.nan, math.nan, math.nan, nans, infinities)
    return Statistics(min(p.min for p in parts), max(p.max for p in parts), *_moments(parts), nans, infinities)


def _blocks(pieces: Iterable[Array]) -> Iterator[Array]:
    """The same elements in blocks of BLOCK, so that a value does not depend on the pieces."""
    held: list[Array] = []
    count = 0
    for piece in pieces:
        flat = piece.reshape(-1)
        while count + flat.size >= BLOCK:
            yield np.concatenate([*held, flat[: BLOCK - count]])
            flat, held, count = flat[BLOCK - count :], [], 0
        held.append(flat)
        count += flat.size
    if count:
        yield np.concatenate(held)


@dataclass(frozen=True)
class _Part:
    """One block: sums of x / 2^exponent and of its square, both safe from overflow."""

    min: float
    max: float
    count: int
    exponent: int
    total: float
    squares: float


def _part(finite: Array) -> _Part:
    low, high = float(finite.min()), float(finite.max())
    exponent = math.frexp(max(abs(low), abs(high)))[1]
    scaled = np.ldexp(finite, -exponent)
    sums = float(np.add.reduce(scaled)), float(np.add.reduce(scaled * scaled))
    return _Part(low, high, finite.size, exponent, *sums)


def _moments(parts: Sequence[_Part]) -> tuple[float, float]:
    """(mean, l2)."""
    top = max(part.exponent for part in parts)
    mean = math.fsum(math.ldexp(part.total, part.exponent - top) for part in parts) / sum(part.count for part in parts)
    squares = math.fsum(math.ldexp(part.squares, 2 * (part.exponent - top)) for part in parts)
    return math.ldexp(mean, top), _ldexp(math.sqrt(squares), top)


def _ldexp(x: float, exponent: int) -> float:
    """math.ldexp, infinity where that is beyond fp64."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


class _Xor64:
    """The exclusive or of 64-bit little-endian words; the bytes may come in pieces of any length."""

    def __init__(self) -> None:
        self._word, self._rest = 0, b""

    def update(self, data: Any) -> None:
        content = self._rest + bytes(data)
        whole = len(content) // 8 * 8
        self._word ^= int(np.bitwise_xor.reduce(np.frombuffer(content, "<u8", whole // 8)))
        self._rest = content[whole:]

    def hexdigest(self) -> str:
        return f"{self._word ^ int.from_bytes(self._rest, 'little'):016x}"


class _Crc32:
    """CRC-32 of ISO 3309, as zlib has it."""

    def __init__(self) -> None:
        self._sum = 0

    def update(self, data: Any) -> None:
        self._sum = zlib.crc32(data, self._sum)

    def hexdigest(self) -> str:
        return f"{self._sum:08x}"


#: kind -> what computes it
CHECKSUMS: dict[str, Callable[[], Any]] = {"sha256": hashlib.sha256, "crc32": _Crc32, "xor64": _Xor64}


def checksum(codes: Array | Iterable[Array], kind: str = "sha256") -> str:
    """The checksum of codes, given whole or in C-ordered pieces, as `kind:digits`.

    >>> checksum(np.array([0x3C00], np.uint16))[:20]
    'sha256:505114fe53717'
    >>> checksum(np.array([1, 2, 4]), "xor64")
    'xor64:0000000000000007'
    """
    digest = CHECKSUMS[kind]()
    for piece in [codes] if isinstance(codes, np.ndarray) else codes:
        digest.update(little_endian(piece))
    return f"{kind}:{digest.hexdigest()}"


def kind_of(checksum: str) -> str:
    """The kind of a recorded checksum, sha256 where it names none that can be computed."""
    kind = checksum.partition(":")[0]
    return kind if kind in CHECKSUMS else "sha256"


def little_endian(codes: Array) -> Any:
    """The bytes a checksum is of."""
    data = np.ascontiguousarray(codes, codes.dtype.newbyteorder("<"))
    return data.reshape(-1).view(np.uint8).data
