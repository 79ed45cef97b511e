"""Whether there is a twin: the one chooser.

A twin gives bit for bit what the plain function gives, which stays the definition. PRECDIFF_ACCEL=0 turns all off.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

#: elements whose plain work takes longer than loading numba
_WORTH = 1 << 22


@cache
def accelerator(name: str) -> Any:
    """The module of twins of that name, loaded with numba when first asked for; None without numba or turned off."""
    if os.environ.get("PRECDIFF_ACCEL", "1") == "0":
        return None
    try:
        return importlib.import_module(f"precdiff._accel.{name}")
    except (ImportError, RuntimeError):  # numba follows new Pythons late, and needs a folder for what it compiled
        return None


class _Work:
    """What this process has done so far."""

    elements = 0


def worth_loading(elements: int) -> bool:
    """Count elements about to be worked on; whether numba's second of loading pays by now.

    Results do not depend on the answer.
    """
    _Work.elements += elements
    return _Work.elements >= _WORTH
