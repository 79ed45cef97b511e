"""Functions over the vocabulary: they round wherever their steps do, and a trace shows the steps in a layer of that
name.

A device that has an instruction for one of them (a table lookup GELU) gets a row with a profile approximation instead.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from precdiff.ops.arithmetic import abs_, maximum, reciprocal
from precdiff.ops.functions import erf, exp, log, log1p
from precdiff.ops.op import owner
from precdiff.ops.reductions import max_, sum_


def layered(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run the function in a layer of that name on the machine of its first tensor argument."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with owner(name, [*args, *kwargs.values()]).layer(name):
                return function(*args, **kwargs)

        return inside

    return wrap


@layered("sigmoid")
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return reciprocal(1.0 + exp(-x))


@layered("silu")
def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    return x * sigmoid(x)


@layered("gelu")
def gelu(x: Any) -> Any:
    """x/2 (1 + erf(x / sqrt 2)), the exact form."""
    return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


@layered("softplus")
def softplus(x: Any) -> Any:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which does not overflow."""
    return maximum(x, 0.0) + log1p(exp(-abs_(x)))


@layered("logsumexp")
def logsumexp(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """log of the sum of exp along `axis`, shifted by the maximum."""
    shift = max_(x, axis=axis, keepdims=True)
    total = log(sum_(exp(x - shift), axis=axis, keepdims=True)) + shift
    return total if keepdims else total.reshape(tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim))
