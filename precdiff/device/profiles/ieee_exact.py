"""ieee-exact: sums and matrix products exact, rounded once at the end. No device adds like this; none can do better."""

from __future__ import annotations

from dataclasses import replace

from precdiff.device.fact import documented
from precdiff.device.orders import Once
from precdiff.device.profile import PROFILES
from precdiff.device.profiles.ieee import PROFILE as IEEE

CHOICE = "this profile's definition: the exact result rounded once, IEEE 754-2019, 4.3"

PROFILE = replace(
    IEEE,
    name="ieee-exact",
    summary="IEEE 754, nearest-even; sums and matrix products exact, rounded once",
    sum_order=documented(Once(), CHOICE),
    matmul_order=documented(Once(), CHOICE),
    matmul_product=documented("exact", CHOICE),
)

PROFILES.add(PROFILE.name, PROFILE)
