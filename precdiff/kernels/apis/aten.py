"""Ops below autograd that a dispatch mode sees, under their aten names: fused forms and the backward of others.

What has the name and the arguments of a function of torch is in the other files. Source of names and arguments: torch
2.13, aten/src/ATen/native/native_functions.yaml; reductions are numbered none 0, mean 1, sum 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from precdiff import ops
from precdiff.errors import KernelError
from precdiff.kernels.api import FILLS, MOVES, ROUNDS, api
from precdiff.kernels.apis.layers import nll_loss
from precdiff.kernels.apis.reductions import var
from precdiff.kernels.silu import logistic

_REDUCTIONS = ("none", "mean", "sum")
_SQRT_HALF, _SQRT_2_PI, _CUBIC = 0.5**0.5, 0.7978845608028654, 0.044715


def _axes(shape: Sequence[int]) -> list[int]:
    """The last axes, as many as the shape has."""
    return list(range(-len(shape), 0))


def _statistics(input: Any, axes: list[int], eps: float) -> tuple[Any, Any]:
    mean = ops.mean(input, axis=axes, keepdims=True)
    centred = input - mean
    return mean, 1.0 / ops.sqrt(ops.mean(centred * centred, axis=axes, keepdims=True) + eps)


@api("native_layer_norm")
def native_layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    """(y, mean, 1 / standard deviation)."""
    mean, rstd = _statistics(input, _axes(normalized_shape), eps)
    y = (input - mean) * rstd
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, rstd


@api("native_layer_norm_backward", narrow=True)
def native_layer_norm_backward(  # noqa: PLR0913 - aten's arguments
    grad_out: Any, input: Any, normalized_shape: Sequence[int], mean: Any, rstd: Any, weight: Any, bias: Any,
    output_mask: Sequence[bool],
) -> Any:  # fmt: skip
    """Gradients of input, weight and bias, from the stored mean and 1 / standard deviation."""
    if not all(output_mask):
        raise KernelError("native_layer_norm_backward of some of its gradients is not known")
    axes = _axes(normalized_shape)
    rows = list(range(input.ndim - len(axes)))
    y = (input - mean) * rstd
    g = grad_out if weight is None else grad_out * weight
    centred = g - ops.mean(g, axis=axes, keepdims=True) - y * ops.mean(g * y, axis=axes, keepdims=True)
    return centred * rstd, ops.sum_(grad_out * y, axis=rows), ops.sum_(grad_out, axis=rows)


@api("_softmax_backward_data")
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """y (g - sum g y)."""
    return output * (grad_output - ops.sum_(grad_output * output, axis=dim, keepdims=True))


@api("_log_softmax_backward_data")
def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """g - e^y sum g."""
    return grad_output - ops.exp(output) * ops.sum_(grad_output, axis=dim, keepdims=True)


@api("gelu_backward")
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    """g (Phi(x) + x phi(x)), or the derivative of the tanh form."""
    if approximate == "none":
        density = ops.exp(self * self * -0.5) * (0.5 * _SQRT_2_PI)
        return grad_output * (0.5 * ops.erfc(self * -_SQRT_HALF) + self * density)
    inner = ops.tanh((self + self * self * self * _CUBIC) * _SQRT_2_PI)
    slope = (1.0 + self * self * (3 * _CUBIC)) * _SQRT_2_PI
    return grad_output * (0.5 * (1.0 + inner) + 0.5 * self * (1.0 - inner * inner) * slope)


@api("silu_backward")
def silu_backward(grad_output: Any, self: Any) -> Any:
    """g s (1 + x (1 - s)), s the logistic function."""
    s = logistic(self)
    return grad_output * (s * (1.0 + self * (1.0 - s)))


@api("tanh_backward")
def tanh_backward(grad_output: Any, output: Any) -> Any:
    """g (1 - y^2)."""
    return grad_output * (1.0 - output * output)


@api("sigmoid_backward")
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    """g y (1 - y)."""
    return grad_output * (output * (1.0 - output))


@api("threshold_backward", allowance=FILLS)
def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    """g where x is above the threshold."""
    return ops.where(self > threshold, grad_output, self.machine.constant(0.0, grad_output.format))


@api("nll_loss_forward")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """(-x at the classes, how many); classes that are ignored are not known."""
    one = self.machine.constant(float(target.shape[0]) if target.ndim else 1.0, self.format)
    if reduction == 0:
        raise KernelError("nll_loss_forward without reduction is not known")
    return nll_loss(self, target, weight, reduction=_REDUCTIONS[reduction]), one


@api("nll_loss_backward", allowance=ROUNDS)
def nll_loss_backward(  # noqa: PLR0913 - aten's arguments
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """-g at the classes, over their number for a mean; 0 elsewhere."""
    if weight is not None or reduction == 0 or self.ndim != 2:
        raise KernelError("nll_loss_backward with weights, or without reduction, is not known")
    share = grad_output / total_weight if reduction == 1 else grad_output
    zeros = ops.broadcast_to(self.machine.constant(0.0, self.format), self.shape)
    steps = ops.cumsum(ops.broadcast_to(self.machine.constant(1.0, self.format), self.shape), axis=1) - 1.0
    chosen = ops.cast(ops.reshape(target, (target.shape[0], 1)), self.format.name)
    return ops.where(steps == chosen, ops.broadcast_to(-share, self.shape), zeros)


@api("aten.embedding", allowance=MOVES)
def embedding(weight: Any, indices: Any, *attributes: Any) -> Any:
    """The rows of weight at the indices; the attributes matter backward only."""
    return ops.take(weight, indices, axis=0)


@api("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The sum of the gradients of every row: a product with the matrix that is 1 where a row was read."""
    if scale_grad_by_freq or padding_idx >= 0:
        raise KernelError("embedding_dense_backward with a padding row, or scaled by frequency, is not known")
    g = ops.reshape(grad_output, (-1, grad_output.shape[-1]))
    one, zero = (grad_output.machine.constant(x, g.format) for x in (1.0, 0.0))
    rows = ops.cumsum(ops.broadcast_to(one, (num_weights, g.shape[0])), axis=0) - 1.0
    read = ops.cast(ops.reshape(indices, (1, g.shape[0])), g.format.name)
    return ops.matmul(ops.where(rows == read, one, zero), g)


@api("slice", allowance=MOVES)
def slice_(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A range along an axis."""
    stop = None if end is None or end >= input.shape[dim] else end
    return input[(*[slice(None)] * (dim % input.ndim), slice(start, stop, step))]


@api("unbind", allowance=MOVES)
def unbind(input: Any, dim: int = 0) -> Any:
    """The slices along an axis."""
    axis = dim % input.ndim
    return tuple(input[(*[slice(None)] * axis, i)] for i in range(input.shape[axis]))


@api("var_mean")
def var_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """(variance, mean)."""
    return var(input, dim, correction=correction, keepdim=keepdim), ops.mean(input, axis=dim, keepdims=keepdim)


def _filled(value: float) -> Any:
    def like(input: Any, **keywords: Any) -> Any:
        return ops.broadcast_to(input.machine.constant(value, input.format), input.shape)

    return like


for _name, _value in (("ones_like", 1.0), ("zeros_like", 0.0)):
    api(_name, allowance=FILLS)(_filled(_value))
