"""ill_conditioned: the problem magnifies its inputs' last bits so much that no algorithm gives more; nobody is blamed.

Evidence, for the solution x of a x = b (steps of a layer solve): a small normwise backward error,

    eta = max |b - a x| / (max |a| max |x| n)   <=   n u      (Rigal and Gaches 1967; Higham, Accuracy, 7.1)

and a condition number of at least 1 / (100 u): the solution is exact for a matrix next to the given one. A singular
matrix is the extreme of it. No change of the kernel proves or cures it; the finding excuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.rule import Hypothesis, cause_rule
from precdiff.trace import Region, Step

#: sizes up to which residuals are computed in Fractions
_LARGEST = 12
_ILL = 0.01


@cause_rule(
    "ill_conditioned", rank=1, groups=("finite", "nonfinite"), excuses=True,
    definition="a linear system of large condition number, solved with a small backward error",
)  # fmt: skip
def ill_conditioned(evidence: Evidence) -> Iterator[Hypothesis]:
    """The systems of the trace."""
    for layer in dict.fromkeys(s.layer for s in evidence.steps if s.layer.split("/")[-1] == "solve"):
        inside = [s for s in evidence.steps if s.layer == layer]
        found = _measured(evidence, inside)
        if found is not None:
            yield Hypothesis(
                inside[-1].id, Region(tuple(s.id for s in inside)), [inside[-1].id], (),
                "Not the kernel's fault: rescale or regularise the problem; the inputs' last bits decide the answer.",
                found, standing="candidate",
            )  # fmt: skip


def _measured(evidence: Evidence, inside: list[Step]) -> dict[str, object] | None:
    """{backward_error, condition_number, ...} where the problem is to blame."""
    table = evidence.values(next(s for s in inside if s.op == "concatenate").id)
    n, x = table.shape[0], evidence.values(inside[-1].id)
    if n > _LARGEST or not np.isfinite(x).all() or x.shape[0] != n:
        return None
    a, b = table[:, :n], table[:, n:]
    residual = _residual(a, x, b)
    u = evidence.format(inside[-1].id).u
    eta = float(residual / (np.abs(a).max() * np.abs(x).max() * n))
    condition = _condition(a)
    if eta > n * u or condition < _ILL / u:
        return None
    singular = not np.isfinite(condition)
    return {"backward_error": eta, "condition_number": condition, "unit_roundoff": u, "singular": singular,
            "note": "rounding the inputs alone changes the answer as much"}  # fmt: skip


def _residual(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    """max |b - a x|, exactly."""
    exact = [[Fraction(v) for v in row] for row in x.tolist()]
    worst = Fraction(0)
    for i, row in enumerate(a.tolist()):
        coefficients = [Fraction(v) for v in row]
        for j in range(x.shape[1]):
            product = sum(c * exact[k][j] for k, c in enumerate(coefficients))
            worst = max(worst, abs(Fraction(float(b[i, j])) - product))
    return float(worst)


def _condition(a: np.ndarray) -> float:
    """max-norm condition number from the exact inverse; infinite for a singular matrix."""
    n = a.shape[0]
    table = [[Fraction(v) for v in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(a.tolist())]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(table[i][k]))
        if table[pivot][k] == 0:
            return float("inf")
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i in range(n):
            if i != k:
                table[i] = [v - table[i][k] * w for v, w in zip(table[i], table[k], strict=True)]
    inverse = max(sum(abs(v) for v in row[n:]) for row in table)
    return float(inverse * max(sum(abs(Fraction(v)) for v in row) for row in a.tolist()))
