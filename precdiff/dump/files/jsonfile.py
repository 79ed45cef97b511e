"""JSON files of other programs: read whole, with every way they can be damaged told as one error.

Bare NaN, Infinity and -Infinity are taken (Python writes them). This file knows no keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from precdiff.errors import FileError


def read_json(path: Path) -> Any:
    """The document in a file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except RecursionError:
        raise FileError(f"{path}: its JSON is nested too deeply") from None
    except (ValueError, MemoryError) as error:
        raise FileError(
            f"{path}: cannot be read as JSON: {error}; the run that wrote it may have ended early"
        ) from error


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise FileError(f"{path}: found a JSON {type(found).__name__}; allowed is an object")
    return found
