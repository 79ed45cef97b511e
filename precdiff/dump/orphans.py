"""Baselines that no test asks for any more, as the last whole test run noted them, for `precdiff baseline prune`.

One JSON file: baseline file -> the test file it belongs to, and the names in it that are unused (none: all of it is).
Only a run of the tests can know, since names and parameters are made while they run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FILE = "orphans.json"


def note(folder: Path, found: Iterable[Mapping[str, Any]], looked_at: Iterable[str]) -> None:
    """Replace what was noted of the test files that were looked at; no file where there is nothing to note."""
    fresh, seen = list(found), set(looked_at)
    rows = [row for row in noted(folder) if row["module"] not in seen] + fresh
    path = folder / FILE
    if not rows:
        path.unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{FILE}.part")
    part.write_text(json.dumps({"schema": "precdiff.orphans/1", "orphans": rows}, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def noted(folder: Path) -> list[dict[str, Any]]:
    """What was noted, as far as the files are still there; nothing where the note is gone or unreadable."""
    try:
        rows = json.loads((folder / FILE).read_text(encoding="utf-8"))["orphans"]
        return [row for row in rows if Path(row["path"]).is_file() and {"module", "names", "why"} <= row.keys()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
