"""Faults, injected: what can be wrong with a device, each a Change of a clean run, drawn from a seeded generator.

Truth by construction: the step is the one that was changed, the causes those the kind of fault may be called. `listed`
draws parameters that some imitation lists, otherwise parameters that none does. A fault counts only where its effect is
above what 29 legal orders of all sums do to the outputs (mean + 5 sigma); what moves them less is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from precdiff.device.orders import AdjacentTree, Groups, Pairwise, Sequential
from precdiff.diagnose.noise import applies
from precdiff.errors import PrecDiffError
from precdiff.formats import get_format, to_bits, ulp
from precdiff.ops import OPS, Elementwise
from precdiff.reference import length
from precdiff.trace import Change, Region, Step, Trace, replay

Changes = dict[str | Region, Change]
#: (clean run, step, generator, listed) -> the change, or None where the step cannot have the fault
Drawn = Callable[[Trace, Step, np.random.Generator, bool], Changes | None]

#: runs in which a kind of fault is sought before another kind is drawn
_RUNS = 12
_ARITHMETIC = ("add", "sub", "mul", "div", "fma")
_NARROWER = {"fp32": ("fp16", "bf16", "tf32"), "fp16": ("bf16",), "bf16": ()}


@dataclass(frozen=True)
class Kind:
    """A kind of fault and the causes that name it."""

    name: str
    causes: tuple[str, ...]
    draw: Drawn


@dataclass(frozen=True)
class Fault:
    """An injected fault: `faulty` is the run of the device that has it."""

    kind: str
    causes: tuple[str, ...]
    step: str
    changes: Changes
    clean: Trace
    faulty: Trace


def _pick(rng: np.random.Generator, values: tuple[object, ...]) -> object:
    return values[int(rng.integers(len(values)))] if values else None


def _digits(rng: np.random.Generator, format: str, listed: bool) -> str | None:
    """A narrower format, or a number of significand bits that no format has."""
    if listed:
        return _pick(rng, _NARROWER.get(format, ()))  # type: ignore[return-value]
    p = get_format(format).p
    bits = [b for b in range(4, p - 2) if b not in (8, 11, 12)]
    return f"{format}@p{int(rng.choice(bits))}" if bits else None


def _accumulator(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    from precdiff.reference import accumulator

    if not applies(step):
        return None
    name = _digits(rng, accumulator(trace, step).name, listed)
    return {step.id: Change("accumulator", name)} if name else None


def _toward_zero(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    direction = "toward-zero" if listed else str(rng.choice(["up", "down"]))
    return {step.id: Change("direction", direction)} if _float(step) and step.op != "constant" else None


def _stage(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    name = _digits(rng, step.format, listed) if _float(step) and step.op not in ("constant", "cast") else None
    return {step.id: Change("format", name)} if name else None


def _table(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    op = OPS[step.op]
    function = isinstance(op, Elementwise) and not op.exact and not op.result and step.op not in _ARITHMETIC
    if not function or not _float(step) or step.format == "bf16":
        return None
    return {step.id: Change("approximation", "bf16" if listed else f"{step.format}@p{int(rng.integers(4, 8))}")}


def _dropped(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    return {step.id: Change("drop_term", int(rng.integers(length(trace, step))))} if applies(step) else None


def _constant(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    value = _number(step)
    return {step.id: Change("constant", value * (3.0 if listed else rng.uniform(4.1, 7.9)))} if value else None


def _scale(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    if not _float(step) or step.op in ("constant", "cast"):
        return None
    return {step.id: Change("scale", float(_pick(rng, (0.5, 2.0, 10.0))) if listed else float(rng.uniform(1.05, 1.9)))}  # type: ignore[arg-type]


def _truncated(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    value = _number(step) if step.format == "fp32" else 0.0
    if not value:
        return None
    places = int(np.floor(np.log10(abs(value))))
    if listed:
        power = 10.0 ** (int(rng.integers(2, 5)) - places)
        return {step.id: Change("constant", float(np.trunc(value * power) / power))}
    mantissa, exponent = np.frexp(value)
    bits = int(rng.choice([9, 13, 14, 15, 17]))
    return {step.id: Change("constant", float(np.trunc(mantissa * 2.0**bits) * 2.0 ** (exponent - bits)))}


def _twice(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    # through twice the digits and two more it would be innocent (Figueroa 1995)
    through = {"fp16": "hf32", "bf16": "tf32"} if listed else {"fp16": "fp32@p13", "bf16": "fp32@p10"}
    fits = _float(step) and step.op not in ("constant", "sum", "matmul") and step.format in through
    return {step.id: Change("cast", {"through": [through[step.format]]})} if fits else None


def _fma(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    made = {s.id: s.op for s in trace.steps}
    products = [i for i in step.inputs if made.get(i) == "mul"] if step.op in ("add", "sub") else []
    return {Region((products[0], step.id)): Change("fuse")} if products and listed else None


def _away(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    return {step.id: Change("tie_rule", "nearest-away")} if _float(step) and step.op != "constant" and listed else None


def _flush(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    return {step.id: Change("subnormals", "flush")} if _float(step) and step.op != "constant" else None


def _squares(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    square = step.op == "mul" and len(set(step.inputs)) == 1 and step.format in ("fp32", "bf16")
    return {step.id: Change("format", "fp16")} if square else None


def _operand(trace: Trace, step: Step, rng: np.random.Generator) -> tuple[int, int] | None:
    """(number, size) of a float operand that has room for tiles."""
    sizes = [(i, trace.values[t].size) for i, t in enumerate(step.inputs) if get_format(trace.formats[t]).is_float]
    large = [(i, size) for i, size in sizes if size >= 48]
    return large[int(rng.integers(len(large)))] if large and _float(step) else None


def _tile(rng: np.random.Generator, size: int, listed: bool) -> tuple[int, int]:
    fitting = [n for n in ((16, 32, 64) if listed else (11, 23, 37)) if 2 * n <= size]
    width = int(rng.choice(fitting))
    start = int(rng.integers(1, size // width)) * width
    return start, min(size, start + width)


def _stale(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    operand = _operand(trace, step, rng)
    if operand is None:
        return None
    start, stop = _tile(rng, operand[1], listed)
    begin = start - (stop - start) if listed else int(rng.integers(0, max(1, start - 3)))
    where = {"input": operand[0], "where": [start, stop], "from": [max(0, begin), max(0, begin) + stop - start]}
    return {step.id: Change("reads", where)}


def _poison(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    operand = _operand(trace, step, rng)
    if operand is None:
        return None
    width = int(rng.choice([16, 32] if listed else [5, 11, 19]))
    value = {} if listed else {"value": float(rng.choice([1e4, -3.0e4]))}
    where = {"input": operand[0], "where": [operand[1] - width, operand[1]], "version": "poison", **value}
    return {step.id: Change("reads", where)}


def _unstable(trace: Trace, step: Step, rng: np.random.Generator, listed: bool) -> Changes | None:
    return {step.id: Change("tie_rule", "last")} if step.op in ("argsort", "argmax") and listed else None


def _number(step: Step) -> float:
    """What a constant holds; 0 where it is none, or no number that could be another."""
    value = float(step.params["value"]) if step.op == "constant" and _float(step) else 0.0
    return value if np.isfinite(value) else 0.0


def _float(step: Step) -> bool:
    return get_format(step.format).is_float


KINDS: tuple[Kind, ...] = (
    Kind("wrong accumulator", ("intermediate_too_narrow", "stagnation"), _accumulator),
    Kind("rounds one way", ("biased_rounding",), _toward_zero),
    Kind("narrowed stage", ("intermediate_too_narrow",), _stage),
    Kind("table of few bits", ("intermediate_too_narrow",), _table),
    Kind("dropped product", ("wrong_formula",), _dropped),
    Kind("eps times three", ("wrong_formula",), _constant),
    Kind("wrong scale", ("wrong_formula",), _scale),
    Kind("truncated constant", ("constant_truncated",), _truncated),
    Kind("double rounding", ("wrong_rounding_cast",), _twice),
    Kind("fma contraction", ("wrong_rounding_cast",), _fma),
    Kind("ties away", ("wrong_rounding_cast",), _away),
    Kind("flush to zero", ("underflow_ftz",), _flush),
    Kind("squares in fp16", ("overflow",), _squares),
    Kind("stale tile", ("missing_sync",), _stale),
    Kind("poisoned tail", ("uninitialised_memory",), _poison),
    Kind("unstable tie", ("tie_flip",), _unstable),
)


def inject(clean: Trace, kind: Kind, rng: np.random.Generator, listed: bool = True) -> Fault | None:
    """A fault of that kind somewhere in the run, with an effect on its outputs; None where the run can have none."""
    for step in (clean.steps[i] for i in rng.permutation(len(clean.steps))):
        changes = kind.draw(clean, step, rng, listed)
        made = None if changes is None else _effective(clean, step, changes)
        if made is not None and changes is not None:
            infinite = _overflows(clean, made, step.id)
            if infinite or kind.causes != ("overflow",):
                # a narrow stage that leaves its range is an overflow as well
                also = ("overflow",) if infinite and "intermediate_too_narrow" in kind.causes else ()
                return Fault(kind.name, (*kind.causes, *also), step.id, changes, clean, made)
    return None


def _overflows(clean: Trace, faulty: Trace, step: str) -> bool:
    one, other = (np.asarray(t.values[step], np.float64) for t in (clean, faulty))
    return bool((np.isinf(other) & np.isfinite(one)).any())


def _effective(clean: Trace, step: Step, changes: Changes) -> Trace | None:
    """The faulty run, where its outputs are further from the clean ones than legal orders bring them."""
    try:
        with np.errstate(all="ignore"):
            faulty = replay(clean, changes)
    except PrecDiffError:
        return None
    if not _differs(clean, faulty, step.id):
        return None
    return faulty if _distance(clean, faulty) > legal_spread(clean) else None


def _distance(clean: Trace, other: Trace) -> float:
    """RMS distance of the outputs in ulps, each capped at 2^p; of integers and NaN, the cap."""
    found = []
    for id in clean.outputs.values():
        format = get_format(clean.formats[id])
        one, two = (np.asarray(t.values[id], np.float64) for t in (clean, other))
        with np.errstate(all="ignore"):
            size = ulp(np.where(np.isfinite(one), one, 1.0), format) if format.is_float else np.ones(one.shape)
            apart = np.minimum(np.nan_to_num(np.abs(two - one) / size, nan=2.0**format.p), 2.0**format.p)
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        found.append(np.ravel(np.where(same, 0.0, apart)))
    return float(np.sqrt(np.mean(np.square(np.concatenate(found)))))


#: the run is held beside its number: no other may take its id
_SPREADS: dict[int, tuple[Trace, float]] = {}


def legal_spread(clean: Trace) -> float:
    """Mean + 5 sigma of what 29 legal orders of all its sums move the outputs by."""
    if id(clean) not in _SPREADS:
        sums = tuple(s.id for s in clean.steps if applies(s))
        orders = [Sequential(), Pairwise(), AdjacentTree(), *(Groups(k) for k in range(2, 28))][:29] if sums else []
        moved = [_distance(clean, replay(clean, {s: Change("order", order) for s in sums})) for order in orders]
        _SPREADS[id(clean)] = clean, float(np.mean(moved) + 5 * np.std(moved)) if moved else 0.0
    return _SPREADS[id(clean)][1]


def _differs(one: Trace, other: Trace, id: str) -> bool:
    format = get_format(one.formats[id])
    return bool((to_bits(one.values[id], format) != to_bits(other.values[id], format)).any())


def faults(clean: list[Trace], rng: np.random.Generator, listed: bool = True) -> Iterator[Fault]:
    """Faults without end: a kind, a run, a step."""
    while True:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        for number in rng.permutation(len(clean))[:_RUNS]:
            made = inject(clean[int(number)], kind, rng, listed)
            if made is not None:
                yield made
                break
