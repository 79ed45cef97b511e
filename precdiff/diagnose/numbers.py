"""One number explains all outputs: what a constant holds, or a factor on a step's results.

The number is fitted to the outputs (rebuilding.along); of the numbers they leave for it, the simplest (fewest digits,
binary or decimal) that gives the very bits is the one, else the one that comes nearest. A constant comes before a
factor: the product it enters has the factor, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from precdiff.diagnose.departure import Imitated, Told
from precdiff.diagnose.deviation import Deviation, deviation
from precdiff.diagnose.rebuilding import Rebuilt, along
from precdiff.diagnose.rule import IMITATIONS, Changes, Imitation
from precdiff.formats import get_format, to_bits
from precdiff.rounding import Rounding, round_array
from precdiff.trace import Change, Step, Trace

#: what one number must explain of n outputs' squared deviations: this over n (5 sigma of one regressor)
_SIGMA = 25.0
#: standard deviations within which the number is sought
_WITHIN = 3.0
#: numbers tried for a constant, numbers tried for a factor, and steps whose factor is tried
_NUMBERS, _FACTORS, _STEPS = 48, 6, 5
#: results that one number has to explain before it explains anything
_ENOUGH = 3
#: of the deviation's energy, what an imitation may leave that is named although bits differ
CLOSE = 0.02

Trial = Callable[[Imitation, Changes], Imitated | None]


def one_number(
    declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], steps: Sequence[Step], trial: Trial,
    end: float,
) -> tuple[Told | None, int]:  # fmt: skip
    """What one number tells, where that comes close to all outputs; and how many replays it took."""
    if _moved(declared, actual, outputs) < _ENOUGH:
        return None, 0
    best, spent = None, 0
    for one in _candidates(declared, actual, outputs, steps, end):
        told, replays = _simplest(declared, one, trial)
        spent += replays
        if told is not None and (best is None or told.made.left < best.made.left):
            best = told
        if best is not None and best.made.differing == 0:
            break
    return (None if best is None or best.made.left > CLOSE else replace(best, replays=spent)), spent


def _moved(declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str]) -> int:
    pairs = ((to_bits(t[o], declared.formats[o]) for t in (declared.values, actual)) for o in outputs)
    return sum(int(np.count_nonzero(one != other)) for one, other in pairs)


def _candidates(
    declared: Trace, actual: Mapping[str, np.ndarray], outputs: Sequence[str], steps: Sequence[Step], end: float
) -> Iterator[Rebuilt]:
    """Constants that explain some of the outputs; then the steps whose factor explains them best."""
    count, factors = sum(declared.values[o].size for o in outputs), []
    for step in sorted(steps, key=lambda step: step.op != "constant"):
        value = np.asarray(declared.values[step.id], np.float64)
        direction = np.ones(()) if step.op == "constant" else value
        one = along(declared, actual, outputs, step, direction) if direction.any() and time.monotonic() < end else None
        if one is not None and step.op == "constant" and _correlates(one, count):
            yield replace(one, values=value + one.values)
        if one is not None and step.op != "constant" and one.explains:
            factors.append(replace(one, values=1 + one.values))
    yield from sorted(factors, key=lambda one: one.left)[:_STEPS]


def _correlates(one: Rebuilt, count: int) -> bool:
    """Whether one number explains more of the outputs than any would by chance."""
    return one.before**2 - one.left**2 > min(1.0, _SIGMA / count) * one.before**2


def _simplest(declared: Trace, one: Rebuilt, trial: Trial) -> tuple[Told | None, int]:
    """The simplest number that gives the bits, else the one that comes nearest; and how many replays that took."""
    best, replays = None, 0
    kind, most = ("constant", _NUMBERS) if one.step.op == "constant" else ("scale", _FACTORS)
    for number in islice(simplest(float(one.values), _WITHIN * float(one.doubt)), most):
        seen = _seen(declared, one.step, number)
        cause = "" if seen is None else _cause(seen)
        made = trial(IMITATIONS[cause], {one.step.id: Change(kind, number)}) if cause else None
        replays += made is not None
        if seen is not None and made is not None and (best is None or made.left < best.made.left):
            why = f"of the numbers the outputs leave for its {kind}, {number!r} is the simplest that fits"
            best = Told(seen, made, why, replays)
            if made.differing == 0:
                break
    return best, replays


def _seen(declared: Trace, step: Step, number: float) -> Deviation | None:
    """The step as though the number had been recorded in it, or on all its results."""
    own = declared.values[step.id]
    with np.errstate(all="ignore"):
        meant = np.full(own.shape, number) if step.op == "constant" else own.astype(np.float64) * number
        held = round_array(meant, Rounding(get_format(step.format), overflow="saturate")).astype(own.dtype)
    return deviation(replace(declared, values={**declared.values, step.id: held}), step)


def _cause(seen: Deviation) -> str:
    """A constant that is off by little has been cut; whatever else stands there is another formula."""
    cut = seen.step.op == "constant" and IMITATIONS["constant_truncated"].recognised(seen)
    return "constant_truncated" if cut else "wrong_formula"


def simplest(value: float, doubt: float) -> Iterator[float]:
    """Numbers within `doubt` of a value, those of the fewest digits first: binary and decimal in turn.

    >>> list(islice(simplest(0.0447, 0.00004), 3))
    [0.0447, 0.04469, 0.04471]
    """
    seen: set[float] = set()
    for digits in range(1, 25):
        for number in (*_binary(value, doubt, digits), *_decimal(value, doubt, digits)):
            if number not in seen:
                seen.add(number)
                yield number


def _binary(value: float, doubt: float, digits: int) -> list[float]:
    unit = 2.0 ** (np.floor(np.log2(abs(value) or 1.0)) + 1 - digits)
    return [float(whole * unit) for whole in _multiples(value, doubt, unit)]


def _decimal(value: float, doubt: float, digits: int) -> list[float]:
    power = int(np.floor(np.log10(abs(value) or 1.0))) + 1 - digits
    wholes = _multiples(value, doubt, 10.0**power) if digits <= 9 else []
    return [float(f"{whole:.0f}e{power}") for whole in wholes]


def _multiples(value: float, doubt: float, unit: float) -> list[float]:
    """Whole numbers of units within doubt, the nearest first; none where those are too many to say anything."""
    low, high = np.ceil((value - doubt) / unit), np.floor((value + doubt) / unit)
    if not high - low <= _NUMBERS:
        return []
    return sorted(np.arange(low, high + 1).tolist(), key=lambda whole: abs(whole * unit - value))
