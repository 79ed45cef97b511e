"""Each row's host function is off by no more than the row says, against balls of 160 bits.

10^4 seeded operands a row in `make test`, 10^6 with PRECDIFF_EXHAUSTIVE=1, and every edge; the worst error seen is
printed (pytest -rP). The unit is the spacing of fp64 at the host's result, as in ops/enclosure.py. Tight bounds are a
theorem of IEEE 754 (1/2 for + - * / sqrt, 0 for what is exact); those of elementary functions are numpy's promise for
any processor, so what this processor shows must stay well below.
"""

import os

import flint
import numpy as np
import pytest
from flint import arb

from precdiff.machine.ball_number import enter_float, evaluate
from tests.ops.points import NUMERIC, ROWS, operands

COUNT = 10**6 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 10**4
#: the bound itself is attained, not a promise with room
EXACT_BOUNDS = (0.0, 0.5)


def errors(op, arrays):
    """|host - exact| in spacings of the host's result; 0 where the exact result is special or overflows."""
    with np.errstate(all="ignore"):
        results = np.asarray(op.host(*arrays))
        spacings = np.spacing(np.abs(results))
    rows = zip(results.tolist(), spacings.tolist(), *(a.tolist() for a in arrays), strict=True)
    with flint.ctx.workprec(160):
        return np.array([error(op, *row) for row in rows])


def error(op, result, spacing, *args):
    exact = evaluate(op, *map(enter_float, args))
    if isinstance(exact, float) or not exact.is_finite() or not np.isfinite(result):
        return 0.0
    return float((abs(exact - arb(result)) / arb(spacing)).upper())


@pytest.mark.parametrize("name", [name for name in NUMERIC if np.isfinite(ROWS[name].bound)])
def test_host_errors_are_within_the_rows_bound(name):
    op = ROWS[name]
    arrays = operands(name, COUNT, np.random.default_rng(2024))
    found = errors(op, arrays)
    worst = int(np.argmax(found))
    print(f"{name}: worst {found[worst]:.4f} of {op.bound} spacings, at {[float(a[worst]) for a in arrays]}")
    room = 1.0 if op.bound in EXACT_BOUNDS else 0.8
    assert found[worst] <= room * op.bound + 2.0**-40


def test_only_fma_has_no_bound():
    assert [name for name in NUMERIC if not np.isfinite(ROWS[name].bound)] == ["fma"]


@pytest.mark.parametrize("name", NUMERIC)
def test_an_infinite_host_result_is_a_pole_an_infinite_operand_or_an_overflow(name):
    """The host never gives an infinity or a zero of the wrong size: what it overflows is beyond fp64."""
    op = ROWS[name]
    arrays = operands(name, 2000, np.random.default_rng(7))
    with np.errstate(all="ignore"):
        results = np.asarray(op.host(*arrays))
    chosen = np.flatnonzero(np.isinf(results))
    if name == "fma":  # its product overflows on its own
        return
    with flint.ctx.workprec(160):
        for i in chosen:
            exact = evaluate(op, *(enter_float(float(a[i])) for a in arrays))
            known = isinstance(exact, float) or exact.is_finite()  # else beyond flint's exponents
            assert not known or float(exact) == results[i], [float(a[i]) for a in arrays]
