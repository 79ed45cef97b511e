"""Noise or bug: could another order of the declared arithmetic have given this sum or product of matrices?

Statistic of a tensor (Higham, Accuracy and Stability, 3.1: componentwise backward error, in units of u):

    T = sqrt(mean over outputs of (|error| / (u sum |terms|))^2)        on at most 4,096 seeded outputs

An ensemble of legal orders (the declared order, in order and backwards, and random permutations of the terms added one
by one, pairwise, as a tree and in groups, all in the declared accumulator, products and directions) shows what rounding
alone gives. An order's T^2 is a mean of squares over outputs that count for

    N = (sum m_i)^2 / sum m_i^2,        m_i = mean over the ensemble of output i's squared scaled error

independent ones, so T^2 / s^2 lies below the chi-square quantile q(N) / N (Wilson and Hilferty 1931), s^2 the largest
mean T^2 of a kind of order. T beyond s sqrt(q(N) / N) at 5 sigma is not explainable by order. The z-score of T among
the ensemble, the a-priori bound gamma_n and the probabilistic one (about sqrt(n) u, Higham and Mary 2019) are shown
beside it. Needs inputs and the device's output only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff import reference
from precdiff.device.orders import AdjacentTree, Groups, Pairwise, Sequential, SummationOrder
from precdiff.formats import get_format
from precdiff.machine.realarray import FINITE
from precdiff.ops.reductions import axes_of
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Step, Trace

OUTPUTS = 4096
MEMBERS = 29
#: sigmas of the chi-square quantile: one false alarm in 3.5 million tensors, were the model exact
SIGMAS = 5.0
_KINDS: tuple[SummationOrder, ...] = (Sequential(), Pairwise(), AdjacentTree(), Groups(16))


@dataclass(frozen=True)
class NoiseVerdict:
    """`statistic`, `limit` and the bounds in units of u sum |terms| (RMS); `line` says it in words."""

    statistic: float
    limit: float
    z: float
    a_priori: float
    probabilistic: float
    bias: float
    outputs: int
    members: int
    consistent: bool

    @property
    def line(self) -> str:
        """One line."""
        said = "consistent with rounding in another order" if self.consistent else "not explainable by order"
        return (
            f"{said}: error {self.statistic:.3g} u sum|terms| (RMS of {self.outputs} outputs), orders give up to "
            f"{self.limit:.3g} (z {self.z:+.1f}); a priori {self.a_priori:.3g}, probabilistic {self.probabilistic:.3g}"
        )

    def to_json(self) -> dict[str, Any]:
        """The row, with the line."""
        return {**dataclasses.asdict(self), "line": self.line}


def applies(step: Step) -> bool:
    """Whether the step is a sum or a product of matrices of floats."""
    return step.op in ("sum", "matmul") and get_format(step.format).is_float


def noise_verdict(
    trace: Trace, step_id: str, actual: np.ndarray, members: int = MEMBERS, seed: int = 0
) -> NoiseVerdict:
    """The verdict on `actual` as the step's result on its recorded inputs."""
    sums = _Sums(trace, trace.step(step_id), seed)
    groups = sums.ensemble(members)
    everything = np.concatenate(groups)
    squares = np.square(everything)
    typical = float(max(np.mean(np.square(group)) for group in groups))
    limit = np.sqrt(typical * _quantile(_independent(np.mean(squares, axis=0))))
    found = sums.scaled(np.ravel(actual)[sums.chosen])
    statistic, own = _rms(found), np.sqrt(np.mean(squares, axis=1))
    return NoiseVerdict(
        statistic=statistic, limit=float(limit), z=_score(statistic, own),
        a_priori=sums.a_priori, probabilistic=sums.probabilistic, bias=float(np.mean(found)) if found.size else 0.0,
        outputs=int(sums.chosen.size), members=len(everything), consistent=bool(statistic <= limit),
    )  # fmt: skip


def ensemble(trace: Trace, step_id: str, members: int = MEMBERS, seed: int = 0) -> list[np.ndarray]:
    """The step's outputs (at most 4,096, seeded) in legal orders of the declared arithmetic, on its recorded inputs."""
    sums = _Sums(trace, trace.step(step_id), seed)
    return [values for _, values in sums.members(members)]


def _score(value: float, others: np.ndarray) -> float:
    """Standard deviations from the others' mean; infinite where they are all one and this is not."""
    distance, spread = value - float(np.mean(others)), float(np.std(others))
    with np.errstate(over="ignore"):
        return float(np.float64(distance) / spread) if spread > 0 else np.inf * distance if distance else 0.0


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x)))) if x.size else 0.0


def _independent(means: np.ndarray) -> float:
    """How many outputs count."""
    top = float(np.max(means, initial=0.0))
    return float(np.sum(means / top) ** 2 / np.sum((means / top) ** 2)) if top > 0 else 1.0


def _quantile(n: float) -> float:
    """The upper quantile of chi-square / n at SIGMAS."""
    return float((1 - 2 / (9 * n) + SIGMAS * np.sqrt(2 / (9 * n))) ** 3)


