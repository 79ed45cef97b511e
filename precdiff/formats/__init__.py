"""Which numbers exist: formats as rows, their codes, their order and the ulp.

Read format.py (what a format is), catalog.py (the rows), encoding.py (codes and neighbours), native.py (dtypes),
foreign.py (arrays of other libraries) and ulp.py (errors in units of the last place).
"""

from precdiff.formats import catalog as catalog  # registers the rows
from precdiff.formats.blocks import in_blocks
from precdiff.formats.encoding import from_bits, from_ordinal, hex_bits, next_down, next_up, ordinal, to_bits
from precdiff.formats.foreign import as_array
from precdiff.formats.format import FORMATS, Array, Format, get_format
from precdiff.formats.native import carrier, format_of, native, native_dtype
from precdiff.formats.ulp import is_representable, quantum, signed_ulp_error, ulp, ulp_distance, ulp_error
from precdiff.formats.widening import widen

__all__ = [
    "FORMATS",
    "Array",
    "Format",
    "as_array",
    "carrier",
    "format_of",
    "from_bits",
    "from_ordinal",
    "get_format",
    "hex_bits",
    "in_blocks",
    "is_representable",
    "native",
    "native_dtype",
    "next_down",
    "next_up",
    "ordinal",
    "quantum",
    "signed_ulp_error",
    "to_bits",
    "ulp",
    "ulp_distance",
    "ulp_error",
    "widen",
]
