"""Points: an FPCore expression at one input, judged in bits, located and named (DESIGN 5, `eval --batch`).

A row asks {id, fpcore, vars, fmt, mode, point}; the answer tells the result, the exact value, the error in bits and,
where that exceeds the format's limit, the finding: the smallest region whose exact evaluation brings it to half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from precdiff import reference
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.location import located, named, size
from precdiff.diagnose.problem import BitsProblem
from precdiff.diagnose.proof import Prover
from precdiff.errors import PrecDiffError
from precdiff.formats import Format, get_format
from precdiff.kernels import run_kernel
from precdiff.kernels.fpcore import FPCore, parse
from precdiff.reference import Reference
from precdiff.trace import Trace

#: bits of error from which an answer counts as wrong (Herbie: 16 in fp64), by format
FAULT_BITS: Mapping[str, float] = {"fp16": 4, "bf16": 4, "fp32": 8, "fp64": 16}


def answer(row: Mapping[str, Any], fault_bits: Mapping[str, float] = FAULT_BITS) -> dict[str, Any]:
    """The answer to one row; what cannot be answered has `error` in place of the numbers."""
    kept = {key: row.get(key) for key in ("id", "fmt", "mode")}
    try:
        return {**kept, **_answered(row, fault_bits)}
    except PrecDiffError as error:
        return {**kept, "error": str(error)}


def _answered(row: Mapping[str, Any], fault_bits: Mapping[str, float]) -> dict[str, Any]:
    core, format = parse(row["fpcore"], row["vars"]), get_format(row["fmt"])
    trace = run_kernel(core.kernel, _inputs(core, row["point"], format), format=format).trace
    totals = reference.total(trace)
    problem = _problem(trace, totals, fault_bits[format.name])
    bits = float(problem.errors(trace.values[problem.tensor])[0])
    findings = _findings(problem, totals, core) if bits > problem.limit else []
    exact = totals[problem.tensor].values.values()
    return {
        "got": _hex(trace.values[problem.tensor]), "reference": _hex(exact), "error_bits": bits, "findings": findings,
    }  # fmt: skip


def _inputs(core: FPCore, point: Mapping[str, str], format: Format) -> dict[str, np.ndarray]:
    missing = [name for name in core.inputs if name not in point]
    if missing:
        raise PrecDiffError(f"point: {missing[0]} has no value; its names are {', '.join(core.inputs)}")
    return {p: np.asarray(_number(point.get(name, "0"), name), format.carrier) for name, p in core.parameters.items()}


def _number(text: Any, name: str) -> float:
    try:
        return float.fromhex(str(text))
    except (ValueError, OverflowError):
        raise PrecDiffError(f"point: {name} is {text!r}; allowed are hex floats") from None


def _problem(trace: Trace, totals: Mapping[str, Reference], limit: float) -> BitsProblem:
    tensor = trace.outputs["out"]
    exact = totals[tensor].values
    finite = bool(np.isfinite(trace.values[tensor]))
    mask = np.ones((), bool)
    return BitsProblem(trace, tensor, exact, mask, "finite" if finite else "nonfinite", limit, "bits")


def _findings(problem: BitsProblem, totals: Mapping[str, Reference], core: FPCore) -> list[dict[str, Any]]:
    evidence, prover = Evidence(problem, totals), Prover(problem)
    found = located(evidence, prover)
    if found is None:
        return []
    region, proof = found
    rule = named(evidence, region)
    root = region.steps[-1]
    return [
        {
            "cause": rule[0].cause if rule else "accumulated_rounding", "standing": prover.standing(proof),
            "op": problem.trace.step(root).op, "paths": [list(p) for p in core.paths.get(core.made[root], [])],
            "born_at": list(rule[1].born_at) if rule else [root], "size": size(evidence, region),
            "error_bits_after": proof.error_after, "replays": prover.replays,
        }
    ]  # fmt: skip


def _hex(value: Any) -> str:
    number = float(value)
    return number.hex() if math.isfinite(number) else str(number)
