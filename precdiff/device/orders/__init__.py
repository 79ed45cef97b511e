"""In which order a sum is added up, as values: one order a file, with its tree and a fast `fold` of the same meaning.

Read tree.py (what a tree means), order.py (what orders share), then any order. An order beyond these is one more file.
"""

from precdiff.device.orders.adjacent import AdjacentTree
from precdiff.device.orders.aligned import AlignedTruncated
from precdiff.device.orders.groups import Groups, GroupTrees
from precdiff.device.orders.once import Once
from precdiff.device.orders.order import ORDERS, SummationOrder, order_from_json, parse_order
from precdiff.device.orders.pairwise import Pairwise
from precdiff.device.orders.repeats import Repeats
from precdiff.device.orders.sequential import Sequential, SequentialFma
from precdiff.device.orders.tree import Product, Tree, evaluate, visible

__all__ = [
    "ORDERS",
    "AdjacentTree",
    "AlignedTruncated",
    "GroupTrees",
    "Groups",
    "Once",
    "Pairwise",
    "Product",
    "Repeats",
    "Sequential",
    "SequentialFma",
    "SummationOrder",
    "Tree",
    "evaluate",
    "order_from_json",
    "parse_order",
    "visible",
]
