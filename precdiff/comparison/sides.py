"""Which side of the limit an element is on, once what holds under every standard is applied to a judgement.

This file knows elements and judgements, no standard's rule.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from precdiff.comparison.elements import Elements
from precdiff.comparison.standard import Judgement
from precdiff.formats import Array


def special(elements: Elements, judgement: Judgement) -> Judgement:
    """Apply what holds under every standard to the elements that are not number against number."""
    if elements.numbers is None:
        return judgement
    over, maybe = judgement.over & elements.numbers, judgement.maybe & elements.numbers
    if elements.mismatched is not None:
        over |= elements.mismatched
    if elements.doubtful is not None:
        over, maybe = over & ~elements.doubtful, maybe | elements.doubtful
    excused = None if judgement.excused is None else judgement.excused & elements.numbers
    return replace(judgement, over=over, maybe=maybe, excused=excused)


def ranks(elements: Elements, judgement: Judgement) -> tuple[Array | None, ...]:
    """Masks of the worst elements, most serious first: mismatched, beyond, undecided, merely inexact."""
    over, mismatched = judgement.over, elements.mismatched
    if mismatched is not None:
        mismatched = mismatched & over
        over = over & ~mismatched
    rest = (elements.distance > 0.0) & ~judgement.over & ~judgement.maybe
    for aside in (elements.skipped, judgement.excused):
        rest = rest if aside is None else rest & ~aside
    return mismatched, over, judgement.maybe, rest


def needed(elements: Elements, judgement: Judgement, beyond: Array) -> float:
    """The smallest limit, or factor of the limits, under which the elements beyond would pass; inf where none does."""
    if elements.mismatched is not None and (elements.mismatched & beyond).any():
        return float("inf")
    error, limit = judgement.error[beyond], judgement.limit
    if np.ndim(limit) == 0:
        return float(error.max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float((error / np.broadcast_to(limit, judgement.over.shape)[beyond]).max())
