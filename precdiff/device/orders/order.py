"""A summation order is a value: a tree for every number of terms, and the arithmetic of its nodes.

This file knows what all orders share: sums and dot products of whole arrays, the slow definition of both, JSON and
text. Each order is one file beside it, with a tree (the definition) and a `fold` (the same, vectorised). Orders know
nothing of devices; where the size of a group follows the data's width, `for_data` fixes it.

    sum(x)        = value of tree(n) with leaves x_k; a sum of no terms is +0
    dot(a, b, c)  = value of tree(n, start=True) with leaves a_k b_k and start value c

A product is exact (a node then is a fused multiply-add) or rounded to the accumulator first. A dot product without c
starts at +0 where the order keeps a running accumulator, as matrix units do, and has no start value otherwise.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from precdiff.device.orders.node import Node
from precdiff.device.orders.terms import Addends, Products, Terms, columns_of
from precdiff.device.orders.tree import Leaf, NodeRule, Product, Tree, evaluate, exact_node, exact_value
from precdiff.errors import PrecDiffError
from precdiff.formats import Array, Format, get_format
from precdiff.registry import Registry
from precdiff.rounding import Rounding, round_exact

ProductRule = Literal["exact", "rounded"]
Rng = np.random.Generator | None

#: products made at a time
SLAB = 2**22

ORDERS: Registry[type[SummationOrder]] = Registry("summation order", "precdiff.device.orders")


@dataclasses.dataclass(frozen=True)
class SummationOrder(ABC):
    """How many terms become one sum; subclasses register themselves under `kind`."""

    kind: ClassVar[str]
    #: a running accumulator, which starts at +0 in a dot product without c
    running: ClassVar[bool] = False
    #: products are exact whatever the profile says
    fused: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        ORDERS.add(cls.kind, cls)

    @abstractmethod
    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the tree over terms 0 ... n - 1, n >= 1; leaf n is the start value where there is one."""

    @abstractmethod
    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Return the value of the tree for every column of at least one term."""

    def for_data(self, fmt: str | Format) -> SummationOrder:
        """Return this order for terms (or factors) of that format; most orders do not depend on it."""
        return self

    @property
    def node_rule(self) -> NodeRule:
        """The arithmetic of a node, as the slow definition."""
        return exact_node

    @property
    def label(self) -> str:
        """A short name for this value, as in `ascend-910b@once`."""
        return self.kind

    def sum(self, terms: Array, rounding: Rounding, data: str | Format | None = None, rng: Rng = None) -> Array:
        """Return the sums over the last axis; terms are numbers of the accumulator's format.

        `data` is the format the terms are stored in, default the accumulator's.
        """
        order = self.for_data(data or rounding.format)
        columns = columns_of(_floats(terms, rounding.format))
        return _in_slabs(order, Addends(columns, rounding.format.emin), Node(rounding, True, rng), None)

    def dot(  # noqa: PLR0913 - the operands, and what the machine knows of them
        self,
        a: Array,
        b: Array,
        rounding: Rounding,
        product: ProductRule = "exact",
        *,
        c: Array | float | None = None,
        data: str | Format | None = None,
        rng: Rng = None,
    ) -> Array:
        """Return c + the sums of a * b over the last axis, a and b of shapes (..., n) that broadcast.

        `data` is the factors' format, default the accumulator's; c is a number of the accumulator's.
        """
        fmt = get_format(data or rounding.format)
        order, rounded = self.for_data(fmt), product == "rounded" and not self.fused
        start = None if c is None and not self.running else _floats(0.0 if c is None else c, rounding.format)
        if not rounded and not (_narrow(a) and _narrow(b)):  # fp64 does not hold the products of fp64 numbers
            return _dot_by_definition(order, np.asarray(a), np.asarray(b), rounding, start)
        rank = max(np.ndim(a), np.ndim(b))
        columns = columns_of(np.asarray(a), rank), columns_of(np.asarray(b), rank)
        terms = Products(*columns, fmt.emin, rounding if rounded else None)
        return _in_slabs(order, terms, Node(rounding, rounded, rng), start)

    def define_sum(self, terms: Sequence[float], rounding: Rounding) -> float:
        """Return the sum by the definition, slowly; `sum` is held to it."""
        return evaluate(self.tree(len(terms)), terms, rounding, self.node_rule) if terms else 0.0

    def define_dot(
        self,
        a: Sequence[float],
        b: Sequence[float],
        rounding: Rounding,
        product: ProductRule = "exact",
        *,
        c: float | None = None,
        data: str | Format | None = None,
    ) -> float:
        """Return the dot product by the definition, slowly; `dot` is held to it."""
        emin = get_format(data or rounding.format).emin
        leaves: list[Leaf] = [Product(x, y, emin) for x, y in zip(a, b, strict=True)]
        if product == "rounded" and not self.fused:
            leaves = [round_exact(exact_value(leaf), rounding) for leaf in leaves]
        start = [c] if c is not None else [0.0] if self.running else []
        if not leaves:
            return round_exact(start[0], rounding) if start else 0.0
        tree = self.tree(len(leaves), start=bool(start))
        return evaluate(tree, [*leaves, *start], rounding, self.node_rule)

    def to_json(self) -> dict[str, Any]:
        """Return the order as JSON-able data."""
        return {"kind": self.kind, **{f.name: _json(getattr(self, f.name)) for f in dataclasses.fields(self)}}

    def __str__(self) -> str:
        """The text `parse_order` reads: kind and the fields that are not at their default."""
        changed = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        changed = {f.name: changed[f.name] for f in dataclasses.fields(self) if changed[f.name] != f.default}
        inside = ",".join(f"{name}={value}" for name, value in changed.items())
        return f"{self.kind}({inside})" if inside else self.kind


def order_from_json(data: Mapping[str, Any]) -> SummationOrder:
    """Return the order `to_json` described.

    >>> order_from_json({"kind": "groups", "k0": 16}).label
    'groups16'
    """
    fields = {name: _value(value) for name, value in data.items() if name != "kind"}
    return _build(data.get("kind"), fields)


def parse_order(text: str) -> SummationOrder:
    """Return the order a text names: a kind, with fields in brackets where they differ from the default.

    >>> parse_order("groups(k0=4)").label
    'groups4'
    """
    kind, _, inside = text.strip().removesuffix(")").partition("(")
    parts = [part.partition("=") for part in inside.split(",") if part.strip()]
    return _build(kind.strip(), {name.strip(): _number(value.strip()) for name, _, value in parts})


def _in_slabs(order: SummationOrder, terms: Terms, node: Node, start: Array | None) -> Array:
    """Return the sums, slab by slab, so that the products of a slab fit in memory."""
    shape = terms.shape if start is None else np.broadcast_shapes(terms.shape, start.shape)
    start = None if start is None else np.broadcast_to(start, shape)
    size = math.prod(shape) * terms.count
    if terms.count == 0 or 0 in shape:
        return node.finish(np.zeros(shape) if start is None else start)
    if shape != terms.shape or size <= SLAB or not shape:
        return _slab(order, terms, node, start)
    step = max(1, SLAB * shape[0] // size)
    parts = [slice(first, first + step) for first in range(0, shape[0], step)]
    sums = [_slab(order, terms.rows(p), node, None if start is None else start[p]) for p in parts]
    return np.concatenate(sums)


def _slab(order: SummationOrder, terms: Terms, node: Node, start: Array | None) -> Array:
    result = order.fold(terms, node, start)
    return node.finish(result) if terms.count == 1 else result


def _dot_by_definition(order: SummationOrder, a: Array, b: Array, rounding: Rounding, start: Array | None) -> Array:
    a, b = np.broadcast_arrays(a, b)
    shape, n = a.shape[:-1], a.shape[-1]
    starts = np.broadcast_to(np.nan if start is None else start, shape).ravel().tolist()
    rows = zip(a.reshape(-1, n).tolist(), b.reshape(-1, n).tolist(), starts, strict=True)
    values = [order.define_dot(x, y, rounding, c=None if start is None else c) for x, y, c in rows]
    return np.array(values, rounding.format.carrier).reshape(shape)


def _build(kind: Any, given: Mapping[str, Any]) -> SummationOrder:
    cls = ORDERS[kind]
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for name, value in given.items():
        if name not in fields:
            raise PrecDiffError(f"{kind} has no field {name!r}; allowed: {', '.join(fields) or 'none'}")
        _check_kind(f"{kind}: field {name}", value, fields[name].default)
    return cls(**given)


def _check_kind(what: str, value: Any, default: Any) -> None:
    """Refuse a value that is not of its default's kind; None stands for a number that follows from the data."""
    wanted, words = (str, "a name") if isinstance(default, str) else (int, "a whole number")
    if not isinstance(value, wanted) and (value is not None or default is not None):
        raise PrecDiffError(f"{what} takes {words}; found {value!r}")


def _number(text: str) -> int | str | None:
    if text == "None":
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def _json(value: Any) -> Any:
    return [_json(item) for item in value] if isinstance(value, tuple) else value


def _value(value: Any) -> Any:
    return tuple(_value(item) for item in value) if isinstance(value, list) else value


def _floats(values: Array | float, fmt: Format) -> Array:
    return np.asarray(values, fmt.carrier)


def _narrow(values: Array) -> bool:
    """Say whether products of these factors are exact in fp64: 26 bits, and exponents that cannot leave it."""
    if np.asarray(values).dtype.itemsize < 8:
        return True
    fractions, exponents = np.frexp(values)
    whole = fractions * 2.0**26
    ordinary = (np.abs(exponents) < 480) & (whole == np.trunc(whole))
    return bool(np.all(ordinary | (values == 0) | ~np.isfinite(values)))
