"""nondeterminism: runs on equal inputs give different bits.

Evidence: several outputs of one run on the same inputs are not bit for bit alike. The spread is reported in place of
one number, with the exact value's place in it; what lies within the orders of the declared arithmetic is noise, not a
fault (noise.py). A single trace cannot show it: `repeated` is given the outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Finding
from precdiff.diagnose.noise import applies, noise_verdict
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.errors import PrecDiffError
from precdiff.formats import to_bits
from precdiff.machine import RealArray
from precdiff.trace import Trace


@cause_rule("nondeterminism", rank=3, groups=(), definition="runs on equal inputs give different bits")
def nondeterminism(evidence: Evidence) -> Iterator[Hypothesis]:
    """Nothing: one run cannot show it; see `repeated`."""
    yield from ()


def repeated(trace: Trace, outputs: Sequence[np.ndarray], exact: RealArray) -> Finding | None:
    """The finding of several outputs of the trace's one output step on the same inputs; None where all agree."""
    if len(trace.outputs) != 1 or len(outputs) < 2:
        raise PrecDiffError(f"nondeterminism: found {len(outputs)} runs of {len(trace.outputs)} outputs; allowed are "
                            "two or more runs of one output")  # fmt: skip
    (tensor,) = trace.outputs.values()
    codes = np.stack([to_bits(np.asarray(values), trace.formats[tensor]) for values in outputs])
    differing = (codes != codes[0]).any(axis=0)
    if not differing.any():
        return None
    return _finding(trace, tensor, np.stack(outputs).astype(np.float64), differing, exact)


def _finding(trace: Trace, tensor: str, values: np.ndarray, differing: np.ndarray, exact: RealArray) -> Finding:
    step = trace.step(tensor)
    low, high = values.min(axis=0), values.max(axis=0)
    worst = int(np.argmax(np.where(differing, high - low, 0.0)))
    column = values.reshape(len(values), -1)[:, worst]
    inside = (low <= exact.hi) & (exact.hi <= high)
    noise = [noise_verdict(trace, tensor, run) for run in values] if applies(step) else []
    evidence = {
        "runs": len(values), "different_results": int(np.unique(column).size),
        "spread": [float(column.min()), float(column.max())], "exact": float(exact.hi.flat[worst]),
        "exact_inside": bool(inside.flat[worst]), "legal_orders": sum(v.consistent for v in noise),
        "note": noise[0].line if noise else "",
    }  # fmt: skip
    return Finding(
        id=hashlib.sha256(f"nondeterminism:{tensor}".encode()).hexdigest()[:12], cause="nondeterminism",
        standing="candidate", step=tensor, source=str(step.source), layer=step.layer, region=[tensor],
        born_at=[tensor], chain=[tensor], share=0.0, statistic="spread of the runs", limit=0.0, group="finite",
        elements=int(differing.sum()), evidence=evidence, counterfactual=None,
        remedy="Judge the set of results, not one; fix the order (ordered adds) where bits must agree.",
    )  # fmt: skip
