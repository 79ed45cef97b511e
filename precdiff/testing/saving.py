"""What a failing test leaves behind: a dump of its run, or the arrays it compared, and the report beside them.

`precdiff explain` and the pages open all of them. Values are written as they are, bit for bit.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from precdiff.comparison import holds_reals
from precdiff.dump import write_trace
from precdiff.formats import as_array, format_of
from precdiff.kernels import KERNELS, Kernel, Run
from precdiff.report import Report
from precdiff.trace import native_values


def save(
    folder: Path, name: str, actual: Any, expected: Any, declared: Run | None = None
) -> tuple[Path, str]:  # fmt: skip
    """Write both sides; give back what to open and the command that explains it. Where `actual` is what a device gave
    for `declared`, the inputs of that are written, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(actual, str | Path):
        return Path(actual), f"precdiff explain {actual}"
    if isinstance(actual, Run):
        path = folder / f"{name}.h5"
        write_trace(path, actual.trace)
        return path, f"precdiff explain {path}"
    mine = _written(folder / f"{name}-actual", actual)
    if declared is not None:
        return mine, shlex.join(["precdiff", "explain", str(mine), *_running(folder, name, declared)])
    if expected is None or isinstance(expected, Run):
        return mine, f"precdiff explain {mine} --kernel KERNEL --input NAME=FILE"
    theirs = Path(expected) if isinstance(expected, str | Path) else _written(folder / f"{name}-expected", expected)
    return mine, f"precdiff explain {mine} {theirs}"


def _running(folder: Path, name: str, declared: Run) -> list[str]:
    """The words that make the command line run `declared` again, its inputs written to files."""
    trace, kernel = declared.trace, declared.kernel
    words = ["--kernel", trace.kernel if kernel is None else _address(kernel)]
    words += ["--profile", trace.profile.name] if trace.profile.name != "ieee" else []
    known = {} if kernel is None else kernel.options
    for option, value in trace.options.items():
        words += ["--set", f"{option}={value}"] if value is not None and value != known.get(option) else []
    for given, tensor in trace.inputs.items():
        words += ["--input", f"{given}={_array(folder / f'{name}-{given}', native_values(trace, tensor))}"]
    return words


def _address(kernel: Kernel) -> str:
    """What the command line calls a kernel: its name, or file.py:function of one that is not registered."""
    if any(known is kernel for _, known in KERNELS.items()):
        return kernel.name
    return f"{inspect.getsourcefile(kernel.function)}:{kernel.function.__name__}"


def save_report(path: Path, report: Report) -> None:
    """Write the report beside what it is about, where the pages look for it."""
    path.with_suffix(".json").write_text(json.dumps(report.to_json(), indent=1, allow_nan=False) + "\n", "utf-8")


def _written(stem: Path, values: Any) -> Path:
    """An array as a file, a mapping of arrays as a folder of files."""
    if not isinstance(values, Mapping):
        return _array(stem, values)
    stem.mkdir(exist_ok=True)
    for name, one in values.items():
        _array(stem / quote(str(name), safe=""), one)
    return stem


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
