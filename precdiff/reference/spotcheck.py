"""Spot checks: the worst 8 and 24 seeded outputs re-computed with mpmath; a value outside its radius is our defect.

At most about a second is spent; a cone too large for that is not checked, and the report says 0.
"""

from __future__ import annotations

import numpy as np

from precdiff.errors import DefectError
from precdiff.machine import MpMachine, RealArray
from precdiff.machine.realarray import FINITE, UNKNOWN
from precdiff.reference.reference import Reference
from precdiff.reference.restrict import is_elementwise, restricted
from precdiff.trace import Trace, evaluate, needed_for

WORST, SEEDED = 8, 24

#: mpmath steps x elements that take about a second
_AFFORDABLE = 40_000


def spot_check(trace: Trace, tensor: str, reference: Reference, error: np.ndarray, seed: int = 0) -> Reference:
    """The reference with its count of checked outputs; `error` ranks the outputs (any measure, the tensor's shape)."""
    mask = _chosen(error, np.random.default_rng(seed))
    steps = len(needed_for(trace, [tensor]))
    bits = 2 * reference.bits + 128
    if is_elementwise(trace, tensor):
        part = restricted(trace, tensor, mask)
        found = _reals(part, tensor, bits)
        wanted = _at(reference.values, mask)
    elif steps * max(v.size for v in trace.values.values()) <= _AFFORDABLE:
        found, wanted = _at(_reals(trace, tensor, bits), mask), _at(reference.values, mask)
    else:
        return reference
    _agree(tensor, found, wanted)
    return reference.with_checked(int(mask.sum()))


def _reals(trace: Trace, tensor: str, bits: int) -> RealArray:
    machine = MpMachine(bits)
    return machine.reals(evaluate(trace, machine, [tensor])[tensor])


def _chosen(error: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flat = np.nan_to_num(error.ravel(), nan=np.inf)
    count = min(SEEDED, flat.size)
    picks = {*np.argsort(-flat, kind="stable")[:WORST].tolist(), *rng.choice(flat.size, count, replace=False).tolist()}
    mask = np.zeros(flat.size, bool)
    mask[list(picks)] = True
    return mask.reshape(error.shape)


def _at(values: RealArray, mask: np.ndarray) -> RealArray:
    return RealArray(*(plane[mask] for plane in (values.hi, values.lo, values.radius, values.kind)))


def _agree(tensor: str, found: RealArray, wanted: RealArray) -> None:
    with np.errstate(invalid="ignore"):
        difference = np.abs((found.hi - wanted.hi) + (found.lo - wanted.lo))
        # both sides hold 106 bits of their number
        slack = wanted.radius + 2.0**-100 * np.abs(wanted.hi) + 5e-324
    apart = np.where(wanted.kind == FINITE, difference > slack, False) | (found.kind != wanted.kind)
    apart &= wanted.kind != UNKNOWN
    if apart.any():
        at = int(np.argmax(apart))
        raise DefectError(
            f"the reference of {tensor} contradicts mpmath at a spot check: {wanted.values()[at]!r} with radius "
            f"{wanted.radius[at]!r} against {found.values()[at]!r}. This is a defect of PrecDiff; please report it."
        )
