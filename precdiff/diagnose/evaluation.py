"""One expression at one point, step by step: the exact value, what the format made of it, and where the error arose."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import flint
import mpmath

from precdiff.diagnose.judgement import Judgement
from precdiff.formats import Format, get_format, hex_bits, signed_ulp_error
from precdiff.machine import BallMachine, RealArray, Tensor
from precdiff.machine.realarray import FINITE
from precdiff.trace import Step, evaluate

#: enough for any 20 digits unless a step cancels 300 bits; then fewer digits are shown
_DIGITS_BITS = 400


@dataclass(frozen=True)
class EvaluatedStep:
    """A step of a scalar evaluation. Errors are signed, in ulps of the step's format; None where not both are numbers.

    `exact` is the value of ideal mathematics as a decimal; `value` what was computed and `bits` its code. `local` is
    the op's own error on its recorded operands, `inherited` what those operands brought, `total` = local + inherited.
    """

    id: str
    op: str
    operands: tuple[str, ...]
    exact: str
    value: float
    bits: str
    local: float | None
    inherited: float | None
    total: float | None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; non-finite numbers as strings."""
        return {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}


def evaluated_steps(judgement: Judgement, digits: int = 20) -> list[EvaluatedStep]:
    """Every step of a scalar trace; the exact values are shown from balls, whose digits all count."""
    machine = BallMachine(_DIGITS_BITS)
    balls = evaluate(judgement.trace, machine)
    return [_row(judgement, step, _exact(machine, balls[step.id], digits)) for step in judgement.trace.steps]


def _exact(machine: BallMachine, ball: Tensor, digits: int) -> str:
    """The exact value as a decimal, where fp64 is too small for it from the ball itself."""
    found, number = machine.reals(ball), ball.planes[0][()]
    if found.kind != FINITE and isinstance(number, flint.arb) and number.is_finite():
        return str(number.str(digits, radius=False))
    return decimal(found, digits)


def _row(judgement: Judgement, step: Step, exact: str) -> EvaluatedStep:
    trace, format = judgement.trace, get_format(step.format)
    value, total, local = trace.values[step.id], judgement.totals[step.id].values, judgement.locals_[step.id].values
    own, whole = _error(value, local, format), _error(value, total, format)
    return EvaluatedStep(
        step.id,
        step.op,
        step.inputs,
        exact,
        float(value),
        hex_bits(value, format),
        own,
        None if own is None or whole is None else whole - own,
        whole,
    )


def _error(value: Any, exact: RealArray, format: Format) -> float | None:
    if exact.kind != FINITE or not math.isfinite(float(value)):
        return None
    if not format.is_float:
        return float(value) - float(exact.hi)
    return float(signed_ulp_error(value, (exact.hi, exact.lo), format))


def decimal(exact: RealArray, digits: int = 20) -> str:
    """A scalar RealArray as a decimal of that many significant digits, fewer where the radius allows no more."""
    if exact.kind == FINITE and exact.radius > 0 and exact.hi != 0:
        digits = max(1, min(digits, int(-math.log10(float(exact.radius) / abs(float(exact.hi))))))
    if exact.kind != FINITE:
        return {1: "inf", 2: "-inf", 3: "nan"}.get(int(exact.kind), "undecided")
    with mpmath.workprec(120):
        return str(mpmath.nstr(mpmath.mpf(float(exact.hi)) + mpmath.mpf(float(exact.lo)), digits, strip_zeros=True))
