"""Params, options and provenance as JSON text from which the very same values come back.

Plain JSON holds null, booleans, text, integers and finite floats (the shortest decimal that reads back). What it lacks
is an object with one key that begins with `$`:

    {"$float64": "inf" | "-inf" | "nan" | "0x7ff8000000000001"}     not a finite number; an unusual NaN by its code
    {"$tuple": [...]}                                               a tuple

Anything else is refused: a value that came back changed would replay another run.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

from precdiff.errors import FileError

_QUIET_NAN = 0x7FF8_0000_0000_0000


def encode(value: Any, what: str) -> str:
    """JSON text of a value; `what` names it in the error.

    >>> encode({"axis": (0, -1), "value": float("inf")}, "params")
    '{"axis": {"$tuple": [0, -1]}, "value": {"$float64": "inf"}}'
    """
    return json.dumps(_plain(value, what), allow_nan=False)


def decode(text: str) -> Any:
    """The value of JSON text."""
    try:
        return json.loads(text, object_hook=_from_object)
    except RecursionError:
        raise ValueError(f"{text[:20]!r}... is nested too deeply") from None


def decode_mapping(text: str) -> dict[str, Any]:
    """The mapping of JSON text; anything else raises."""
    found = decode(text)
    if not isinstance(found, dict):
        raise TypeError(f"found {text[:60]!r}; allowed is a JSON object")
    return found


def _plain(value: Any, what: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float64": _special(value)}
    if isinstance(value, tuple):
        return {"$tuple": [_plain(item, what) for item in value]}
    if isinstance(value, list):
        return [_plain(item, what) for item in value]
    if isinstance(value, Mapping):
        return {_key(key, what): _plain(item, f"{what}.{key}") for key, item in value.items()}
    allowed = "null, booleans, text, integers, floats, lists, tuples and mappings with text keys"
    found = f"{type(value).__name__} ({value!r:.60})"
    raise FileError(f"{what} cannot be stored in a dump: found {found}; allowed are {allowed}")


def _key(key: Any, what: str) -> str:
    if not isinstance(key, str) or key.startswith("$"):
        raise FileError(f"{what} cannot be stored in a dump: its key {key!r} is no text, or begins with '$'")
    return key


def _special(value: float) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return "nan" if bits == _QUIET_NAN else f"{bits:#018x}"


def _from_object(found: dict[str, Any]) -> Any:
    match found:
        case {"$tuple": items}:
            return tuple(items)
        case {"$float64": str(text)} if text.startswith("0x"):
            return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
        case {"$float64": text}:
            return float(text)
    return found
