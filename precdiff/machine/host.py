"""HostMachine: fp64 as the host computes it, for derivatives and condition numbers, which need no last bit.

Arithmetic is IEEE 754's in nearest-even; a function is numpy's, within its row's bound, and a hundred times as fast as
the correctly rounded value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from precdiff.device import get_profile
from precdiff.formats import Format
from precdiff.machine.emulated import EmulatedMachine
from precdiff.ops.op import Elementwise
from precdiff.rounding import Rounding


class HostMachine(EmulatedMachine):
    """The `ieee` profile with the host's functions; its tensors are fp64 (or not floats)."""

    name = "host"

    def __init__(self) -> None:
        super().__init__(get_profile("ieee"))

    def function(
        self, op: Elementwise, arrays: Sequence[np.ndarray], formats: Sequence[Format], rounding: Rounding
    ) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(op.host(*arrays), np.float64)
