"""How far apart two tensors are, by several metrics, and whether that is within a standard.

Read result.py (what is said about a tensor), expected.py, elements.py (the definitions), metric.py, standard.py and
compare.py.
"""

from precdiff.comparison.compare import Compared, Identity, compare_pieces, compare_tensor
from precdiff.comparison.elements import Conventions
from precdiff.comparison.expected import (
    FINITE,
    NAN,
    NEGATIVE_INF,
    POSITIVE_INF,
    UNDECIDED,
    ErrorKind,
    Expected,
    holds_reals,
)
from precdiff.comparison.metric import METRICS
from precdiff.comparison.overall import over_tensors, overall, require_compared
from precdiff.comparison.pairing import Pair, Pairing, check_shapes, pair
from precdiff.comparison.pieces import Piece
from precdiff.comparison.result import (
    Errors,
    Nonfinite,
    ReferenceInfo,
    TensorComparison,
    Verdict,
    Waived,
    Worst,
    worst_ulp,
)
from precdiff.comparison.scope import Scope, TensorLimit, limit_of
from precdiff.comparison.standard import (
    STANDARDS,
    TOLERANCES,
    Limits,
    Standard,
    check_limits,
    check_taken,
    get_standard,
)
from precdiff.comparison.streamed import compare_streamed

__all__ = [
    "FINITE",
    "METRICS",
    "NAN",
    "NEGATIVE_INF",
    "POSITIVE_INF",
    "STANDARDS",
    "TOLERANCES",
    "UNDECIDED",
    "Compared",
    "Conventions",
    "ErrorKind",
    "Errors",
    "Expected",
    "Identity",
    "Limits",
    "Nonfinite",
    "Pair",
    "Pairing",
    "Piece",
    "ReferenceInfo",
    "Scope",
    "Standard",
    "TensorComparison",
    "TensorLimit",
    "Verdict",
    "Waived",
    "Worst",
    "check_limits",
    "check_shapes",
    "check_taken",
    "compare_pieces",
    "compare_streamed",
    "compare_tensor",
    "get_standard",
    "holds_reals",
    "limit_of",
    "over_tensors",
    "overall",
    "pair",
    "require_compared",
    "worst_ulp",
]
