"""An expression at a point: its steps, its result, and the Report with the cause (precdiff.eval/1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.diagnose.evaluation import EvaluatedStep, evaluated_steps
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.settings import Settings
from precdiff.errors import PrecDiffError
from precdiff.formats import Format
from precdiff.kernels import run_kernel
from precdiff.kernels.expression import expression_kernel
from precdiff.kernels.fpcore import NO_INPUT, SUFFIX, read_core
from precdiff.ops.decisions import MAX_ITERATIONS
from precdiff.report.judged import findings_of, judged_report
from precdiff.report.report import Report
from precdiff.rounding import Rounding, round_exact


@dataclass(frozen=True)
class Evaluation:
    """`inputs` are the values that entered, after their one rounding; `given` what was asked for."""

    expression: str
    given: Mapping[str, str]
    inputs: Mapping[str, float]
    format: str
    rows: Sequence[EvaluatedStep]
    report: Report

    def to_json(self) -> dict[str, Any]:
        """The document `precdiff.eval/1`."""
        return {
            "schema": "precdiff.eval/1",
            "expression": self.expression,
            "format": self.format,
            "given": dict(self.given),
            "inputs": {name: value if np.isfinite(value) else str(value) for name, value in self.inputs.items()},
            "steps": [row.to_json() for row in self.rows],
            "report": self.report.to_json(),
        }


def evaluation(
    expression: str,
    values: Mapping[str, str | float],
    format: Format,
    profile: str | DeviceProfile,
    settings: Settings,
    max_iterations: int = MAX_ITERATIONS,
) -> Evaluation:
    """Evaluate arithmetic at a point, step by step; inputs are rounded once to `format`."""
    core = read_core(expression) if is_core(expression) else None
    kernel = expression_kernel(expression) if core is None else core.kernel
    names = core.parameters if core else {}
    inputs = {names.get(n, n): np.asarray(entered(n, v, format), format.carrier) for n, v in values.items()}
    entering = inputs or {NO_INPUT: np.zeros((), format.carrier)}
    made = run_kernel(kernel, entering, profile=profile, format=format, max_iterations=max_iterations)
    if core is not None:
        core.place(made.trace)
    judgement = Judgement(made.trace, kernel, settings)
    report = judged_report(judgement, expression, None, findings_of(judgement))
    numbers = {name: float(value) for name, value in inputs.items()}
    given = {name: str(value) for name, value in values.items()}
    return Evaluation(expression, given, numbers, format.name, evaluated_steps(judgement), report)


def is_core(expression: str) -> bool:
    """Whether the expression is the place of an FPCore: FILE.fpcore or FILE.fpcore:NAME."""
    return expression.partition(":")[0].endswith(SUFFIX)


def names_of(expression: str) -> list[str]:
    """The names that need a value."""
    return list(read_core(expression).inputs if is_core(expression) else expression_kernel(expression).inputs)


def entered(name: str, value: str | float, format: Format) -> float:
    """A decimal, hex float, inf or nan, rounded once to `format`."""
    try:
        exact = _from_text(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, ZeroDivisionError):
        raise PrecDiffError(f"{name}={value}: not a number; allowed are decimals, hex floats, inf and nan") from None
    return round_exact(exact, Rounding(format))


def _from_text(text: str) -> Fraction | float:
    lowered = text.strip().lower()
    if "0x" in lowered:
        return float.fromhex(lowered)
    if lowered.lstrip("+-") in ("inf", "infinity", "nan"):
        return float(lowered)
    if len(lowered) > 1000 or abs(_exponent(lowered)) > 10_000:
        raise ValueError(text)
    value = Fraction(lowered)
    return -0.0 if value == 0 and lowered.startswith("-") else value


def _exponent(text: str) -> int:
    """The decimal exponent, before it is expanded into a huge integer."""
    return int(text.partition("e")[2] or 0)
