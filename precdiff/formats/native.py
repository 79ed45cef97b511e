"""Arrays as the rest of the world holds them: numpy and ml_dtypes dtypes, and the way between them and carriers.

This file knows which dtype belongs to which format (the rows say so) and that carriers hold every value exactly.
ml_dtypes is imported when one of its types is asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats.encoding import from_bits, to_bits
from precdiff.formats.format import FORMATS, Array, Format, get_format

_ADVICE = {
    "c": "pass real and imaginary parts as two tensors",
    "O": "convert it to an array of numbers first",
}


def native(values: object, fmt: str | Format) -> Array:
    """Return values of the format in the dtype the ecosystem uses, bit for bit.

    >>> native([1.0, 2.0], "bf16").dtype.name
    'bfloat16'
    """
    fmt = get_format(fmt)
    return to_bits(values, fmt).view(native_dtype(fmt))


def carrier(array: object) -> Array:
    """Return an array of any known dtype in the carrier of its own format, every value and NaN payload kept.

    >>> carrier(np.float16([1.5])).dtype.name
    'float32'
    """
    found = _in_host_order(np.asarray(array))
    fmt = format_of(found)
    return found if found.dtype == np.dtype(fmt.carrier) else from_bits(found.view(fmt.storage), fmt)


def format_of(array: object) -> Format:
    """Return the format of a numpy or ml_dtypes array from its dtype.

    >>> format_of(np.zeros(3, np.float16)).name
    'fp16'
    """
    dtype = np.asarray(array).dtype.newbyteorder("=")
    for _, fmt in FORMATS.items():
        if fmt.native == dtype.name and native_dtype(fmt) == dtype:
            return fmt
    advice = _ADVICE.get(dtype.kind, "convert it to one of them")
    known = ", ".join(dict.fromkeys(fmt.native for _, fmt in FORMATS.items()))
    raise PrecDiffError(f"no format for an array of dtype {dtype.name}. Known dtypes: {known}; {advice}.")


def _in_host_order(array: Array) -> Array:
    return array if array.dtype.isnative else array.byteswap().view(array.dtype.newbyteorder("="))


@cache
def native_dtype(fmt: Format) -> np.dtype[Any]:
    """Return the dtype the ecosystem uses for the format."""
    if hasattr(np, fmt.native):
        return np.dtype(fmt.native)
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, fmt.native))
    return dtype
