"""Where a step was written: the innermost line of the kernel's own code, and the name its result was assigned to.

Machinery (this package, except its kernels) is skipped, so a step inside a composite points at the line that called it.
The name comes from the exact position of the running instruction (PEP 657) matched against the file's assignments.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from precdiff.trace.step import Source

_PACKAGE = Path(__file__).resolve().parents[1]
_KERNELS = (str(_PACKAGE / "kernels"), str(_PACKAGE / "npu" / "kernels"))
_MACHINERY = tuple(str(_PACKAGE / "kernels" / name) for name in ("kernel.py", "run.py"))
_COMPOSITES = str(_PACKAGE / "ops" / "composites.py")

Position = tuple[int, int, int, int]


def calling_source() -> Source:
    """The Source of the kernel line that is running now."""
    direct = True
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - CPython's documented way to the caller
    while frame is not None:
        file = frame.f_code.co_filename
        if _is_kernel(file):
            return Source(shown(file), frame.f_lineno, _assigned(frame) if direct else "")
        direct = direct and file != _COMPOSITES
        frame = frame.f_back
    return Source("", 0)


def _is_kernel(file: str) -> bool:
    inside = file.startswith(str(_PACKAGE))
    return not inside or (file.startswith(_KERNELS) and file not in _MACHINERY)


@functools.cache
def shown(file: str) -> str:
    """A path a reader can open: relative to the package's parent or the working folder where it lies inside."""
    path = Path(file)
    for root in (_PACKAGE.parent, Path.cwd()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return file


def _assigned(frame: FrameType) -> str:
    positions = _positions(frame)
    return "" if positions is None else _assignments(frame.f_code.co_filename).get(positions, "")


def _positions(frame: FrameType) -> Position | None:
    index = frame.f_lasti // 2
    for i, (line, end_line, column, end_column) in enumerate(frame.f_code.co_positions()):
        if i == index:
            found = (line, end_line, column, end_column)
            return None if None in found else found  # type: ignore[return-value]  # all are int here
    return None


@functools.cache
def _assignments(file: str) -> dict[Position, str]:
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    return dict(_named_values(tree))


def _named_values(tree: ast.AST) -> Iterator[tuple[Position, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value
            assert value.end_lineno is not None and value.end_col_offset is not None
            yield (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset), node.targets[0].id
