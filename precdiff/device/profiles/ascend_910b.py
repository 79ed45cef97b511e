"""ascend-910b: Ascend 910B and 910C (Atlas A2 and A3, architecture 2201) in INF/NAN mode, as torch_npu sets it.

Vector results are IEEE 754 and correctly rounded as far as anyone has seen; reductions follow the count interface; the
Cube's order along K, its width and its roundings are published nowhere, so that is an assumption with candidates.
bf16 has no vector arithmetic: the unit widens to float, and the bf16 result is a cast.

Sources: "asc-devkit" is Huawei's CANN operator documentation and code (mirror-cann/asc-devkit, revision 82b89a15f of
2026-07-30); "hiascend" the page INF_NAN_MODE_ENABLE of the PyTorch 6.0 adapter.
"""

from __future__ import annotations

from precdiff.device.fact import assumed, documented
from precdiff.device.orders import AlignedTruncated, Groups, GroupTrees, Once, Repeats, Sequential
from precdiff.device.profile import PROFILES, DeviceProfile

BOUNDARY = "asc-devkit, boundary-value appendix (results on special inputs, A2/A3)"
CTRL = "asc-devkit, SetCtrlSpr, CTRL bit 48: half results and casts to half and bf16; float is always INF/NAN"
SUBNORMALS = (
    "asc-devkit states no subnormal rule for 910B vector instructions; its boundary-value appendix lists "
    "Reciprocal(float MAX) = 2.938736e-39, which is not flushed"
)
REDUCE = (
    "asc-devkit, ReduceSum, count interface on A2/A3: adjacent pairs inside a repeat of 256 bytes, repeats added in "
    "order; WholeReduceSum: masked-off elements count as 0"
)
NODES = (
    "asc-devkit does not state the width of half reductions: the boundary-value rows fit half nodes, the worked "
    "example of ReduceSum (-29900, 35604) ignores rounding"
)
CUBE = (
    "asc-devkit, Mmad: fractals of 16 half or bf16 along K, 4 float a cycle; order along K, alignment width and "
    "roundings are not documented and no measurement is published"
)

PROFILE = DeviceProfile(
    name="ascend-910b",
    summary="Ascend 910B/910C, INF/NAN mode, count-interface reductions; the Cube's order is assumed",
    direction=assumed("nearest-even", f"{BOUNDARY}: agrees to the printed digits; exact rounding is not stated"),
    overflow=documented("ieee", "hiascend, INF_NAN_MODE_ENABLE: 1 by default on A2/A3"),
    saturated_formats=documented(("fp16", "bf16"), CTRL),
    saturated_nan=documented("zero", BOUNDARY),
    subnormal_inputs=assumed("keep", SUBNORMALS, ("flush",)),
    subnormal_outputs=assumed("keep", SUBNORMALS, ("flush",)),
    sum_order=documented(Repeats("in-order"), REDUCE),
    sum_accumulator=assumed("same", NODES, ("fp32",)),
    matmul_order=assumed(
        Groups(16, k0_fp32=4),
        CUBE,
        (Sequential(), GroupTrees(16, k0_fp32=4), AlignedTruncated(16, bits=24, k0_fp32=4), Once()),
    ),
    matmul_product=assumed("exact", f"{CUBE}; every public model of a matrix unit multiplies exactly"),
    matmul_accumulator=documented("fp32", "asc-devkit, Mmad: half, bf16 and float in, float out in L0C"),
    fused_multiply_add=assumed(
        False,
        "asc-devkit, composite overview: Axpy, MulAddDst and FusedMulAdd give no accuracy gain over separate "
        "instructions; in the boundary-value appendix their product saturates on its own",
        (True,),
    ),
    nan_compare_ne=documented("false", f"{BOUNDARY}: Compare NE with a NaN operand gives 0"),
    max_of_zeros=documented("positive", f"{BOUNDARY}: Max(-0, +0) = +0, Min(-0, +0) = -0"),
    approximations=assumed(
        {},
        "asc-devkit: Reciprocal and Rsqrt do not reach 1e-3 (half) or 1e-4 (float); the bits of no function are "
        "published, so correctly rounded values stand in",
    ),
)

PROFILES.add(PROFILE.name, PROFILE)
