"""JSON files of other programs: read whole, with every way they can be damaged told as one error.

Bare NaN, Infinity and -Infinity are taken (Python writes them). This file knows no keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from precdiff.errors import FileError

#: bytes of a document; more is no description but data, which JSON holds badly
MOST = 512 * 2**20


def read_json(path: Path) -> Any:
    """The document in a file."""
    try:
        size = path.stat().st_size
        if size > MOST:
            raise FileError(f"{path} has {size:,} bytes of JSON; {MOST:,} are read. Save large tensors in another kind")
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_json(content, str(path))


def parse_json(content: bytes, what: str) -> Any:
    """The document; `what` names it in errors."""
    try:
        return json.loads(content)
    except RecursionError:
        raise FileError(f"{what}: its JSON is nested too deeply") from None
    except (ValueError, MemoryError) as error:
        raise FileError(
            f"{what}: cannot be read as JSON: {error}; the run that wrote it may have ended early"
        ) from error


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise FileError(f"{path}: found a JSON {type(found).__name__}; allowed is an object")
    return found
