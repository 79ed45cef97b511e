"""What other programs call the formats: torch.bfloat16, BFloat16, F8_E4M3 and FLOAT8E4M3FN are names of two rows.

This file knows spellings; a name without a format of ours (complex64, float8_e8m0fnu, string) is known to have none.
"""

from __future__ import annotations

from precdiff.formats import FORMATS

_SPELLINGS = {
    "half": "fp16", "float": "fp32", "double": "fp64", "short": "i16", "int": "i32", "long": "i64", "char": "i8",
    "byte": "u8", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "float8e4m3fn": "e4m3fn",
    "float8e5m2": "e5m2", "f8e4m3": "e4m3fn", "f8e5m2": "e5m2", "boolean": "bool",
}  # fmt: skip


def format_called(name: str) -> str | None:
    """The format another program calls `name`; None where we have none.

    >>> format_called("torch.float8_e4m3fn"), format_called("BFloat16"), format_called("complex64")
    ('e4m3fn', 'bf16', None)
    """
    word = name.strip().rpartition(".")[2].lower()
    return _known().get(word.replace("_", ""))


def _known() -> dict[str, str]:
    # the first row of a native dtype is the one that spells it: fp32, not tf32
    natives = {row.native.replace("_", ""): name for name, row in reversed(FORMATS.items())}
    return {**{name: name for name in FORMATS}, **natives, **_SPELLINGS}
