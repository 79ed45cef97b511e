"""Assertions for any test runner, each with one message, made from one Report (docs/assertions.md).

Importing this package loads nothing heavy: the names are imported when first asked for (PEP 562), since test plugins
import it at start-up.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precdiff.testing.approx import ulp_approx
    from precdiff.testing.assertions import PrecisionError, assert_precise, assert_ulp_close
    from precdiff.testing.repeats import assert_deterministic, assert_order_invariant
    from precdiff.testing.warning import AccuracyLossWarning

__all__ = [
    "AccuracyLossWarning",
    "PrecisionError",
    "assert_deterministic",
    "assert_order_invariant",
    "assert_precise",
    "assert_ulp_close",
    "ulp_approx",
]

_HOME = {
    "AccuracyLossWarning": "warning",
    "PrecisionError": "assertions",
    "assert_deterministic": "repeats",
    "assert_order_invariant": "repeats",
    "assert_precise": "assertions",
    "assert_ulp_close": "assertions",
    "ulp_approx": "approx",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'precdiff.testing' has no attribute {name!r}; names: {', '.join(__all__)}")
    home = importlib.import_module(f"precdiff.testing.{_HOME[name]}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
