"""ascend-910a: Ascend 910A (Atlas training series), which only saturates and reduces repeats by a second tree.

What asc-devkit states for A2/A3 only is carried over and marked as assumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from precdiff.device.fact import assumed, documented
from precdiff.device.orders import Repeats
from precdiff.device.profile import PROFILES
from precdiff.device.profiles.ascend_910b import PROFILE as ASCEND_910B

CARRIED_OVER = "stated for A2/A3, not for 910A: "
REDUCE = (
    "asc-devkit, ReduceSum on the Atlas training series: adjacent pairs inside a repeat of 256 bytes, results written "
    "out and reduced again by trees; WholeReduceSum: masked-off elements count as 0"
)


def _carried_over(*names: str) -> dict[str, Any]:
    facts = ASCEND_910B.facts()
    return {name: assumed(facts[name].value, CARRIED_OVER + facts[name].source) for name in names}


PROFILE = replace(
    ASCEND_910B,
    name="ascend-910a",
    summary="Ascend 910A: saturation only, reductions by trees of trees; the Cube's order is assumed",
    overflow=documented("saturate", "hiascend, INF_NAN_MODE_ENABLE: the Atlas training series only saturates"),
    sum_order=documented(Repeats("tree"), REDUCE),
    **_carried_over("saturated_formats", "saturated_nan", "nan_compare_ne", "max_of_zeros"),
)

PROFILES.add(PROFILE.name, PROFILE)
