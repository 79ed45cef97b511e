"""The fields of a profile as rows: what each may hold, how text and JSON are read into it, which ops it touches.

`Field.read` takes a value, its JSON or its text (`--profile-set FIELD=VALUE`) and gives the value, checked;
`Field.write` gives the JSON. This file knows no device and no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from precdiff.device.approximation import APPROXIMATIONS, Approximation
from precdiff.device.orders import ORDERS, SummationOrder, order_from_json, parse_order
from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS
from precdiff.ops.op import OPS, Constant, Layout, Selection
from precdiff.rounding import DIRECTIONS


@dataclass(frozen=True)
class Field:
    """One field: what it `holds`; `reading` gives the value or None for what is not allowed; `allowed` says what is."""

    holds: str
    allowed: Callable[[], str]
    reading: Callable[[Any], Any]
    touches: Callable[[str], bool]
    write: Callable[[Any], Any] = lambda value: value

    def read(self, name: str, given: Any) -> Any:
        """Return the value that `given` (a value, its JSON or its text) stands for.

        >>> FIELDS["subnormal_inputs"].read("subnormal_inputs", "flush")
        'flush'
        """
        try:
            value = self.reading(given)
        except TypeError:  # neither text nor a value: a number, a list of lists
            value = None
        if value is None:
            raise PrecDiffError(f"profile field {name}: found {given!r}; allowed: {self.allowed()}")
        return value


def _choice(holds: str, touches: Callable[[str], bool], *choices: str) -> Field:
    return Field(holds, lambda: ", ".join(choices), lambda given: given if given in choices else None, touches)


def _format_or_same(holds: str, touches: Callable[[str], bool]) -> Field:
    return Field(
        holds,
        lambda: f"same, {', '.join(_float_formats())}",
        lambda given: given if given in ("same", *_float_formats()) else None,
        touches,
    )


def _float_formats() -> list[str]:
    return [name for name, row in FORMATS.items() if row.is_float]


def _read_flag(given: Any) -> bool | None:
    return {"true": True, "false": False}.get(str(given).lower())


def _read_formats(given: Any) -> tuple[str, ...] | None:
    names = [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else list(given)
    return tuple(names) if all(name in FORMATS for name in names) else None


def _read_order(given: Any) -> SummationOrder:
    if isinstance(given, SummationOrder):
        return given
    return order_from_json(given) if isinstance(given, Mapping) else parse_order(str(given))


def _read_approximations(given: Any) -> dict[str, Approximation] | None:
    if not isinstance(given, Mapping):
        return {} if given == "none" else None
    return {op: row if isinstance(row, Approximation) else APPROXIMATIONS[row] for op, row in given.items()}


def _arithmetic(op: str) -> bool:
    """Any op whose result depends on its operands' values being rounded or read; unknown ops count."""
    return op not in OPS or not isinstance(OPS[op], Layout | Selection | Constant)


def _only(*ops: str) -> Callable[[str], bool]:
    return lambda op: op in ops


def _order(holds: str, touches: Callable[[str], bool]) -> Field:
    return Field(
        holds,
        lambda: f"{', '.join(ORDERS)}, with fields as in groups(k0=16)",
        _read_order,
        touches,
        lambda order: order.to_json(),
    )


_SUM, _MATMUL = _only("sum"), _only("matmul")

#: in the order of DeviceProfile
FIELDS: Mapping[str, Field] = {
    "direction": _choice("how results are rounded", _arithmetic, *DIRECTIONS),
    "overflow": _choice("what too large a result becomes: inf, or the largest number", _arithmetic, "ieee", "saturate"),
    "saturated_formats": Field(
        "the formats that overflow=saturate is about", lambda: f"a list of {', '.join(FORMATS)}",
        _read_formats, _arithmetic, list,
    ),
    "saturated_nan": _choice("what a saturating result makes of NaN: NaN, or 0", _arithmetic, "keep", "zero"),
    "subnormal_inputs": _choice("whether subnormal operands are read as 0", _arithmetic, "keep", "flush"),
    "subnormal_outputs": _choice("whether subnormal results become 0", _arithmetic, "keep", "flush"),
    "sum_order": _order("the order in which a sum is added", _SUM),
    "sum_accumulator": _format_or_same("the format in which a sum is kept", _SUM),
    "matmul_order": _order("the order along K", _MATMUL),
    "matmul_product": _choice("whether products are rounded before they are added", _MATMUL, "exact", "rounded"),
    "matmul_accumulator": _format_or_same("the format in which sums of products are kept", _MATMUL),
    "fused_multiply_add": Field("whether fma rounds once", lambda: "true, false", _read_flag, _only("fma")),
    "nan_compare_ne": _choice("what x != NaN is: true, or false", _only("ne"), "ieee", "false"),
    "max_of_zeros": _choice(
        "the larger of -0 and +0: +0, or the first", _only("max", "maximum", "minimum"), "positive", "first"
    ),
    "approximations": Field(
        "the functions that are not correctly rounded",
        lambda: f"none, or a mapping from op to {', '.join(APPROXIMATIONS) or 'an approximation (none is known)'}",
        _read_approximations, _arithmetic, lambda rows: {op: row.name for op, row in rows.items()},
    ),
}  # fmt: skip
