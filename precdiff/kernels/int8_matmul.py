"""int8_matmul: int8 factors, exact int32 sums, requantised to int8, as a Cube and its Fixpipe do.

    y = clamp(round(scale (a @ b)) + zero_point)        round to nearest even, clamp to [-128, 127]

with the scale cut to 1-8-10 bits, as the Fixpipe holds it (`fixpipe=False`: the whole fp32 scale).

Source: ADK, Mmad (int8 in, int32 out) and Fixpipe (numerics A8, A9). Sums are exact: 133,000 products fit an int32.
"""

from __future__ import annotations

from precdiff.kernels.kernel import kernel
from precdiff.machine import Tensor
from precdiff.ops import cast, matmul
from precdiff.ops.quantization import fixpipe_scale


@kernel(
    name="int8_matmul", formats={"a": "i8", "b": "i8", "scale": "fp32"},
    examples={
        "a": "normal(0,40,shape=(16,64))", "b": "normal(0,40,shape=(64,16))",
        "scale": "uniform(0.001,0.004,shape=(16,))",
    },
)  # fmt: skip
def int8_matmul(a: Tensor, b: Tensor, scale: Tensor, *, zero_point: int = 0, fixpipe: bool = True) -> Tensor:
    """a @ b in int32, times `scale` (one number, or one a column) in fp32, rounded to int8 once more.

    Judged bitwise: integers have no ulp. Finding, where it fails: the product with the scale is rounded to fp32 before
    it is rounded to an integer, so a value within 2^-24 of a half may go the other way (about one in 10^5).
    """
    total = matmul(a, b, acc="i32", out="i32")
    scaled = cast(total, "fp32") * (fixpipe_scale(scale) if fixpipe else scale)
    # the offset is added to the integer, as the Fixpipe does: to the sum it would move the ties
    rounded = cast(scaled, "i32")
    y: Tensor = cast(cast(rounded, "fp32") + float(zero_point), "i8")
    return y