class _Sums:
    """The chosen outputs of one step: their terms, what they should be, and what another order makes of them."""

    def __init__(self, trace: Trace, step: Step, seed: int) -> None:
        self.trace, self.step = trace, step
        self.rng = np.random.default_rng(seed)
        size = trace.values[step.id].size
        self.chosen = np.sort(self.rng.choice(size, min(OUTPUTS, size), replace=False))
        self.accumulator = reference.accumulator(trace, step)
        self.rounding = trace.profile.rounding(self.accumulator, step.op)
        self.length = reference.length(trace, step)
        exact = reference.local(trace, [step.id])[step.id].values
        self.hi, self.lo = np.ravel(exact.hi)[self.chosen], np.ravel(exact.lo)[self.chosen]
        self.finite = np.ravel(exact.kind)[self.chosen] == FINITE
        self.unit = self.accumulator.u * np.ravel(reference.terms(trace, step))[self.chosen]
        terms = _matmul_terms if step.op == "matmul" else _sum_terms
        self.operands = terms(trace, step, self.chosen)

    @property
    def a_priori(self) -> float:
        """gamma_n plus the output's rounding, in units."""
        u = self.accumulator.u
        gamma = self.length * u / (1 - self.length * u) if self.length * u < 1 else np.inf
        return float(gamma / u + self._delivery)

    @property
    def probabilistic(self) -> float:
        """sqrt(n) plus the output's rounding, in units."""
        return float(np.sqrt(self.length) + self._delivery)

    @property
    def _delivery(self) -> float:
        """The largest error of rounding an output once, in units; 0 where the accumulator is delivered as it is."""
        format = get_format(self.step.format)
        if format.p >= self.accumulator.p:
            return 0.0
        with np.errstate(all="ignore"):
            return float(np.nanmax(np.abs(self.hi) * format.u / self.unit, initial=0.0))

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Errors in units; what is no number in place of one is beyond everything."""
        with np.errstate(all="ignore"):
            error = (np.asarray(values, np.float64) - self.hi) - self.lo
            scaled = np.where(error == 0, 0.0, error / self.unit)
        usable = self.finite | ~np.isfinite(values)
        return np.where(np.isfinite(scaled), scaled, np.where(self.finite, np.finfo(np.float32).max, 0.0))[usable]

    def ensemble(self, members: int) -> list[np.ndarray]:
        """Scaled errors (members, outputs) by kind of order."""
        found: dict[str, list[np.ndarray]] = {}
        for kind, values in self.members(members):
            found.setdefault(kind, []).append(self.scaled(values))
        return [np.stack(rows) for rows in found.values()]

    def members(self, count: int) -> Iterator[tuple[str, np.ndarray]]:
        """(kind, outputs) of `count` legal orders, the declared one first."""
        straight = np.arange(self.operands[0].shape[-1])
        yield "declared", self._run(self._declared(), straight)
        yield "in order", self._run(Sequential(), straight)
        yield "backwards", self._run(Sequential(), straight[::-1])
        for number in range(count - 3):
            order = _KINDS[number % len(_KINDS)]
            yield order.kind, self._run(order, self.rng.permutation(straight))

    def _declared(self) -> SummationOrder:
        profile = self.trace.profile
        data = get_format(self.trace.formats[self.step.inputs[0]])
        return profile.matmul_order_for(data) if self.step.op == "matmul" else profile.sum_order.value

    def _run(self, order: SummationOrder, permutation: np.ndarray) -> np.ndarray:
        data = get_format(self.trace.formats[self.step.inputs[0]])
        moved = [x[..., permutation] for x in self.operands[:2]]
        with np.errstate(all="ignore"):
            if self.step.op == "sum":
                total = order.sum(moved[0], self.rounding, data=data, rng=self.rng)
            else:
                start = self.operands[2] if len(self.operands) == 3 else None
                product = self.trace.profile.matmul_product.value
                total = order.dot(moved[0], moved[1], self.rounding, product, c=start, data=data, rng=self.rng)
            if self.step.format == self.accumulator.name:
                return np.asarray(total)
            delivered = self.trace.profile.rounding(get_format(self.step.format), "cast")
            return np.asarray(round_array(total, delivered, self.rng))


def _sum_terms(trace: Trace, step: Step, chosen: np.ndarray) -> Sequence[np.ndarray]:
    x = trace.values[step.inputs[0]]
    axes = axes_of(x.shape, step.params.get("axis"))
    rest = [i for i in range(x.ndim) if i not in axes]
    rows = np.transpose(x, [*rest, *axes]).reshape(trace.values[step.id].size, -1)[chosen]
    accumulator = reference.accumulator(trace, step)
    return [round_array(rows, trace.profile.rounding(accumulator, "cast"))]


def _matmul_terms(trace: Trace, step: Step, chosen: np.ndarray) -> Sequence[np.ndarray]:
    a, b = (trace.values[i] for i in step.inputs[:2])
    shape = trace.values[step.id].shape
    a = np.broadcast_to(a, (*shape[:-2], *a.shape[-2:])).reshape(-1, *a.shape[-2:])
    b = np.broadcast_to(b, (*shape[:-2], *b.shape[-2:])).reshape(-1, *b.shape[-2:])
    batch, row, column = np.unravel_index(chosen, (a.shape[0], *shape[-2:]))
    found = [a[batch, row], b[batch, :, column]]
    if len(step.inputs) == 3:
        start = np.broadcast_to(trace.values[step.inputs[2]], shape).ravel()[chosen]
        found.append(round_array(start, Rounding(reference.accumulator(trace, step))))
    return found
