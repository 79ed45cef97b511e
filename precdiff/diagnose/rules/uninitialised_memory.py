"""uninitialised_memory: a step read elements nobody had written: poison, or whatever was there.

Recognised by NaN out of finite operands where the declared arithmetic gives numbers, or by one constant in a span.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff import reference
from precdiff.diagnose.deviation import Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.noise import applies
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.spans import tails
from precdiff.ops import OPS, Conversion, Layout
from precdiff.trace import Change

#: results that have to be alike
_ENOUGH = 4
#: a size every float format beyond 8 bits holds
_EVERYWHERE = 65504.0


@cause_rule(
    "uninitialised_memory", rank=10, groups=(),
    definition="a device read elements nobody had written",
)  # fmt: skip
def uninitialised_memory_rule(evidence: Evidence) -> Iterator[Hypothesis]:
    """Nothing: the emulated run reads what was written; a device's values show it (reproduction.py)."""
    yield from ()


def _recognised(found: Deviation) -> str:
    if not found.format.is_float or not found.step.inputs:
        return ""
    operands = [np.asarray(found.trace.values[i], np.float64) for i in found.step.inputs]
    finite = all(np.isfinite(x).all() for x in operands)
    if finite and (np.isnan(found.actual) & found.lost).any():
        return "NaN although every recorded operand is a number"
    if finite and (found.lost & (np.abs(found.exact.hi) < _EVERYWHERE)).any():
        return "infinite although the exact value lies within every format's range"
    return _constant(found) or _beyond(found, operands)


def _constant(found: Deviation) -> str:
    values, meant = found.actual[found.where], found.declared[found.where]
    alike = np.unique(values).size == 1 and np.unique(meant).size > 1
    if values.size < _ENOUGH or not np.isfinite(values).all() or not alike:
        return ""
    return f"{values.size} results all hold {float(values.flat[0])!r}"


def _beyond(found: Deviation, operands: list[np.ndarray]) -> str:
    """Results off by more than any values of the operands' sizes could make them."""
    sizes = [float(np.abs(x).max()) for x in operands[:2] if x.size]
    reach = _reach(found, sizes)
    if reach is None or found.lost.any():
        return ""
    moved = float(np.max(np.abs(found.actual.astype(np.float64) - found.exact.hi)))
    return f"results are off by {moved:.3g}; values of these sizes make {reach:.3g} at most" if moved > reach else ""


def _reach(found: Deviation, sizes: list[float]) -> float | None:
    """The largest difference between two results of operands of these sizes; None where that is not known."""
    op = OPS[found.step.op]
    if applies(found.step):
        return 2.0 * reference.length(found.trace, found.step) * float(np.prod(sizes))
    if found.step.op in ("add", "sub"):
        return 2.0 * sum(sizes)
    if found.step.op == "mul":
        return 2.0 * float(np.prod(sizes))
    return 2.0 * max(sizes) if isinstance(op, Layout | Conversion) or found.step.op in ("neg", "abs") else None


@imitation(
    "uninitialised_memory", rank=10, recognised=_recognised,
    remedy="Pad the tail with the op's neutral element, or limit the op to the valid elements.",
)  # fmt: skip
def uninitialised_memory(found: Deviation) -> Iterator[Changes]:
    """Poisoned tails and tiles of each operand, the shortest that reaches the deviating elements first."""
    for number, source in enumerate(found.step.inputs):
        values = found.trace.values[source]
        if values.dtype.kind == "f" and values.ndim and (found.blind or np.isnan(found.actual).any()):
            for where in tails(found, number):
                yield {found.step.id: Change("reads", {"input": number, "where": list(where), "version": "poison"})}
