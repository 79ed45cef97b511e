"""`precdiff inspect`: what a dump holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal

if TYPE_CHECKING:
    from precdiff.dump import Dump

#: elements shown of a single tensor
SHOWN = 8


@subcommand
@click.argument("file")
@click.argument("path", default="", metavar="[PATH]")
def command(terminal: Terminal, file: str, path: str) -> int:
    """Show what a dump holds.

    The run in FILE: its steps, formats, shapes and statistics.

    PATH is a tensor or a layer: only that part, and of a tensor its first values with their bits.
    """
    from precdiff import api

    with api.open_dump(file) as dump:
        summary = dump.summary(path)
        values = _values(dump, path) if path in dump.tensors and dump.row(path).data == "full" else []
    terminal.say(_headline(summary))
    for line in _table(summary["tree"], terminal.width):
        terminal.say(line)
    for index, value, bits in values:
        terminal.say(f"  {index:<12} {value:>24}  {bits}")
    listed = [{"index": index, "value": value, "bits": bits} for index, value, bits in values]
    terminal.document({"schema": "precdiff.inspect/1", **summary, "values": listed})
    return 0


def _headline(summary: dict[str, Any]) -> str:
    state = "" if summary["complete"] else ", INCOMPLETE: the run did not come to its end"
    seed = "" if summary["seed"] is None else f", seed {summary['seed']}"
    run = f"{summary['kernel']} on {summary['profile']}{seed}" if summary["kernel"] else f"read by {summary['reader']}"
    return f"{summary['path']}: {run}, {summary['steps']} steps, {summary['tensors']} tensors{state}"


def _table(tree: dict[str, Any], width: int) -> list[str]:
    from precdiff.report.table import Column, Table

    columns = [Column(title) for title in ("tensor", "role", "format", "shape")]
    columns += [Column(title, "right") for title in ("min", "max")]
    columns += [Column("NaN", "right", 1), Column("inf", "right", 1), Column("source", "left", 2)]
    return Table(columns, [list(_cells(row, depth)) for row, depth in _walk(tree)]).lines(width)


def _walk(node: dict[str, Any], depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    for row in node["tensors"]:
        yield row, depth
    for inner in node["layers"]:
        yield {"id": f"{inner['layer'].rpartition('/')[2]}/"}, depth
        yield from _walk(inner, depth + 1)


def _cells(row: dict[str, Any], depth: int) -> Iterator[str]:
    from precdiff.report import numbers

    yield "  " * depth + row["id"]
    if "format" not in row:
        yield from [""] * 8
        return
    yield from (row["role"], row["format"], "x".join(map(str, row["shape"])) or "scalar")
    found = row["statistics"]
    ends = [float(found["min"]), float(found["max"])] if found else [None, None]
    yield from (numbers.error(end) for end in ends)
    yield from (str(int(found[key])) if found and found[key] else "" for key in ("nan_count", "inf_count"))
    yield row["source"] or ""


def _values(dump: Dump, id: str) -> list[tuple[str, str, str]]:
    """(index, value, bits) of the first elements."""
    import numpy as np

    from precdiff.formats import hex_bits
    from precdiff.report import numbers

    row = dump.row(id)
    _, values = next(iter(dump.chunks(id, SHOWN)), (None, np.empty(0)))
    indices = [",".join(map(str, np.unravel_index(n, row.shape))) if row.shape else "-" for n in range(values.size)]
    return [
        (f"[{index}]", numbers.value(float(value), row.format), hex_bits(value, row.stored_format))
        for index, value in zip(indices[:SHOWN], values[:SHOWN], strict=True)
    ]
