"""Assertions for any test runner: `assert_ulp_close` and the PrecisionError it raises.

Importing this package loads nothing heavy: the names are imported when first asked for (PEP 562), since test plugins
import it at start-up.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precdiff.testing.assertions import PrecisionError, assert_ulp_close

__all__ = ["PrecisionError", "assert_ulp_close"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'precdiff.testing' has no attribute {name!r}; names: {', '.join(__all__)}")
    value = globals()[name] = getattr(importlib.import_module("precdiff.testing.assertions"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
