"""`precdiff list`: the names that can be used, with one line each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import UnknownNameError

Row = tuple[str, str]


def _registry(module: str, name: str, line: Callable[[Any], str]) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        entries = getattr(importlib.import_module(module), name)
        return ((key, line(entry)) for key, entry in entries.items())

    return rows


def _first_line(entry: Any) -> str:
    return (inspect.getdoc(entry) or "").partition("\n")[0]


def _module_line(entry: Any) -> str:
    return _first_line(inspect.getmodule(entry))


def _kernel(entry: Any) -> str:
    options = [f"{name}={value}" if value != "" else name for name, value in entry.options.items()]
    takes = ", ".join([*entry.inputs, *options])
    return f"({takes})  {_first_line(entry.function)}"


def _format(entry: Any) -> str:
    if not entry.is_float:
        return f"{entry.bits} bits, {entry.integer_range[0]} ... {entry.integer_range[1]}"
    return f"{entry.bits} bits, p {entry.p}, {entry.min_subnormal:.3g} ... {entry.max_finite:.6g}, {entry.source}"


#: kind -> its rows; a kind more is a line here
KINDS: dict[str, Callable[[], Iterator[Row]]] = {
    "kernels": _registry("precdiff.kernels", "KERNELS", _kernel),
    "profiles": _registry("precdiff.device", "PROFILES", lambda entry: entry.summary),
    "fields": _registry("precdiff.device.fields", "FIELDS", lambda entry: f"{entry.holds}: {entry.allowed()}"),
    "orders": _registry("precdiff.device.orders", "ORDERS", _first_line),
    "formats": _registry("precdiff.formats", "FORMATS", _format),
    "standards": _registry("precdiff.comparison", "STANDARDS", lambda entry: _module_line(entry.judge)),
    "causes": _registry("precdiff.diagnose", "RULES", lambda entry: entry.definition),
    "readers": _registry("precdiff.dump", "READERS", _module_line),
    "ops": _registry("precdiff.ops", "OPS", lambda entry: type(entry).__name__.lower()),
    "generators": _registry("precdiff.generate", "GENERATORS", lambda entry: f"{entry}  {entry.summary}"),
}


@subcommand
@click.argument("kind", default="", metavar="[KIND]")
def command(terminal: Terminal, kind: str) -> int:
    """List kernels, profiles, formats and more.

    KIND is kernels, profiles, fields, orders, formats, standards, causes, readers, ops or generators; without it, the
    kinds.
    """
    if kind and kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    rows = list(KINDS[kind]()) if kind else [(name, f"{len(list(rows()))}") for name, rows in KINDS.items()]
    width = max((len(name) for name, _ in rows), default=0)
    for name, line in rows:
        terminal.say(f"{name.ljust(width)}  {line}".rstrip())
    terminal.document({"schema": "precdiff.list/1", "kind": kind, "entries": [{"name": n, "line": t} for n, t in rows]})
    return 0
