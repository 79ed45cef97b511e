"""The ladder of certified references: interval -> double-double -> ball -> mpmath (DESIGN 3, "Certified").

Every rung's result contains the truth, so they can be mixed element by element: an element keeps the first rung that
knows it to 0.01 ULP of the target format (or to the `doubt` that is given, such as how it is rounded), and only the
others climb, with their ancestors: elementwise tensors of one shape together, at the elements still open in any of
them. What the last rung leaves open is `undecided`.

`mpmath` forces mpmath for everything: two precisions, radius 4 times their difference, status `estimated`. "Raise the
precision until it stops changing" alone is unsound (Kahan's H), which is why the rungs are enclosures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import Format, get_format
from precdiff.machine import BallMachine, DoubleDoubleMachine, IntervalMachine, Machine, MpMachine, RealArray, Tensor
from precdiff.machine.realarray import FINITE, UNKNOWN
from precdiff.reference.reference import Reference, undecided
from precdiff.reference.restrict import elementwise_tensors, isolated, restricted
from precdiff.trace import Trace, evaluate

BACKENDS = ("auto", "mpmath")

#: which elements of a tensor have to climb on, given its format
Doubt: TypeAlias = Callable[[RealArray, Format], np.ndarray]

#: precisions of the ball rung, in bits; the last is the cap
BALL_BITS = (128, 400, 1200)


def total(
    trace: Trace, wanted: Iterable[str] | None = None, backend: str = "auto", doubt: Doubt = undecided
) -> dict[str, Reference]:
    """Ideal mathematics from the input bits, float casts ignored, for the tensors `wanted` (default: every step's)."""
    return _references(trace, wanted, backend, "ignored", doubt)


def storage(trace: Trace, wanted: Iterable[str] | None = None, backend: str = "auto") -> dict[str, Reference]:
    """Ideal arithmetic, declared float casts kept."""
    return _references(trace, wanted, backend, "rounded")


def local(trace: Trace, wanted: Iterable[str] | None = None, backend: str = "auto") -> dict[str, Reference]:
    """Each step's op, exactly, on the step's own recorded inputs. A cast to a float format is the identity there, so
    its local error is its rounding.
    """
    chosen = set(wanted) if wanted is not None else {s.id for s in trace.steps}
    return {
        s.id: _references(isolated(trace, s), [s.id], backend, "ignored")[s.id] for s in trace.steps if s.id in chosen
    }


def _references(
    trace: Trace, wanted: Iterable[str] | None, backend: str, casts: str, doubt: Doubt = undecided
) -> dict[str, Reference]:
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    tensors = [s.id for s in trace.steps] if wanted is None else list(wanted)
    return _by_mpmath(trace, tensors, casts) if backend == "mpmath" else _climb(trace, tensors, casts, doubt)


def _rungs(casts: str) -> Iterator[Machine]:
    yield IntervalMachine(casts)
    yield DoubleDoubleMachine(casts)
    for bits in BALL_BITS:
        yield BallMachine(bits, casts)


def _climb(trace: Trace, tensors: Collection[str], casts: str, doubt: Doubt) -> dict[str, Reference]:
    found: dict[str, Reference] = {}
    open_ = {id: np.ones(trace.values[id].shape, bool) for id in tensors}
    for machine in _rungs(casts):
        if not open_:
            break
        for id, (mask, values) in _on(machine, trace, open_).items():
            found[id] = _merged(found.get(id), mask, values, machine)
        still = {id: doubt(found[id].values, get_format(trace.formats[id])) for id in open_}
        open_ = {id: mask for id, mask in still.items() if mask.any()}
    return {id: _settled(trace, id, found[id]) for id in tensors}


def _on(machine: Machine, trace: Trace, open_: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, RealArray]]:
    """(mask, values of the whole shape, meaningful at the mask) for every open tensor."""
    results = {}
    for tensors, mask in _groups(trace, open_):
        part = trace if mask.all() else restricted(trace, tensors, mask)
        found = evaluate(part, machine, tensors)
        for id in tensors:
            values = machine.reals(found[id])
            values = values if mask.all() else _scattered(values, mask)
            _check_shape(trace, id, values)
            results[id] = open_[id], values
    return results


def _check_shape(trace: Trace, id: str, values: RealArray) -> None:
    if values.hi.shape != trace.values[id].shape:
        recorded = f"recorded are values of shape {trace.values[id].shape}"
        raise PrecDiffError(f"step {id!r} gives the shape {values.hi.shape}, {recorded}; the dump is damaged")


def _groups(trace: Trace, open_: Mapping[str, np.ndarray]) -> list[tuple[list[str], np.ndarray]]:
    """Open tensors to be evaluated together: elementwise ones of a shape at the union of their open elements, the
    others, and those with nothing known, as a whole.
    """
    elementwise = elementwise_tensors(trace)
    unions: dict[tuple[int, ...], np.ndarray] = {}
    for id in elementwise & open_.keys():
        unions[open_[id].shape] = unions.get(open_[id].shape, False) | open_[id]
    partial = {shape: mask for shape, mask in unions.items() if not mask.all()}
    parts = {shape: [id for id in open_ if id in elementwise and open_[id].shape == shape] for shape in partial}
    whole = [id for id in open_ if not any(id in part for part in parts.values())]
    groups = [(part, partial[shape]) for shape, part in parts.items()]
    return [*groups, (whole, np.ones((), bool))] if whole else groups


def _scattered(values: RealArray, mask: np.ndarray) -> RealArray:
    planes = []
    for plane in (values.hi, values.lo, values.radius, values.kind):
        full = np.zeros(mask.shape, plane.dtype)
        full[mask] = plane
        planes.append(full)
    return RealArray(*planes)


def _merged(before: Reference | None, mask: np.ndarray, values: RealArray, machine: Machine) -> Reference:
    known = mask & (values.kind != UNKNOWN)
    kept = values if before is None else before.values.where(known, values)
    return Reference(kept, str(getattr(machine, "name", "")), int(getattr(machine, "bits", 0)), "certified")


def _settled(trace: Trace, id: str, reference: Reference) -> Reference:
    doubt = undecided(reference.values, get_format(trace.formats[id]))
    status = "undecided" if doubt.any() else "certified"
    return Reference(reference.values, reference.backend, reference.bits, status)  # type: ignore[arg-type]  # a Status


def _by_mpmath(trace: Trace, tensors: Collection[str], casts: str) -> dict[str, Reference]:
    coarse, fine = (evaluate(trace, MpMachine(bits, casts), tensors) for bits in (200, 400))
    return {id: _estimate(coarse[id], fine[id]) for id in tensors}


def _estimate(coarse: Tensor, fine: Tensor) -> Reference:
    rough, values = coarse.machine.reals(coarse), fine.machine.reals(fine)
    with np.errstate(invalid="ignore"):
        difference = np.abs((rough.hi - values.hi) + (rough.lo - values.lo))
        # the pair hi + lo holds 106 bits of mpmath's 400
        own = 2.0**-105 * np.abs(values.hi)
    radius = np.where(values.kind == FINITE, 4 * difference + np.where(values.lo == 0, 0.0, own), 0.0)
    kind = np.where(rough.kind == values.kind, values.kind, UNKNOWN).astype(np.uint8)
    return Reference(RealArray(values.hi, values.lo, radius, kind), "mpmath", 400, "estimated")
