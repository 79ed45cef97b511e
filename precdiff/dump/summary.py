"""What `precdiff inspect` shows of a dump, as JSON-able data: the run, and its tensors as a tree of layers.

This file knows rows only; non-finite statistics are the strings nan, inf, -inf, as in every JSON document (DESIGN 5).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.statistics import UNCOUNTED, Statistics
from precdiff.errors import UnknownNameError

#: the whole profile is long; its name is an attribute of its own
_LEFT_OUT = ("profile",)


def summarise(
    attributes: Attributes, steps: Iterable[StepRow], tensors: Mapping[str, TensorRow], under: str
) -> dict[str, Any]:
    """The summary; `tree` is {layer, tensors, layers} nested, `tensors` in order of recording."""
    makers = {id: step for step in steps for _, id in step.outputs}
    shown = [row for row in tensors.values() if _is_under(row, under)]
    if under and not shown:
        layers = {row.layer for row in tensors.values() if row.layer}
        raise UnknownNameError("tensor or layer", under, [*tensors, *layers])
    about = dataclasses.asdict(attributes)
    about["provenance"] = {k: v for k, v in attributes.provenance.items() if k not in _LEFT_OUT}
    counts = {"steps": len({step.id for step in makers.values()}), "tensors": len(tensors)}
    return {**about, **counts, "shown": len(shown), "tree": _tree(shown, makers)}


def _is_under(row: TensorRow, under: str) -> bool:
    return not under or under in (row.id, row.layer) or row.layer.startswith(f"{under}/")


def _tree(rows: Iterable[TensorRow], makers: Mapping[str, StepRow]) -> dict[str, Any]:
    root = _node("")
    for row in rows:
        node = root
        for name in filter(None, row.layer.split("/")):
            node = node["layers"].setdefault(name, _node(name))
        node["tensors"].append(_tensor(row, makers.get(row.id)))
    return _listed(root)


def _node(layer: str) -> dict[str, Any]:
    return {"layer": layer, "tensors": [], "layers": {}}


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "layers": [_listed(inner) for inner in node["layers"].values()]}


def _tensor(row: TensorRow, step: StepRow | None) -> dict[str, Any]:
    about: dict[str, Any] = {"id": row.id, "name": row.name, "role": row.role, "layer": row.layer}
    about |= {"op": step.op if step else None, "source": step.source if step else None}
    about |= {"inputs": [id for _, id in step.inputs] if step else []}
    about |= {"format": row.format, "shape": list(row.shape), "data": row.data, "checksum": row.checksum}
    about |= {"note": row.note} if row.note else {}
    return {**about, "statistics": _numbers(row.statistics) if row.statistics else None}


def _numbers(statistics: Statistics) -> dict[str, Any]:
    """Counts that nobody made are null."""
    found = {name: _number(value) for name, value in dataclasses.asdict(statistics).items()}
    return {k: None if k.endswith("_count") and v == UNCOUNTED else v for k, v in found.items()}


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
