"""Points: an FPCore expression at one input, judged in bits, located and named (DESIGN 5, `eval --batch`).

A row asks {id, fpcore, vars, fmt, mode, point}; the answer tells the result, the exact value, the error in bits and,
where that exceeds the format's limit, the finding: the smallest region whose exact evaluation brings it to half.
"""

from __future__ import annotations

import contextlib
import json
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


#: turns of a loop after which a row is not answered; `eval FILE.fpcore` takes more
MAX_ITERATIONS = 200

#: seconds for the proofs of one row
BUDGET = 10.0

#: what a row has to hold, and of which type
_FIELDS: Mapping[str, type | tuple[type, ...]] = {"fpcore": str, "vars": list, "fmt": str, "point": dict}


def fault_limits(text: str | None) -> Mapping[str, float]:
    """The limits of `fp16=4,bf16=4`; formats that are not named keep FAULT_BITS."""
    limits = dict(FAULT_BITS)
    for part in text.split(",") if text else ():
        name, _, bits = part.partition("=")
        limits[get_format(name).name] = _bits(bits, part)
    return limits


def _bits(text: str, part: str) -> float:
    with contextlib.suppress(ValueError):
        if float(text) >= 0:  # not NaN
            return float(text)
    raise PrecDiffError(f"fault bits: found {part!r}; allowed is FORMAT=BITS, as in fp16=4")


def answerable(line: str, number: int) -> Mapping[str, Any]:
    """A line of JSON as a row; what is none becomes a row that says so."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": number, "error": f"line {number} is no JSON: {error}"}
    return row if isinstance(row, dict) else {"id": number, "error": f"line {number} is no row: {line.strip()[:80]}"}


def answer(
    row: Mapping[str, Any], fault_bits: Mapping[str, float] = FAULT_BITS, max_iterations: int = MAX_ITERATIONS
) -> dict[str, Any]:
    """The answer to one row; what cannot be answered has `error` in place of the numbers."""
    kept = {key: row.get(key) for key in ("id", "fmt", "mode")}
    if "error" in row:
        return {**kept, "error": row["error"]}
    try:
        _check(row)
        return {**kept, **_answered(row, fault_bits, max_iterations)}
    except PrecDiffError as error:
        return {**kept, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a defect at one row must not cost the others their answer
        return {**kept, "error": f"defect of PrecDiff, please report it: {type(error).__name__}: {error}"}


def _check(row: Mapping[str, Any]) -> None:
    wrong = [name for name, kind in _FIELDS.items() if not isinstance(row.get(name), kind)]
    if wrong:
        raise PrecDiffError(f"row: {wrong[0]} is {row.get(wrong[0])!r}; a row has {', '.join(_FIELDS)}")


def _answered(row: Mapping[str, Any], fault_bits: Mapping[str, float], max_iterations: int) -> dict[str, Any]:
    core, format = parse(row["fpcore"], row["vars"]), get_format(row["fmt"])
    given = inputs(core, row["point"], format)
    trace = run_kernel(core.kernel, given, format=format, max_iterations=max_iterations).trace
    if "out" not in trace.outputs:
        raise PrecDiffError(f"the expression has {len(trace.outputs)} results; allowed is one")
    if trace.outputs["out"] in trace.inputs.values():
        value = _hex(trace.values[trace.outputs["out"]])
        return {"got": value, "reference": value, "error_bits": 0.0, "findings": []}
    totals = reference.total(trace)
    asked = problem_of(trace, totals, fault_bits.get(format.name, format.p / 4))
    bits = float(asked.errors(trace.values[asked.tensor])[0])
    findings = _findings(asked, totals, core) if bits > asked.limit else []
    exact = totals[asked.tensor].values.values()
    return {
        "got": _hex(trace.values[asked.tensor]), "reference": _hex(exact), "error_bits": bits, "findings": findings,
    }  # fmt: skip


def inputs(core: FPCore, point: Mapping[str, str], format: Format) -> dict[str, np.ndarray]:
    """The kernel's inputs from a point of hex floats, by parameter."""
    missing = [name for name in core.inputs if name not in point]
    if missing:
        raise PrecDiffError(f"point: {missing[0]} has no value; its names are {', '.join(core.inputs)}")
    return {p: np.asarray(_number(point.get(name, "0"), name), format.carrier) for name, p in core.parameters.items()}


def _number(text: Any, name: str) -> float:
    try:
        return float.fromhex(str(text))
    except (ValueError, OverflowError):
        raise PrecDiffError(f"point: {name} is {text!r}; allowed are hex floats") from None


def problem_of(trace: Trace, totals: Mapping[str, Reference], limit: float) -> BitsProblem:
    """The problem of the single output, in bits."""
    tensor = trace.outputs["out"]
    exact = totals[tensor].values
    finite = bool(np.isfinite(trace.values[tensor]))
    mask = np.ones((), bool)
    return BitsProblem(trace, tensor, exact, mask, "finite" if finite else "nonfinite", limit, "bits")


def _findings(problem: BitsProblem, totals: Mapping[str, Reference], core: FPCore) -> list[dict[str, Any]]:
    evidence, prover = Evidence(problem, totals), Prover(problem, BUDGET)
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
