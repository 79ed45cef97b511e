"""How a device departs from ideal arithmetic: profiles of facts, and the orders in which sums are added.

Read fact.py (value, source, confidence), profile.py (the fields), orders/ and then any profile in profiles/.
"""

from precdiff.device.fact import Fact, assumed, documented, measured
from precdiff.device.orders import (
    AdjacentTree,
    AlignedTruncated,
    Groups,
    GroupTrees,
    Once,
    Pairwise,
    Repeats,
    Sequential,
    SequentialFma,
    SummationOrder,
    evaluate,
    order_from_json,
    parse_order,
)
from precdiff.device.profile import PROFILES, DeviceProfile, get_profile

__all__ = [
    "PROFILES",
    "AdjacentTree",
    "AlignedTruncated",
    "DeviceProfile",
    "Fact",
    "GroupTrees",
    "Groups",
    "Once",
    "Pairwise",
    "Repeats",
    "Sequential",
    "SequentialFma",
    "SummationOrder",
    "assumed",
    "documented",
    "evaluate",
    "get_profile",
    "measured",
    "order_from_json",
    "parse_order",
]
