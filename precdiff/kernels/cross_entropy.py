"""cross_entropy(x, target): the mean over samples of -log softmax(x)[target], x (..., classes), target class indices.

Source of the definition: torch.nn.functional.cross_entropy, class indices, reduction "mean".
"""

from __future__ import annotations

from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import backward, kernel
from precdiff.kernels.logsumexp import log_probabilities
from precdiff.machine import Tensor
from precdiff.ops import exp, log, max_, mean, reshape, sum_, take_along

_EXAMPLES = {"x": "normal(0,3,shape=(32,64))", "target": "uniform(0,63,shape=(32,))"}
_FORMATS = {"target": "i32"}


def _picked(x: Tensor, target: Tensor) -> Tensor:
    """x[..., target] of every sample."""
    chosen: Tensor = take_along(x, reshape(target, (*target.shape, 1)), axis=-1)
    return chosen


@kernel(limit=backward(8), formats=_FORMATS, examples=_EXAMPLES)
def cross_entropy(x: Tensor, target: Tensor, *, inner: str = INNER) -> Tensor:
    """The mean of -log softmax(x)[target], in `inner`; target i32 or i64.

    The limit is relative to the mean loss itself: all losses have one sign, so their sum is as accurate as they are.
    """
    losses = -_picked(log_probabilities(inside(x, inner)), target)
    return outside(mean(losses), x)


@kernel(
    name="cross_entropy_naive", reference=cross_entropy, formats=_FORMATS,
    examples={**_EXAMPLES, "x": "normal(0,6,shape=(32,64))"},
)  # fmt: skip
def cross_entropy_naive(x: Tensor, target: Tensor) -> Tensor:
    """The known bad form: softmax first, then its logarithm, in the inputs' format: infinite once one underflows."""
    e = exp(x - max_(x, axis=-1, keepdims=True))
    probability = _picked(e / sum_(e, axis=-1, keepdims=True), target)
    return -mean(log(probability))
