"""numpy-pairwise: numpy's own sums over contiguous data and last axes; half sums run in fp32 and are rounded once.

Axis 0 and cumsum are sequential and round half data at every step: use `ieee` for those.
"""

from __future__ import annotations

from dataclasses import replace

from precdiff.device.fact import assumed, measured
from precdiff.device.orders import Pairwise, Sequential
from precdiff.device.profile import PROFILES
from precdiff.device.profiles.ieee import PROFILE as IEEE

PROBED = "FPRev probing of numpy 2.4.6 (arXiv 2411.00442), replayed bit for bit on random data"
BLAS = "numpy leaves matrix products to the host's BLAS; OpenBLAS with Haswell kernels fuses in fp32, two sums along K"

PROFILE = replace(
    IEEE,
    name="numpy-pairwise",
    summary="numpy on the host: pairwise sums in at least fp32; matrix products by an assumed fused chain",
    sum_order=measured(Pairwise(), PROBED),
    sum_accumulator=measured("fp32", f"{PROBED}: float16 is widened and rounded once"),
    matmul_order=assumed(Sequential(), BLAS),
    matmul_product=assumed("exact", BLAS),
    matmul_accumulator=assumed("fp32", BLAS),
)

PROFILES.add(PROFILE.name, PROFILE)
