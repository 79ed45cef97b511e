"""[tool.precdiff] of pyproject.toml: limits of single tensors, and waivers, as people wrote them into git.

    [[tool.precdiff.limits]]            [[tool.precdiff.waivers]]
    layer = "blocks.*"                  tensor = "out"
    max_ulp = 8                         max_ulp = 12
                                        reason = "exp table of the unit, NPU-123"
                                        author = "Li Wei"
                                        expires = 2027-03-31

The file of the nearest folder, from the working folder up, that has such a table holds. This file knows what may be
written; agreements.py what comes of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from precdiff.comparison import Scope, TensorLimit
from precdiff.diagnose.settings import Settings
from precdiff.errors import FileError, PrecDiffError, UnknownNameError

FILE = "pyproject.toml"
_TABLES = ("limits", "waivers")
_LIMIT = ("tensor", "layer", "max_ulp", "standard")
_WAIVER = ("tensor", "layer", "max_ulp", "reason", "author", "expires")


@dataclass(frozen=True)
class Waiver:
    """Tensors that need not pass: up to which error (ULP), why, who says so, and until which day (included)."""

    scope: Scope
    max_ulp: float
    reason: str
    author: str
    expires: date
    source: str


@dataclass(frozen=True)
class Configuration:
    """What the file says; nothing where there is none."""

    limits: Sequence[TensorLimit] = ()
    waivers: Sequence[Waiver] = ()


def configuration(folder: Path) -> Configuration:
    """The configuration that holds in a folder."""
    for place in (folder.absolute(), *folder.absolute().parents):
        found = _table(place / FILE)
        if found is not None:
            return _read(*found)
    return Configuration()


def _table(path: Path) -> tuple[Mapping[str, Any], str, Path] | None:
    """The table, the file's text, and the file; None where it has none."""
    if not path.is_file():
        return None
    try:
        text = path.read_bytes().decode("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}; it may hold limits and waivers") from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: no TOML: {error}. Correct it; it may hold limits and waivers") from None
    tool = document.get("tool")
    table = tool.get("precdiff") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise FileError(f"{path}: tool.precdiff: found {table!r}; allowed is a table with {' and '.join(_TABLES)}")
    return table, text, path


def _read(table: Mapping[str, Any], text: str, path: Path) -> Configuration:
    unknown = next((name for name in table if name not in _TABLES), None)
    if unknown is not None:
        raise FileError(f"{path}: {UnknownNameError('key of tool.precdiff', unknown, _TABLES)}")
    limits = [_limit(row, source) for row, source in _rows(table, "limits", text, path)]
    waivers = [_waiver(row, source) for row, source in _rows(table, "waivers", text, path)]
    return Configuration(tuple(limits), tuple(waivers))


def _rows(table: Mapping[str, Any], kind: str, text: str, path: Path) -> list[tuple[Mapping[str, Any], str]]:
    """The rows of a table with where each stands."""
    rows = table.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FileError(f"{path}: tool.precdiff.{kind}: allowed are tables, each under [[tool.precdiff.{kind}]]")
    heads = _lines(text, kind)
    if len(heads) == len(rows):
        return [(row, f"{path.name}:{line}") for row, line in zip(rows, heads, strict=True)]
    return [(row, f"{path.name} {kind}[{number}]") for number, row in enumerate(rows)]


def _lines(text: str, kind: str) -> list[int]:
    """The lines of the headings, which TOML's reader does not tell."""
    heading = re.compile(rf"\s*\[\[\s*tool\s*\.\s*precdiff\s*\.\s*{kind}\s*\]\]")
    return [number for number, line in enumerate(text.split("\n"), 1) if heading.match(line)]


def _limit(row: Mapping[str, Any], source: str) -> TensorLimit:
    _keys(row, _LIMIT, source)
    number, standard = _number(row, source), _text(row, "standard", source)
    if number is None and standard is None:
        raise FileError(f"{source}: a limit states max_ulp, standard, or both; found neither")
    try:
        Settings(standard=standard or "auto", max_ulp=number)
    except PrecDiffError as error:
        raise FileError(f"{source}: {error}") from None
    return TensorLimit(_scope(row, source), number, standard, source)


def _waiver(row: Mapping[str, Any], source: str) -> Waiver:
    _keys(row, _WAIVER, source)
    number = _number(row, source)
    missing = [name for name in _WAIVER[3:] if row.get(name) in (None, "")] + (
        [] if number is not None else ["max_ulp"]
    )
    if missing:
        raise FileError(f"{source}: a waiver states max_ulp, reason, author and expires; missing: {', '.join(missing)}")
    reason, author = _text(row, "reason", source), _text(row, "author", source)
    assert number is not None and reason is not None and author is not None
    return Waiver(_scope(row, source), number, reason, author, _day(row["expires"], source), source)


def _keys(row: Mapping[str, Any], allowed: Sequence[str], source: str) -> None:
    unknown = next((name for name in row if name not in allowed), None)
    if unknown is not None:
        raise FileError(f"{source}: {UnknownNameError('key', unknown, allowed)}")


def _scope(row: Mapping[str, Any], source: str) -> Scope:
    made = Scope(_text(row, "tensor", source), _text(row, "layer", source))
    if made == Scope():
        raise FileError(f'{source}: names no tensor; state tensor, layer, or both ("*" is any)')
    return made


def _text(row: Mapping[str, Any], name: str, source: str) -> str | None:
    value = row.get(name)
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise FileError(f"{source}: {name}: found {value!r}; allowed is a text")
    return value


def _number(row: Mapping[str, Any], source: str) -> float | None:
    value = row.get("max_ulp")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise FileError(f"{source}: max_ulp: found {value!r}; allowed is a number of at least 0")
    return float(value)


def _day(value: object, source: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise FileError(f"{source}: expires: found {value!r}; allowed is a day as in 2027-03-31") from None
