"""ieee: what IEEE 754-2019 asks for, every operation rounded to nearest even in its own format, sums first to last.

The yardstick of the other profiles. The standard leaves the order of a sum open (clause 9.4); this profile chooses one.
"""

from __future__ import annotations

from precdiff.device.fact import documented
from precdiff.device.orders import Sequential
from precdiff.device.profile import PROFILES, DeviceProfile

CHOICE = "IEEE 754-2019, 9.4 leaves it open; this profile's definition"

PROFILE = DeviceProfile(
    name="ieee",
    summary="IEEE 754, nearest-even, sums and products first to last in the data's own format",
    direction=documented("nearest-even", "IEEE 754-2019, 4.3.3"),
    overflow=documented("ieee", "IEEE 754-2019, 7.4"),
    saturated_formats=documented((), "IEEE 754-2019, 7.4"),
    saturated_nan=documented("keep", "IEEE 754-2019, 6.2"),
    subnormal_inputs=documented("keep", "IEEE 754-2019, 3.4"),
    subnormal_outputs=documented("keep", "IEEE 754-2019, 7.5"),
    sum_order=documented(Sequential(), CHOICE),
    sum_accumulator=documented("same", CHOICE),
    matmul_order=documented(Sequential(), CHOICE),
    matmul_product=documented("rounded", CHOICE),
    matmul_accumulator=documented("same", CHOICE),
    fused_multiply_add=documented(True, "IEEE 754-2019, 5.4.1"),
    nan_compare_ne=documented("ieee", "IEEE 754-2019, 5.11"),
    max_of_zeros=documented("positive", "IEEE 754-2019, 9.6"),
    approximations=documented({}, "IEEE 754-2019, 9.2 recommends correctly rounded functions"),
)

PROFILES.add(PROFILE.name, PROFILE)
