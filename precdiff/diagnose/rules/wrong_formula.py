"""wrong_formula: the device computes something else: a scale, another constant, a term left out.

Precision-independent: the deviation is an exact function of the true values (a ratio, one term), far above rounding.
Source: research note E1, 22 ("the same in fp64: not numerical").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from precdiff import reference
from precdiff.diagnose.deviation import FEW, Deviation
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.noise import applies
from precdiff.diagnose.rule import Changes, Hypothesis, cause_rule, imitation
from precdiff.diagnose.rules.constant_truncated import shortened
from precdiff.formats import ulp
from precdiff.ops.reductions import axes_of
from precdiff.trace import Change, cone

#: of the error, what exact arithmetic has to leave
_PRECISION_INDEPENDENT = 0.9
#: of the deviations' energy, what a missing term may leave to be named without a replay
_EXPLAINED = 0.1
#: bits that a factor's evidence has to exceed those of the factor by
_SURPLUS = 5.0
_RATIOS = (0.5, 2.0, 3.0, 10.0, 0.1, 1.5, 1 / 3, 4.0, 0.25, 100.0, 0.01)


@cause_rule(
    "wrong_formula", rank=60, groups=("finite", "nonfinite"),
    definition="the kernel's own source in exact arithmetic misses its reference as far as the device does",
)  # fmt: skip
def other_formula(evidence: Evidence) -> Iterator[Hypothesis]:
    """The whole kernel, exactly: where that leaves the error, no precision is to blame."""
    problem = evidence.problem
    if problem.intended is None or problem.before <= 0:
        return
    after = problem.statistic(evidence.exact(problem.tensor).values())
    if after >= _PRECISION_INDEPENDENT * problem.before:
        region = cone(evidence.trace, problem.tensor)
        yield Hypothesis(
            problem.tensor, region, [problem.tensor], (), "Compare the formula with its reference: no precision helps.",
            {"error_in_exact_arithmetic": after, "error_as_recorded": problem.before}, standing="candidate",
        )  # fmt: skip


def ratio(found: Deviation) -> float | None:
    """The one factor between the recorded and the exact values (least squares); None where there is none.

    It has to leave no more than twice the declared arithmetic's own error, and to differ from 1 by far more than that.
    """
    if not found.format.is_float or found.lost.any():
        return None
    exact = found.exact.hi + found.exact.lo
    usable = np.isfinite(exact) & np.isfinite(found.actual)
    actual, exact, declared = (np.asarray(v, np.float64)[usable] for v in (found.actual, exact, found.declared))
    with np.errstate(all="ignore"):
        size = float(np.sqrt(np.sum(exact**2)))
        factor = float(np.sum(actual * exact) / size**2)
        own = float(np.sqrt(np.sum((declared - exact) ** 2))) + 0.5 * found.format.u * size + _doubt(found, usable)
        left = float(np.sqrt(np.sum((actual - factor * exact) ** 2)))
    if not np.isfinite(factor) or factor == 0 or left > 2 * own * max(1.0, abs(factor)):
        return None
    if abs(factor - 1) <= _one_sided(found):
        return None
    if not _evident(found, factor) or found.where[usable].mean() <= 0.5:
        return None
    return factor if abs(factor - 1) * size > 8 * own else None


def _evident(found: Deviation, factor: float) -> bool:
    """Whether the results say more than it takes to write the factor: one result is some factor times any other."""
    said = int(np.count_nonzero(found.where)) * found.format.p
    written = np.format_float_positional(next(_measured(found), _simple(factor)), trim="-").strip("0.-")
    return said >= len(written) * np.log2(10) + _SURPLUS


def _doubt(found: Deviation, usable: np.ndarray) -> float:
    """What is not known of values that were rebuilt."""
    return 0.0 if found.rebuilt is None else float(np.sqrt(np.sum(found.rebuilt[1][usable] ** 2)))


def _one_sided(found: Deviation) -> float:
    """What roundings of a sum that all go one way may make of its factor: n u, as long as that is small."""
    if not applies(found.step):
        return 0.0
    return min(0.25, reference.length(found.trace, found.step) * reference.accumulator(found.trace, found.step).u)


def dropped(found: Deviation) -> int | None:
    """The term whose absence explains the deviations of a sum or product of matrices."""
    term, left = nearest_term(found)
    return term if left < _EXPLAINED else None


def nearest_term(found: Deviation) -> tuple[int | None, float]:
    """(the term whose absence comes nearest to the deviations, what of their energy it leaves)."""
    if found.step.op not in ("sum", "matmul") or found.lost.any():
        return None, 1.0
    missing = (found.exact.hi - found.actual.astype(np.float64)).ravel()
    terms = _terms(found)
    if terms is None or not np.isfinite(missing).all():
        return None, 1.0
    with np.errstate(all="ignore"):
        left = np.sum((terms - missing[:, None]) ** 2, axis=0) / np.sum(missing**2)
    best = int(np.argmin(left))
    return best, float(left[best])


def _terms(found: Deviation) -> np.ndarray | None:
    """(outputs, terms) in fp64, where that is small."""
    values, shape = found.trace.values, found.declared.shape
    x = np.asarray(values[found.step.inputs[0]], np.float64)
    if found.step.op == "sum":
        axes = axes_of(x.shape, found.step.params.get("axis"))
        rest = [i for i in range(x.ndim) if i not in axes]
        return np.transpose(x, [*rest, *axes]).reshape(found.declared.size, -1)
    y = np.asarray(values[found.step.inputs[1]], np.float64)
    if found.declared.size * x.shape[-1] > 2**22:
        return None
    products = x[..., :, None, :] * np.swapaxes(y, -1, -2)[..., None, :, :]
    return np.broadcast_to(products, (*shape, x.shape[-1])).reshape(-1, x.shape[-1])


def _recognised(found: Deviation) -> str:
    if found.step.op == "constant":
        said = f"the constant is {float(found.actual)!r} in place of {float(found.exact.hi)!r}"
        return "" if shortened(found) else said
    term = dropped(found)
    if term is not None:
        return f"the deviations are what term {term} of the sum would have added"
    factor = ratio(found)
    if factor is not None and found.where.sum() >= min(FEW, found.where.size):
        return f"the results are {factor:.9g} times what they should be, on every element alike"
    return ""


@imitation(
    "wrong_formula", rank=25, recognised=_recognised,
    remedy="Compare the formula with the source: the difference is the same in every precision.",
)  # fmt: skip
def wrong_formula(found: Deviation) -> Iterator[Changes]:
    """The factor that was found, usual ones, a missing term; for a constant, what stands there."""
    if found.format.is_float:
        yield from _unseen(found) if found.blind else _seen(found)


def _seen(found: Deviation) -> Iterator[Changes]:
    step = found.step
    if step.op == "constant":
        if not shortened(found):
            yield {step.id: Change("constant", float(found.actual))}
        return
    (term, left), factor = nearest_term(found), ratio(found)
    if term is not None and left < 1:
        yield {step.id: Change("drop_term", term)}
    if factor is not None:
        usual = sorted(_RATIOS, key=lambda r: abs(r / factor - 1))[:2]
        for value in dict.fromkeys([*_measured(found), _simple(factor), *usual]):
            yield {step.id: Change("scale", value)}


def _unseen(found: Deviation) -> Iterator[Changes]:
    step = found.step
    for value in _RATIOS:
        constant = step.op == "constant"
        yield {step.id: Change("constant", value * float(found.exact.hi)) if constant else Change("scale", value)}
    if step.op in ("sum", "matmul"):
        last = reference.length(found.trace, step) - 1
        for term in dict.fromkeys([0, last, *range(1, last)]):
            yield {step.id: Change("drop_term", term)}


def _measured(found: Deviation) -> Iterator[float]:
    """The shortest decimal by which every declared result becomes the recorded one, rounded once; none where none does.

    An element says that the factor lies within half an ulp of recorded / declared; all of them have to agree.
    """
    declared, actual = (np.asarray(v, np.float64).ravel() for v in (found.declared, found.actual))
    usable = np.isfinite(declared) & np.isfinite(actual) & (np.abs(declared) >= found.format.min_normal)
    ratios = actual[usable] / declared[usable]
    half = 0.5 * np.asarray(ulp(actual[usable], found.format)) / np.abs(declared[usable])
    low, high = np.max(ratios - half, initial=-np.inf), np.min(ratios + half, initial=np.inf)
    if np.isfinite(low) and low < high:
        middle = float(low + high) / 2
        yield next((v for d in range(1, 17) if low < (v := float(f"{middle:.{d}g}")) < high), middle)


def _simple(factor: float) -> float:
    """The shortest decimal within the factor's own uncertainty."""
    return next((v for d in range(1, 7) if abs((v := float(f"{factor:.{d}g}")) / factor - 1) < 2e-3 / 4**d), factor)
