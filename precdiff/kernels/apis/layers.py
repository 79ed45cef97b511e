"""What neural networks are made of: normalisations, softmax, embedding, attention, losses.

Source of names and arguments: torch 2.13, torch.nn.functional. Forms that draw random numbers are not known, unless
they draw none (dropout with p = 0, or outside training).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.kernels.api import MOVES, api
from precdiff.kernels.apis.reductions import same_format
from precdiff.kernels.logsumexp import log_probabilities


def _last_axis(x: Any, dim: int) -> list[int]:
    """The permutation that brings `dim` last; it is its own inverse."""
    axes = list(range(x.ndim))
    axes[dim], axes[-1] = axes[-1], axes[dim % x.ndim]
    return axes


def _softmax(x: Any, dim: int) -> Any:
    e = ops.exp(x - ops.detach(ops.max_(x, axis=dim, keepdims=True)))
    return e / ops.sum_(e, axis=dim, keepdims=True)


def _softmax_backward(g: Any, y: Any, dim: int = -1, *args: Any, **keywords: Any) -> Any:
    """y (g - sum g y)."""
    return y * (g - ops.sum_(g * y, axis=dim, keepdims=True))


def _log_softmax_backward(g: Any, y: Any, dim: int = -1, *args: Any, **keywords: Any) -> Any:
    """g - e^y sum g."""
    return g - ops.exp(y) * ops.sum_(g, axis=dim, keepdims=True)


@api("softmax", "_softmax", saved=_softmax_backward)
def softmax(input: Any, dim: int = -1, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x - max) / its sum."""
    same_format(dtype or None, "softmax")
    return _softmax(input, dim)


@api("log_softmax", "_log_softmax", saved=_log_softmax_backward, narrow=True)
def log_softmax(input: Any, dim: int = -1, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """x - logsumexp x."""
    same_format(dtype or None, "log_softmax")
    axes = _last_axis(input, dim)
    return ops.transpose(log_probabilities(ops.transpose(input, axes)), axes)


@api("layer_norm")
def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """(x - mean) / sqrt(var + eps) weight + bias over the last axes."""
    axes = list(range(-len(normalized_shape), 0))
    centred = input - ops.mean(input, axis=axes, keepdims=True)
    y = centred / ops.sqrt(ops.mean(centred * centred, axis=axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@api("rms_norm", composite=True, narrow=True)
def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """x / sqrt(mean x^2 + eps) weight; without eps, that of the input's format."""
    if eps is None:
        raise KernelError("rms_norm without eps takes the format's, which is not in the record")
    axes = list(range(-len(normalized_shape), 0))
    y = input / ops.sqrt(ops.mean(input * input, axis=axes, keepdims=True) + eps)
    return y if weight is None else y * weight


@api("embedding", allowance=MOVES)
def embedding(  # noqa: PLR0913 - torch's arguments
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of weight at the indices; with max_norm it rewrites them and is not known."""
    if max_norm is not None:
        raise KernelError("embedding with max_norm is not known")
    return ops.take(weight, input, axis=0)


@api("dropout", "dropout_", allowance=MOVES)
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Nothing, where it drops nothing."""
    if training and p:
        raise KernelError("dropout draws random numbers")
    return input


@api("scaled_dot_product_attention", composite=True, narrow=True)
def attention(  # noqa: PLR0913 - torch's arguments
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """softmax(q k^T scale + mask) v."""
    if dropout_p or enable_gqa:
        raise KernelError("attention with dropout, or with fewer heads of keys, is not known")
    axes = (*range(key.ndim - 2), key.ndim - 1, key.ndim - 2)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = ops.matmul(query, ops.transpose(key, axes)) * factor
    scores = _masked(scores, attn_mask) if attn_mask is not None else scores
    scores = _causal(scores) if is_causal else scores
    return ops.matmul(_softmax(scores, -1), value)


def _masked(scores: Any, mask: Any) -> Any:
    if mask.format.name != "bool":
        return scores + mask
    return ops.where(mask, scores, scores.machine.constant(-math.inf, scores.format))


def _causal(scores: Any) -> Any:
    """Minus infinity above the diagonal."""
    machine, format = scores.machine, scores.format
    rows, columns = scores.shape[-2:]
    steps = ops.cumsum(ops.broadcast_to(machine.constant(1.0, format), (columns,)), axis=0)
    heights = ops.reshape(ops.cumsum(ops.broadcast_to(machine.constant(1.0, format), (rows,)), axis=0), (rows, 1))
    return ops.where(steps <= heights, scores, machine.constant(-math.inf, format))


def _of_log_probabilities(input: Any, target: Any, *args: Any, **keywords: Any) -> Any:
    return nll_loss(input, target, *args[:5], **keywords)


@api("cross_entropy", composite=True, narrow=True, last=_of_log_probabilities)
def cross_entropy(  # noqa: PLR0913 - torch's arguments
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """-log softmax(input) at the classes; their mean, sum, or as they are. The classes are axis 1, or the only one."""
    if weight is not None or label_smoothing or target.format.kind != "int":
        raise KernelError("cross_entropy with weights, smoothing or probabilities is not known")
    axes = _last_axis(input, 1 if input.ndim > 1 else 0)
    return _reduced(-_picked(log_probabilities(ops.transpose(input, axes)), target, axes), reduction)


@api("nll_loss")
def nll_loss(  # noqa: PLR0913 - torch's arguments
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """-input at the classes."""
    if weight is not None:
        raise KernelError("nll_loss with weights is not known")
    axes = _last_axis(input, 1 if input.ndim > 1 else 0)
    return _reduced(-_picked(ops.transpose(input, axes), target, axes), reduction)


def _picked(rows: Any, target: Any, axes: Sequence[int]) -> Any:
    """The element of each row its class names, in the target's order of axes."""
    if rows.ndim > 2:
        raise KernelError("classes of more than two axes are not known")
    chosen = ops.take_along(rows, ops.reshape(target, (*target.shape, 1)), axis=-1)
    return ops.reshape(chosen, target.shape)


@api("mse_loss")
def mse_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """(input - target)^2."""
    difference = input - target
    return _reduced(difference * difference, reduction)


@api("l1_loss")
def l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """|input - target|."""
    return _reduced(abs(input - target), reduction)


def _reduced(losses: Any, reduction: str) -> Any:
    return {"mean": ops.mean, "sum": ops.sum_, "none": lambda x: x}[reduction](losses)
