"""quantize and dequantize: integers with a scale and a zero point, step by step in the device's arithmetic.

    quantize     cast(clip(round(x / scale) + zero_point, range of `to`), to)
    dequantize   (cast(q, format) - zero_point) scale

`scale` is a number or a tensor of x's format. Ascend's Fixpipe holds a scale as 1-8-10 (asc-devkit, Fixpipe):
`fixpipe=True` clears the low 13 bits of its fp32 code first, in the reference as well, since a golden result must use
the scale the device uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.ops.bits import bitcast
from precdiff.ops.composites import layered
from precdiff.ops.integers import bitwise_and
from precdiff.ops.nearest import clip, round_
from precdiff.ops.reductions import cast

_KEPT = 0xFFFF_E000


@layered("quantize")
def quantize(x: Any, scale: Any, zero_point: float = 0, to: str = "i8", fixpipe: bool = False) -> Any:
    """x as integers of the format `to`: the nearest to x / scale, ties to even, plus zero_point, saturated."""
    target = get_format(to)
    if target.kind != "int":
        raise KernelError(f"quantize: to={target.name!r}; allowed are integer formats, i8 by default")
    step = fixpipe_scale(scale) if fixpipe else scale
    low, high = target.integer_range
    return cast(clip(round_(x / step) + float(zero_point), float(low), float(high)), target)


@layered("dequantize")
def dequantize(q: Any, scale: Any, zero_point: float = 0, to: str | None = None, fixpipe: bool = False) -> Any:
    """The numbers the integers q stand for, in the format `to`, by default the scale's, and fp32 for a plain number."""
    target = get_format(to) if to else getattr(scale, "format", get_format("fp32"))
    step = fixpipe_scale(scale) if fixpipe else scale
    return (cast(q, target) - float(zero_point)) * step


def fixpipe_scale(scale: Any) -> Any:
    """The scale without the low 13 bits of its fp32 code."""
    if not hasattr(scale, "machine"):
        word = np.float32(scale).view(np.uint32) & np.uint32(_KEPT)
        return float(word.view(np.float32))
    if scale.format.name != "fp32":
        raise KernelError(f"fixpipe: the scale is {scale.format.name}; allowed is fp32, of which 1-8-10 bits are kept")
    return bitcast(bitwise_and(bitcast(scale, "u32"), _KEPT), "fp32")
