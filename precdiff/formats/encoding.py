"""Between values and codes: bits, ordinals and neighbours, vectorised over arrays.

This file knows the interchange encoding (IEEE 754-2019, 3.4): sign, exponent field, trailing significand. It must not
round: a value the format does not hold is an error here.

    code = s * 2^(bits - 1) + (e - emin + 1) * 2^(p - 1) + (m - 2^(p - 1))      normal number
    code = s * 2^(bits - 1) + m                                                 subnormal number or zero

Read without the sign, codes grow with the magnitude; with the sign put in front they are the ordinals.
NaN payloads are kept where both sides can hold them; a float32 NaN whose payload lies wholly in the bits a narrower
format lacks becomes that format's quiet NaN (and never infinity).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats.blocks import in_blocks
from precdiff.formats.format import Array, Format, get_format

#: the ordinal of NaN, which has no place in the order
NAN_ORDINAL = np.iinfo(np.int64).min


def to_bits(values: object, fmt: str | Format) -> Array:
    """Return the codes of values that the format holds exactly, as unsigned integers.

    >>> [hex(code) for code in to_bits([1.0, -0.0, 65504.0], "fp16")]
    ['0x3c00', '0x8000', '0x7bff']
    """
    fmt = get_format(fmt)
    found = np.asarray(values)
    if found.dtype.name == fmt.native and found.dtype.isnative:
        return _with_unused_bits_clear(found.view(fmt.storage), fmt)
    carried = _into_carrier(found, fmt)
    if fmt.native == fmt.carrier:
        return _with_unused_bits_clear(carried.view(fmt.storage), fmt)
    return in_blocks(lambda block: _encode_held(block, fmt), carried)


def _encode_held(values: Array, fmt: Format) -> Array:
    codes = _encode(values, fmt)
    _refuse_unheld(values, from_bits(codes, fmt), fmt)
    return codes


def _into_carrier(found: Array, fmt: Format) -> Array:
    if found.dtype == np.dtype(fmt.carrier):
        return found
    with np.errstate(all="ignore"):
        carried = np.asarray(found.astype(fmt.carrier))
    _refuse_unheld(found, carried, fmt)
    return carried


def _refuse_unheld(given: Array, held: Array, fmt: Format) -> None:
    lost = np.asarray((given != held) & ~((given != given) & (held != held)))
    if lost.any():
        first = given[lost].ravel()[0] if given.ndim else given
        raise PrecDiffError(f"{fmt} holds no {first.item()!r}. Round it first: round_array(x, Rounding({fmt.name!r})).")


def _with_unused_bits_clear(codes: Array, fmt: Format) -> Array:
    """Return the codes of a format kept in a wider one's; numbers that need the wider one are refused, NaNs stay."""
    unused = codes.dtype.type((1 << fmt.unused_bits) - 1)
    if fmt.unused_bits and (codes & unused).any():
        values = codes.view(fmt.carrier)
        _refuse_unheld(values, np.where(np.isnan(values), values, np.asarray(codes & ~unused).view(fmt.carrier)), fmt)
    return codes


def _encode(values: Array, fmt: Format) -> Array:
    """Encode float32 values; what the format lacks comes out as some other code."""
    word = values.view(np.uint32)
    magnitude = word & np.uint32(0x7FFF_FFFF)
    top = magnitude >> np.uint32(24 - fmt.p)
    code = top - np.uint32((127 - fmt.bias) << (fmt.p - 1))
    if fmt.emin > -126:  # the carrier's exponents reach further down, so subnormals are normal there
        with np.errstate(all="ignore"):
            scaled = np.abs(values) * np.float32(2.0 ** (fmt.p - 1 - fmt.emin))
            code = np.where(magnitude < _word(fmt.min_normal), scaled.astype(np.uint32), code)
    special = magnitude >= np.uint32(0x7F80_0000)
    if special.any():
        code = np.where(special, _encode_special(top, magnitude, fmt), code)
    sign = (word >> np.uint32(31)) << np.uint32(fmt.bits - 1)
    return np.asarray((code & np.uint32((1 << (fmt.bits - 1)) - 1)) | sign).astype(fmt.storage)


