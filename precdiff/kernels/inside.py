"""What is computed inside a kernel in a wider format than its inputs': fp32 by default, as vector units work.

Ascend has no bf16 arithmetic at all (profile ascend-910b) and CANN's kernels widen fp16 too: inputs are cast
on the way in, results once on the way out. `inner` names the format; one that is not wider leaves the kernel in its
inputs' own, which is how the narrow twins are made.
"""

from __future__ import annotations

from precdiff.formats import get_format
from precdiff.machine import Tensor
from precdiff.ops import cast

#: the default of every kernel's option `inner`
INNER = "fp32"


def inside(x: Tensor, inner: str) -> Tensor:
    """x in the wider of its own format and `inner`."""
    if not inner or get_format(inner).p <= x.format.p:
        return x
    wide: Tensor = cast(x, inner)
    return wide


def outside(y: Tensor, like: Tensor) -> Tensor:
    """y in the format of `like`, rounded once where that is another."""
    if y.format == like.format:
        return y
    stored: Tensor = cast(y, like.format)
    return stored
