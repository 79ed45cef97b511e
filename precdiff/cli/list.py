"""`precdiff list`: the names that can be used, with one line each."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import UnknownNameError


class Row(NamedTuple):
    """A name, its line, and facts beyond it; `below` is a second line for people."""

    name: str
    line: str
    below: str = ""
    facts: Mapping[str, str] = {}


def _registry(module: str, name: str, line: Callable[[Any], str]) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        entries = getattr(importlib.import_module(module), name)
        return (Row(key, line(entry)) for key, entry in entries.items())

    return rows


def _standards() -> Iterator[Row]:
    from precdiff.comparison import STANDARDS

    for name, standard in sorted(STANDARDS.items()):
        account = standard.account
        below = f"does not see: {account.blind} [{account.source}]"
        yield Row(name, f"{account.asks}: {account.numbers}", below, dataclasses.asdict(account))


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
    "standards": _standards,
    "causes": _registry("precdiff.diagnose", "RULES", lambda entry: entry.definition),
    "readers": _registry("precdiff.dump", "READERS", _module_line),
    "ops": _registry("precdiff.ops", "OPS", lambda entry: type(entry).__name__.lower()),
    "data": _registry("precdiff.generate", "DATA_ROWS", lambda entry: f"{entry.summary} [{entry.source}]"),
    "generators": _registry("precdiff.generate", "GENERATORS", lambda entry: f"{entry}  {entry.summary}"),
}


@subcommand
@click.argument("kind", default="", metavar="[KIND]")
def command(terminal: Terminal, kind: str) -> int:
    """List kernels, profiles, formats and more.

    KIND is kernels, profiles, fields, orders, formats, standards, causes, readers, ops, data or generators; without it,
    the kinds.
    """
    if kind and kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    rows = list(KINDS[kind]()) if kind else [Row(name, f"{len(list(rows()))}") for name, rows in KINDS.items()]
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        terminal.say(f"{row.name.ljust(width)}  {row.line}".rstrip())
        if row.below:
            terminal.say(f"{' ' * width}  {row.below}")
    entries = [{"name": row.name, "line": row.line, **row.facts} for row in rows]
    terminal.document({"schema": "precdiff.list/1", "kind": kind, "entries": entries})
    return 0