def _word(value: float) -> np.uint32:
    return np.float32(value).view(np.uint32)


def _encode_special(top: Array, magnitude: Array, fmt: Format) -> Array:
    """Encode infinities and NaNs, without sign; a payload that would be cut to nothing becomes the quiet bit."""
    if not fmt.has_inf:
        return np.full_like(top, (1 << (fmt.bits - 1)) - 1)
    infinity = np.uint32(_infinity_code(fmt))
    payload = top & np.uint32((1 << (fmt.p - 1)) - 1)
    cut = (payload == 0) & (magnitude > np.uint32(0x7F80_0000))
    return infinity | np.where(cut, np.uint32(1 << (fmt.p - 2)), payload)


def _infinity_code(fmt: Format) -> int:
    return (fmt.emax - fmt.emin + 2) << (fmt.p - 1)


def from_bits(bits: object, fmt: str | Format) -> Array:
    """Return the values of codes in the format's carrier.

    >>> from_bits([0x3C00, 0x7BFF], "fp16").tolist()
    [1.0, 65504.0]
    """
    fmt = get_format(fmt)
    codes = np.asarray(bits).astype(fmt.storage, copy=False)
    if fmt.native == fmt.carrier:
        return codes.view(fmt.carrier)
    if fmt.bits <= 16:
        return np.asarray(_decoded(fmt)[codes]).view(np.float32)
    return _decode(codes, fmt).view(np.float32)


@cache
def _decoded(fmt: Format) -> Array:
    """Float32 words of every code; indexing this table is the fastest decoder and exact by construction."""
    return _decode(np.arange(2**fmt.bits), fmt)


def _decode(codes: Array, fmt: Format) -> Array:
    """Decode to float32 words, word by word so that no NaN passes through floating-point hardware."""
    codes = codes.astype(np.int64)
    field, fraction = np.divmod(codes & ((1 << (fmt.bits - 1)) - 1), (1 << (fmt.p - 1)))
    significand = fraction + np.where(field > 0, (1 << (fmt.p - 1)), 0)
    exponent = np.maximum(field, 1) - fmt.bias - fmt.p + 1
    beyond = _beyond_numbers(codes, fmt)
    numbers = np.where(beyond, 0.0, np.ldexp(significand.astype(np.float64), exponent))
    word = numbers.astype(np.float32).view(np.uint32).astype(np.int64)
    payload = 0x7F80_0000 | fraction << (24 - fmt.p)
    word = np.where(beyond, payload, word)
    return np.asarray(word | (codes >> (fmt.bits - 1) << 31)).astype(np.uint32)


def _beyond_numbers(codes: Array, fmt: Format) -> Array:
    """Say which codes are infinities or NaNs."""
    magnitude = codes & ((1 << (fmt.bits - 1)) - 1)
    if fmt.has_inf:
        return np.asarray(magnitude >= _infinity_code(fmt))
    return np.asarray(magnitude == (1 << (fmt.bits - 1)) - 1) & fmt.has_nan


def hex_bits(value: object, fmt: str | Format) -> str:
    """Return the code of one value in hexadecimal, as wide as the format.

    >>> hex_bits(1.5, "fp16")
    '0x3e00'
    """
    fmt = get_format(fmt)
    return f"0x{int(to_bits(value, fmt)):0{-(-fmt.bits // 4)}x}"


def ordinal(values: object, fmt: str | Format) -> Array:
    """Number the format's values in order, in int64: both zeros are 0, the smallest positive number is 1.

    NaN has no place in the order and gets the smallest int64. A u64 counts from -2^63, other integers are their own
    ordinals.

    >>> ordinal([-0.0, 0.0, 2.0**-24, 1.0], "fp16").tolist()
    [0, 0, 1, 15360]
    """
    fmt = get_format(fmt)
    if not fmt.is_float:
        return _integer_ordinal(to_bits(values, fmt).view(fmt.carrier))
    return in_blocks(lambda block: _ordinal_of_code(block, fmt), to_bits(values, fmt))


