"""One input as it is given on a command line: a number, a SPEC, or a file.

Every input draws from a stream of its own, made of the seed and the input's name: an input more, or another order, does
not change the values of the rest.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np

from precdiff.errors import FileError, PrecDiffError
from precdiff.formats import Array, Format, get_format, native
from precdiff.generate.generator import GENERATORS
from precdiff.generate.rawfile import read_array
from precdiff.generate.spec import generate, parse_spec

#: the narrow one all this is about
DEFAULT_FORMAT = "fp16"

_CALL = re.compile(r"\s*[A-Za-z_]\w*\s*\(.*", re.DOTALL)


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of the input of that name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def input_format(fixed: str | None, common: str | Format | None) -> Format:
    """What values made for an input are rounded to: the kernel's own choice for it, else `common`, else fp16.

    An accumulator takes fp32.
    """
    return get_format("fp32" if fixed == "accumulator" else fixed or common or DEFAULT_FORMAT)


def input_array(name: str, text: str, *, seed: int, format: str | Format) -> Array:
    """The array `text` stands for; numbers and SPECs are rounded to `format`, files keep their own.

    >>> input_array("x", "0.1", seed=0, format="fp16").dtype.name
    'float16'
    """
    try:
        return _array(name, text, seed, format)
    except PrecDiffError as error:
        kind = FileError if isinstance(error, FileError) else PrecDiffError
        raise kind(f"input {name}: {error}") from None


def _array(name: str, text: str, seed: int, format: str | Format) -> Array:
    if _is_number(text):
        text = f"constant({text})"
    if _CALL.fullmatch(text) and not _is_file(text):
        spec = parse_spec(text)
        return native(generate(spec, stream(seed, name), format), format)
    if text in GENERATORS:
        raise FileError(f"there is no file {text!r}. For the generator write {GENERATORS[text]}.")
    return read_array(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
