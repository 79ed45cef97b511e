"""The arguments of a recorded call, from the roles of its ports and the names of its plain values.

    input.0, input.1          positional, in order            kwargs.dim           by keyword
    input.0.1                 an item of a list               parameters.weight    of a module, by keyword

This file knows the roles a dump gives (dump/entries.py), not what a call computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from precdiff.dump import StepRow

Arguments = tuple[list[Any], dict[str, Any]]


def arguments(step: StepRow, tensor: Callable[[str], Any]) -> Arguments:
    """(positional, keywords); `tensor` makes an argument of a tensor's id.

    >>> row = StepRow("s", "Functional.linear", (("input.0", "x"), ("kwargs.bias", "b")), (), params={"input.1": 2})
    >>> arguments(row, str.upper)
    (['X', 2], {'bias': 'B'})
    """
    ports = {role: tensor(id) for role, id in step.inputs}
    plain = {role: value for role, value in step.params.items() if not role.startswith("output")}
    whole = _nested({**plain, **ports})
    positional = _listed(whole.get("input", {}))
    if not isinstance(positional, list):
        positional = [positional]
    return positional, {**_named(whole.get("parameters")), **_named(whole.get("kwargs"))}


def _named(part: Any) -> dict[str, Any]:
    return {key: _listed(value) for key, value in part.items()} if isinstance(part, dict) else {}


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for role, value in flat.items():
        *path, last = role.split(".")
        place = whole
        for key in path:
            inner = place.setdefault(key, {})
            place = inner if isinstance(inner, dict) else place.setdefault(f"{key}.", {})
        place[last] = value
    return whole


def _listed(value: Any) -> Any:
    """Containers whose keys are 0, 1, 2 ... are lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value) and sorted(map(int, value)) == list(range(len(value))):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(inner) for key, inner in value.items()} if value else []