def _ordinal_of_code(codes: Array, fmt: Format) -> Array:
    signed = np.asarray(codes.astype(np.uint64) << np.uint64(64 - fmt.bits)).view(np.int64)
    magnitude = np.asarray(signed & np.iinfo(np.int64).max) >> (64 - fmt.bits)
    place = magnitude >> fmt.unused_bits
    placed = np.where(signed < 0, -place, place)
    return np.where(magnitude > _last_ordinal(fmt) << fmt.unused_bits, NAN_ORDINAL, placed)


def _integer_ordinal(values: Array) -> Array:
    if values.dtype == np.uint64:
        return np.asarray(values ^ np.uint64(2**63)).view(np.int64)
    return values.astype(np.int64)


def _last_ordinal(fmt: Format) -> int:
    """Ordinal of the largest value: infinity, or the largest number where there is none."""
    return _infinity_code(fmt) if fmt.has_inf else (1 << (fmt.bits - 1)) - 1 - fmt.has_nan


def from_ordinal(ordinals: object, fmt: str | Format) -> Array:
    """Return the values with these ordinals (0 gives +0, the smallest int64 NaN).

    >>> from_ordinal([0, 1], "fp16").tolist()
    [0.0, 5.960464477539063e-08]
    """
    fmt = get_format(fmt)
    numbers = np.asarray(ordinals, np.int64)
    if not fmt.is_float:
        return _integer_of_ordinal(numbers, fmt)
    magnitude = np.abs(numbers)
    if ((magnitude > _last_ordinal(fmt)) & (numbers != NAN_ORDINAL)).any():
        raise PrecDiffError(f"ordinals of {fmt} lie within +-{_last_ordinal(fmt)}; found {magnitude.max()}.")
    nan_code = np.uint64(_nan_code(fmt))
    code = np.where(numbers == NAN_ORDINAL, nan_code, magnitude.astype(np.uint64)) << np.uint64(fmt.unused_bits)
    sign = np.where((numbers < 0) & (numbers != NAN_ORDINAL), np.uint64(1 << (fmt.bits - 1)), np.uint64(0))
    return from_bits(code | sign, fmt)


def _nan_code(fmt: Format) -> int:
    return _infinity_code(fmt) | 1 << (fmt.p - 2) if fmt.has_inf else (1 << (fmt.bits - 1)) - 1


def _integer_of_ordinal(numbers: Array, fmt: Format) -> Array:
    if fmt.carrier == "uint64":
        return numbers.view(np.uint64) ^ np.uint64(2**63)
    return numbers.astype(fmt.carrier)


def next_up(values: object, fmt: str | Format) -> Array:
    """Return the least value greater than each (IEEE 754-2019, 5.3.1): next_up of the smallest negative number is -0.

    The largest value (infinity, or the largest number of a format without one) and NaN stay.

    >>> next_up([1.0, -(2.0**-24), 65504.0], "fp16").tolist()
    [1.0009765625, -0.0, inf]
    """
    fmt = get_format(fmt)
    place = ordinal(values, fmt)
    last = _last_ordinal(fmt) if fmt.is_float else int(ordinal(fmt.integer_range[1], fmt))
    higher = from_ordinal(np.where((place == NAN_ORDINAL) | (place >= last), place, place + 1), fmt)
    return np.where(place == -1, -higher, higher) if fmt.is_float else higher


def next_down(values: object, fmt: str | Format) -> Array:
    """Return the greatest value less than each; the mirror image of `next_up`.

    >>> next_down([1.0, 2.0**-24], "fp16").tolist()
    [0.99951171875, 0.0]
    """
    fmt = get_format(fmt)
    if fmt.is_float:
        return -next_up(-np.asarray(values), fmt)
    place = ordinal(values, fmt)
    first = int(ordinal(fmt.integer_range[0], fmt))
    return from_ordinal(np.where(place <= first, place, place - 1), fmt)
