"""ascend-910b-sat: the same device in saturation mode: half and bf16 end at the largest number, NaN becomes 0."""

from __future__ import annotations

from dataclasses import replace

from precdiff.device.fact import documented
from precdiff.device.profile import PROFILES
from precdiff.device.profiles.ascend_910b import PROFILE as ASCEND_910B

MODE = (
    "asc-devkit, SetCtrlSpr, CTRL bit 48 = 0 saturates; hiascend, INF_NAN_MODE_ENABLE: on A2/A3 torch_npu needs "
    "INF_NAN_MODE_FORCE_DISABLE=1 for it"
)

PROFILE = replace(
    ASCEND_910B,
    name="ascend-910b-sat",
    summary="Ascend 910B/910C in saturation mode",
    overflow=documented("saturate", MODE),
)

PROFILES.add(PROFILE.name, PROFILE)
