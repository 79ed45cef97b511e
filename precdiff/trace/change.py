"""Change: the one way to ask "what if". A frozen row with a JSON round trip, applied to steps or regions by replay.

    kind            value                               what is changed
    exact           -                                   the region is evaluated exactly
    fuse            -                                   the region has no inner roundings and is rounded once
    format          format name                         the region's results (and accumulators) have this format
    accumulator     format name                         sums and products of matrices accumulate in it
    order           SummationOrder or its JSON          sums and products of matrices run in this order
    direction       rounding direction                  results round this way
    tie_rule        nearest-even | nearest-away         ties go this way
                    first | last                        equal elements are taken in this order (argsort, argmax)
    exponent        "unbounded"                         precision p, no exponent limits
    overflow        ieee | saturate                     what happens beyond the largest number
    subnormals      keep | flush                        subnormal operands and results
    constant        number                              the constant has this value
    cast            direction | {"through": [formats]}  how the cast rounds; any result through other formats first
    operands        format name                         the operands are rounded to it before they are used
    approximation   - | format name                     functions are correctly rounded, not the profile's
                                                        approximation; or come from a table of that format
    scale           number                              the result is multiplied by it, rounded once
    drop_term       index                               the sum or product leaves out this term
    op              op name                             the step is another op of as many operands
    reads           {input, where, version | from}      elements `where` (a flat range) of operand number `input` are
                                                        another tensor's, another range's, or "poison" (NaN)

`exit` says how results leave a region: `declared` (rounded once to the declared format; the default) or `wide`
(consumers read the unrounded value). The kinds' behaviour is in trace/rules.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from precdiff.device.orders import order_from_json
from precdiff.errors import PrecDiffError, UnknownNameError

KINDS = (
    "exact", "fuse", "format", "accumulator", "order", "direction", "tie_rule", "exponent", "overflow", "subnormals",
    "constant", "cast", "operands", "approximation", "scale", "drop_term", "op", "reads",
)  # fmt: skip

Exit = Literal["declared", "wide"]


@dataclass(frozen=True)
class Change:
    """One change.

    >>> Change("format", "fp32", exit="wide").to_json()
    {'kind': 'format', 'value': 'fp32', 'exit': 'wide'}
    """

    kind: str
    value: Any = None
    exit: Exit = "declared"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("change", self.kind, KINDS)
        if self.exit not in ("declared", "wide"):
            raise PrecDiffError(f"change {self.kind}: exit is {self.exit!r}; allowed are 'declared' and 'wide'")
        if self.kind == "order" and isinstance(self.value, Mapping):
            object.__setattr__(self, "value", order_from_json(self.value))

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        value = self.value.to_json() if hasattr(self.value, "to_json") else self.value
        return {"kind": self.kind, "value": value, "exit": self.exit}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Change:
        """The Change of a JSON row."""
        return cls(row["kind"], row.get("value"), row.get("exit", "declared"))

    def __str__(self) -> str:
        value = "" if self.value is None else f" {self.value}"
        return f"{self.kind}{value}{' (exit wide)' if self.exit == 'wide' else ''}"


@dataclass(frozen=True)
class Region:
    """Steps changed together, by id; `cone`, `layer_of` in trace/regions.py make the usual ones."""

    steps: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(dict.fromkeys(self.steps)))

    def __str__(self) -> str:
        return "{" + ", ".join(self.steps) + "}"
