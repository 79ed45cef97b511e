"""input_quantisation: the inputs had lost the digits before the kernel saw them.

Evidence: the kernel's exact value on its rounded inputs already misses the exact value on the unrounded ones by most of
the whole error. A run knows its own inputs only; the unrounded ones have to be given. It blames no step.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from precdiff import reference
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Counterfactual, Finding
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.errors import PrecDiffError
from precdiff.formats import ulp_error
from precdiff.trace import Trace

#: of the whole error, what the inputs have to account for
_MOST = 0.75


@cause_rule(
    "input_quantisation", rank=3, groups=(),
    definition="the exact result of the rounded inputs misses that of the unrounded ones by most of the error",
)  # fmt: skip
def input_quantisation(evidence: Evidence) -> Iterator[Hypothesis]:
    """Nothing: a trace has only the inputs it was given; see `quantised`."""
    yield from ()


def quantised(trace: Trace, unrounded: Mapping[str, Any], limit: float) -> list[Finding]:
    """The findings for outputs whose error against the kernel on `unrounded` inputs (fp64) is beyond `limit` ulp."""
    unknown = [name for name in unrounded if name not in trace.inputs]
    if unknown:
        raise PrecDiffError(f"unrounded: {unknown[0]} is no input; allowed are {', '.join(trace.inputs)}")
    wide = {trace.inputs[name]: np.asarray(values, np.float64) for name, values in unrounded.items()}
    meant = dataclasses.replace(
        trace, values={**trace.values, **wide}, formats={**trace.formats, **dict.fromkeys(wide, "fp64")}
    )
    found = [_finding(trace, meant, tensor, limit) for tensor in trace.outputs.values()]
    return [made for made in found if made is not None]


def _finding(trace: Trace, meant: Trace, tensor: str, limit: float) -> Finding | None:
    format, step = trace.formats[tensor], trace.step(tensor)
    truth, own = (reference.total(t, [tensor])[tensor].values for t in (meant, trace))
    pair = (truth.hi, truth.lo)
    whole = float(np.sqrt(np.mean(np.square(ulp_error(trace.values[tensor], pair, format)))))
    inputs = float(np.sqrt(np.mean(np.square(ulp_error(own.hi, pair, format)))))
    if whole <= limit or inputs < _MOST * whole:
        return None
    alone = float(np.sqrt(np.mean(np.square(ulp_error(trace.values[tensor], (own.hi, own.lo), format)))))
    proof = Counterfactual({"inputs": "unrounded"}, whole, alone, 0.0, whole / alone if alone else float("inf"), False)
    return Finding(
        id=hashlib.sha256(f"inputs:{tensor}".encode()).hexdigest()[:12], cause="input_quantisation",
        standing="verified", step=step.id, source=str(step.source), layer=step.layer, region=[],
        born_at=list(trace.inputs.values()), chain=[], share=inputs / whole, statistic="RMS ULP",
        limit=limit, group="finite", elements=int(truth.hi.size),
        evidence={"error_of_the_inputs": inputs, "error_of_the_kernel": alone}, counterfactual=proof,
        remedy="Hand the inputs over in a wider format: no step can bring their digits back.",
    )  # fmt: skip
