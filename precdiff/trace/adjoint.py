"""One adjoint sweep over a trace: first-order shares of the output error, from the vjp rows.

With delta_s the local error of step s and J_s = d output / d s, the output's error is sum_s J_s delta_s to first
order. Seeded with the cotangent e / ulp^2 over the chosen elements, the sweep gives abar_s = J_s^T (e / ulp^2), so that

    share_s = <abar_s, delta_s> / sum (e / ulp)^2,        sum_s share_s = 1 to first order (the sum is printed).

It runs in fp64 at the reference's values. A share ranks; only a replay proves. Rows without a vjp pass nothing on.
`gradients` is one step of it, on any machine and in its arithmetic; tape.py sweeps with it on the device.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.formats import get_format
from precdiff.machine import HostMachine, Machine, Tensor
from precdiff.ops import OPS, Op, broadcast_to, cast, reshape, sum_
from precdiff.trace.evaluate import again
from precdiff.trace.step import Step, Trace

#: how a result was delivered; a cotangent is delivered in its operand's format
_DELIVERY = ("out", "to", "mode")


def sweep(trace: Trace, values: Mapping[str, np.ndarray], seeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Cotangents by tensor id, in fp64.

    `values`: fp64 values at which to differentiate, by tensor id; `seeds`: cotangents of outputs, by tensor id.
    """
    machine = HostMachine()
    tensors = {id: _enter(machine, values[id], trace.formats[id]) for id in trace.values}
    cotangents = {id: machine.tensor(seed, get_format("fp64")) for id, seed in seeds.items()}
    for step in reversed(trace.steps):
        if step.id in cotangents:
            _pull(step, tensors, cotangents)
    return {id: t.planes[0] for id, t in cotangents.items()}


def _enter(machine: Machine, values: np.ndarray, format: str) -> Tensor:
    kept = get_format(format) if not get_format(format).is_float else get_format("fp64")
    return machine.tensor(np.asarray(values).astype(kept.carrier), kept)


def gradients(
    op: Op, params: Mapping[str, Any], cotangent: Tensor, output: Tensor, inputs: Sequence[Tensor],
    wanted: Collection[int] | None = None,
) -> list[Tensor | None]:  # fmt: skip
    """The cotangents an op's vjp gives its inputs, in their shapes and formats; None where nothing passes.

    `wanted`: positions of the inputs asked for, default all.
    """
    vjp = getattr(op, "vjp", None)
    if vjp is None or not inputs:
        return [None] * len(inputs)
    found = vjp(cotangent, output, *inputs, **{k: v for k, v in params.items() if k not in _DELIVERY})
    asked = range(len(inputs)) if wanted is None else wanted
    pairs = enumerate(zip(found, inputs, strict=True))
    return [_fitted(gradient, operand) if i in asked else None for i, (gradient, operand) in pairs]


def _fitted(gradient: Tensor | None, operand: Tensor) -> Tensor | None:
    """A cotangent in its operand's shape and format."""
    if gradient is None or not operand.format.is_float:
        return None
    whole = _unbroadcast(gradient, operand)
    return whole if whole.format == operand.format else cast(whole, operand.format)


def _pull(step: Step, tensors: Mapping[str, Tensor], cotangents: dict[str, Tensor]) -> None:
    """Add the step's cotangents to its inputs'."""
    inputs = [tensors[i] for i in step.inputs]
    # the device's accumulator has no place in fp64
    params = {k: v for k, v in step.params.items() if k != "acc"}
    with np.errstate(all="ignore"), again(step):
        found = gradients(OPS[step.op], params, cotangents[step.id], tensors[step.id], inputs)
        for source, gradient in zip(step.inputs, found, strict=True):
            if gradient is not None:
                _accumulate(cotangents, source, gradient)


def _accumulate(cotangents: dict[str, Tensor], source: str, gradient: Tensor) -> None:
    # elements that are not finite are left out: their root is the first step that is not
    clean = gradient.machine.tensor(np.where(np.isfinite(gradient.planes[0]), gradient.planes[0], 0.0), gradient.format)
    cotangents[source] = clean if source not in cotangents else cotangents[source] + clean


def _unbroadcast(gradient: Tensor, operand: Tensor) -> Tensor:
    """Sum over the axes numpy's broadcasting repeated."""
    if gradient.shape == operand.shape:
        return gradient
    if gradient.size < operand.size:
        gradient = broadcast_to(gradient, operand.shape)
    extra = gradient.ndim - operand.ndim
    axes = [i for i in range(gradient.ndim) if i < extra or operand.shape[i - extra] == 1]
    return reshape(sum_(gradient, axis=axes), operand.shape)
