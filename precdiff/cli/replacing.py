"""Which files a command may write over: its own kind and empty ones, never a dump or a source."""

from __future__ import annotations

import json
from pathlib import Path

from precdiff.errors import FileError


def check_replaceable(path: str) -> None:
    """Raise where a file exists that is neither empty nor a report: dumps and sources are not written over."""
    from precdiff.report import SCHEMA

    if not Path(path).is_file() or not Path(path).stat().st_size:
        return
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise FileError(f"{path} exists and is no report of PrecDiff; choose another name, or delete it first")
