"""What a failing test leaves behind: a dump of its run, or the arrays it compared, and the report beside them.

`precdiff explain` and the pages open all of them. Values are written as they are, bit for bit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from precdiff.comparison import holds_reals
from precdiff.dump import write_trace
from precdiff.formats import as_array, format_of
from precdiff.kernels import Run
from precdiff.report import Report


def save(folder: Path, name: str, actual: Any, expected: Any) -> tuple[Path, str]:
    """Write both sides; give back what to open and the command that explains it."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(actual, str | Path):
        return Path(actual), f"precdiff explain {actual}"
    if isinstance(actual, Run):
        path = folder / f"{name}.h5"
        write_trace(path, actual.trace)
        return path, f"precdiff explain {path}"
    mine = _array(folder / f"{name}-actual", actual)
    if expected is None or isinstance(expected, Run):
        return mine, f"precdiff explain {mine} --kernel KERNEL --input NAME=FILE"
    theirs = Path(expected) if isinstance(expected, str | Path) else _array(folder / f"{name}-expected", expected)
    return mine, f"precdiff explain {mine} {theirs}"


def save_report(path: Path, report: Report) -> None:
    """Write the report beside what it is about, where the pages look for it."""
    path.with_suffix(".json").write_text(json.dumps(report.to_json(), indent=1, allow_nan=False) + "\n", "utf-8")


def _array(stem: Path, values: Any) -> Path:
    """An array as .npy where numpy knows its dtype, else its raw bits with format and shape beside them."""
    array = as_array(values, stem.name)
    if holds_reals(array):
        array = array.astype(np.float64)  # mpmath, fractions: to fp64, as near as a file of numbers holds them
    format = format_of(array)
    if hasattr(np, format.native):
        path = stem.with_name(f"{stem.name}.npy")
        np.save(path, array, allow_pickle=False)
        return path
    path = stem.with_name(f"{stem.name}.bin")
    array.tofile(path)
    about = {"format": format.name, "shape": list(array.shape)}
    path.with_name(f"{path.name}.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    return path
