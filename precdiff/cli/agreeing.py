"""What was agreed on beforehand, where a command runs: [tool.precdiff] of the working folder, and the dump's store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from precdiff.cli.options import stack

if TYPE_CHECKING:
    from precdiff.report.agreements import Agreements

F = TypeVar("F", bound=Callable[..., Any])


def waiver_options(function: F) -> F:
    """--no-waivers."""
    line = "Accept nothing that [tool.precdiff] or a reviewer waived."
    return stack(click.option("--no-waivers", "waivers", is_flag=True, flag_value=False, default=True, help=line))(
        function
    )


def agreements(actual: str, waivers: bool) -> Agreements:
    """The limits that hold for a comparison of `actual`, and where asked for the waivers and decisions."""
    from precdiff.report.agreements import Agreements
    from precdiff.report.configuration import configuration

    found = configuration(Path.cwd())
    if not waivers:
        return Agreements(found.limits)
    decisions, store = _decisions(actual)
    return Agreements(found.limits, found.waivers, decisions, store)


def _decisions(actual: str) -> tuple[dict[str, Any], str]:
    """What stands on the tensors of a dump, and how its store is called."""
    from precdiff.dump.decisions import STORE, Decisions

    store = Decisions.near(actual) if Path(actual).exists() else None
    if store is None:
        return {}, ""
    return {row.name: row for row in store.standing("tensor", store.run_of(actual))}, STORE.name
