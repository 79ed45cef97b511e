"""Plain data to JSON and back: frozen dataclasses by their annotations, non-finite numbers as strings.

JSON has no nan, inf or -inf; they are the strings "nan", "inf" and "-inf" (DESIGN 5). Tuples become lists and return
as tuples. Unknown keys are ignored, so that a newer minor version can be read; a missing key without default is an
error that names its place. Nothing here knows what a report is.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from precdiff.errors import FileError

T = TypeVar("T")

#: of fp64; Python reads larger integers, which no figure of a report can be
_LARGEST = sys.float_info.max
_NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: Any) -> Any:
    """Return a value as JSON: dataclasses as objects, arrays as lists.

    >>> encode({"x": (1, float("-inf")), "y": np.float32(0.5)})
    {'x': [1, '-inf'], 'y': 0.5}
    """
    if isinstance(value, np.ndarray | np.generic):
        return encode(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [encode(item) for item in value]
    return value


def decode(hint: Any, value: Any, place: str = "report") -> Any:
    """Return the value of type `hint` that JSON stands for; `place` names it in errors.

    >>> decode(tuple[float, ...], [1, "inf"])
    (1, inf)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is float:
        return _number(value, place)
    if is_dataclass(hint) and isinstance(hint, type):
        return decode_row(hint, value, place)
    if origin in (Union, types.UnionType):
        return None if value is None else decode(next(a for a in arguments if a is not type(None)), value, place)
    if origin is Literal:
        return _one_of(arguments, value, place)
    if origin is tuple and Ellipsis not in arguments:
        if len(_list(value, place)) != len(arguments):
            raise _wrong(place, value, f"a list of {len(arguments)}")
        return tuple(decode(one, item, place) for one, item in zip(arguments, value, strict=True))
    if origin in (tuple, list, Sequence):
        items = [decode(arguments[0], item, f"{place}[{i}]") for i, item in enumerate(_list(value, place))]
        return items if origin is list else tuple(items)
    if origin in (dict, Mapping):
        return {key: decode(arguments[1], item, f"{place}.{key}") for key, item in _object(value, place).items()}
    return _anything(value) if hint is Any else _plain(hint, value, place)


def decode_row(cls: type[T], value: Any, place: str) -> T:
    """Return the dataclass that a JSON object stands for."""
    given, hints = _object(value, place), get_type_hints(cls)
    found: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]  # T is a dataclass
        if field.name in given:
            found[field.name] = decode(hints[field.name], given[field.name], f"{place}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise FileError(f"{place}: the key {field.name!r} is missing; found {', '.join(given) or 'none'}")
    return cls(**found)


def _number(value: Any, place: str) -> float:
    """Return the number; a count stays the int it was written as."""
    if isinstance(value, str) and value in _NONFINITE:
        return _NONFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise _wrong(place, value, 'a number or one of "nan", "inf", "-inf"')
    return value


def _anything(value: Any) -> Any:
    """Free-form data (evidence): the strings that stand for non-finite numbers become those."""
    if isinstance(value, str):
        return _NONFINITE.get(value, value)
    if isinstance(value, list):
        return [_anything(item) for item in value]
    return {key: _anything(item) for key, item in value.items()} if isinstance(value, dict) else value


def _one_of(allowed: tuple[Any, ...], value: Any, place: str) -> Any:
    if value not in allowed:
        raise _wrong(place, value, f"one of {', '.join(map(str, allowed))}")
    return value


def _plain(hint: Any, value: Any, place: str) -> Any:
    if not isinstance(value, hint) or (hint is int and (isinstance(value, bool) or abs(value) >= 2**63)):
        raise _wrong(place, value, f"a value of type {hint.__name__}")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(place, value, "a list")
    return value


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(place, value, "an object")
    return value


def _wrong(place: str, value: Any, allowed: str) -> FileError:
    return FileError(f"{place}: found {str(value)[:40]!r}, allowed is {allowed}")
