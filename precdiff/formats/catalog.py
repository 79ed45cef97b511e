"""The formats that exist: one row each, with its source. Importing this file registers them.

This file knows parameters and where they are written down, nothing else.
"""

from __future__ import annotations

from typing import Any

from precdiff.formats.format import FORMATS, Format

IEEE = "IEEE 754-2019, table 3.5"
BF16 = "Intel BFLOAT16 Hardware Numerics Definition 338302-001, section 1"
OFP8 = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
TF32 = "NVIDIA A100 Tensor Core GPU Architecture whitepaper, TF32: fp32's exponents, 10 trailing bits"
HF32 = "asc-devkit, SetHF32Mode on Atlas A2/A3: fp32 factors with 11 trailing bits (10 on 950, which is tf32)"
TWOS_COMPLEMENT = "two's complement, ISO C23 6.2.6.2"
BOOL = "numpy bool: one byte, 0 or 1"


def _float(native: str, bits: int, p: int, emin: int, emax: int, has_inf: bool = True) -> dict[str, Any]:
    carrier = "float32" if p <= 24 else "float64"
    limits = {"p": p, "emin": emin, "emax": emax, "has_inf": has_inf, "has_nan": True}
    return {"kind": "float", "bits": bits, "carrier": carrier, "native": native, **limits}


def _integer(native: str, bits: int, signed: bool) -> dict[str, Any]:
    limits = {"p": bits - signed, "emin": 0, "emax": 0, "has_inf": False, "has_nan": False, "signed": signed}
    return {"kind": "int", "bits": bits, "carrier": native, "native": native, **limits}


def _add(name: str, fields: dict[str, Any], source: str) -> None:
    FORMATS.add(name, Format(name=name, source=source, **fields))


#               native, bits, p, emin, emax
_add("fp16", _float("float16", 16, 11, -14, 15), IEEE)
_add("bf16", _float("bfloat16", 16, 8, -126, 127), BF16)
_add("fp32", _float("float32", 32, 24, -126, 127), IEEE)
_add("fp64", _float("float64", 64, 53, -1022, 1023), IEEE)
_add("e4m3fn", _float("float8_e4m3fn", 8, 4, -6, 8, has_inf=False), OFP8)
_add("e5m2", _float("float8_e5m2", 8, 3, -14, 15), OFP8)

# inputs of matrix units, kept in fp32's codes with the low bits 0; results of arithmetic are fp32, so name out="fp32"
_add("tf32", _float("float32", 32, 11, -126, 127), TF32)
_add("hf32", _float("float32", 32, 12, -126, 127), HF32)

for _bits in (8, 16, 32, 64):
    _add(f"i{_bits}", _integer(f"int{_bits}", _bits, signed=True), TWOS_COMPLEMENT)
    _add(f"u{_bits}", _integer(f"uint{_bits}", _bits, signed=False), TWOS_COMPLEMENT)

_add("bool", {**_integer("bool", 8, signed=False), "kind": "bool", "p": 1}, BOOL)
