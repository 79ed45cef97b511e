"""PrecDiff: how far a kernel's numbers are from the truth, where they first left it, and why.

The names a user meets (`__all__`), nothing else. Each is imported when it is first asked for, so that `import precdiff`
costs a millisecond and loads neither numpy nor anything heavier (PEP 562).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precdiff import ops
    from precdiff.api import compare, explain, open_dump, replay, round_array, run, ulp_distance, ulp_error
    from precdiff.kernels.kernel import kernel
    from precdiff.kernels.run import Run
    from precdiff.machine import Tensor
    from precdiff.report import Report
    from precdiff.trace import Change, Region

__version__ = "0.1.0.dev0"

__all__ = [
    "Change",
    "Region",
    "Report",
    "Run",
    "Tensor",
    "compare",
    "explain",
    "kernel",
    "open_dump",
    "ops",
    "replay",
    "round_array",
    "run",
    "ulp_distance",
    "ulp_error",
]

_HOME = {
    "kernel": "precdiff.kernels.kernel",
    "Tensor": "precdiff.machine",
    "Change": "precdiff.trace",
    "Region": "precdiff.trace",
    "Run": "precdiff.kernels.run",
    "Report": "precdiff.report",
    **dict.fromkeys(("run", "compare", "explain", "replay", "open_dump"), "precdiff.api"),
    **dict.fromkeys(("round_array", "ulp_error", "ulp_distance"), "precdiff.api"),
}


def __getattr__(name: str) -> object:
    if name == "ops":
        return importlib.import_module("precdiff.ops")
    if name not in _HOME:
        raise AttributeError(f"module 'precdiff' has no attribute {name!r}; public names: {', '.join(__all__)}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
