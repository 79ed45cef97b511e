"""What should have happened: certified references, a-priori bounds, spot checks."""

from precdiff.reference.accumulation import accumulation_factor, accumulator, length, summed, terms
from precdiff.reference.bounds import bound
from precdiff.reference.ladder import BACKENDS, local, storage, total
from precdiff.reference.reference import Reference, undecided
from precdiff.reference.restrict import isolated
from precdiff.reference.spotcheck import spot_check

__all__ = [
    "BACKENDS",
    "Reference",
    "accumulation_factor",
    "accumulator",
    "bound",
    "isolated",
    "length",
    "local",
    "spot_check",
    "storage",
    "summed",
    "terms",
    "total",
    "undecided",
]
