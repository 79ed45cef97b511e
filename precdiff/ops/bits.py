"""bitcast: the bits of one format read as another of the same width, as tricks with exponent fields do.

On a device every element has bits. In a reference an element is a real: it has bits where it is exactly a value of its
format with one code; what is inexact, or NaN (whose payload no real has), becomes unknown. mpmath, which has no
unknown, takes NaN for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import Format, from_bits, get_format, to_bits
from precdiff.ops.op import Planes, Structural


@dataclass(frozen=True)
class Reinterpretation(Structural):
    """The format of the result is in `to`."""

    def result_format(self, formats: Sequence[Format], params: Mapping[str, Any]) -> Format:
        """The format asked for, as wide as the operand's."""
        source, target = formats[0], get_format(params["to"])
        allowed = source.bits == target.bits and "bool" not in (source.kind, target.kind) and not target.unused_bits
        if not allowed:
            raise KernelError(
                f"bitcast: {source.name} ({source.bits} bits) to {target.name} ({target.bits} bits); allowed are "
                "formats of the same width whose every code is a value. Use cast to convert values."
            )
        return target


def _bitcast(machine: Any, inputs: Sequence[Any], params: Mapping[str, Any], format: Format) -> Planes:
    x, target = inputs[0], get_format(params["to"])
    if not machine.ideal:
        return (from_bits(to_bits(x.planes[0], x.format), target),)
    values, known = machine.known(x)
    with np.errstate(invalid="ignore"):  # a signalling NaN among the results
        planes: Planes = machine.enter(from_bits(to_bits(values, x.format), target), target)
    if known.all():
        return planes
    anything = machine.hull(np.full(known.shape, -np.inf), np.full(known.shape, np.inf), target)
    return tuple(np.where(known, p, u) for p, u in zip(planes, anything, strict=True))


bitcast_row: Reinterpretation = Reinterpretation("bitcast", run=_bitcast)


def bitcast(x: Any, to: Any) -> Any:
    """The bits of x as values of the format `to`, of the same width."""
    return bitcast_row(x, to=getattr(to, "name", to))
