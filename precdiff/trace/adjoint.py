"""One adjoint sweep over a trace: first-order shares of the output error, from the vjp rows.

With delta_s the local error of step s and J_s = d output / d s, the output's error is sum_s J_s delta_s to first
order. Seeded with the cotangent e / ulp^2 over the chosen elements, the sweep gives abar_s = J_s^T (e / ulp^2), so that

    share_s = <abar_s, delta_s> / sum (e / ulp)^2,        sum_s share_s = 1 to first order (the sum is printed).

It runs in fp64 at the reference's values. A share ranks; only a replay proves. Rows without a vjp pass nothing on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from precdiff.device import get_profile
from precdiff.formats import get_format
from precdiff.machine import EmulatedMachine, Tensor
from precdiff.ops import OPS, broadcast_to, reshape, sum_
from precdiff.trace.step import Step, Trace


def sweep(trace: Trace, values: Mapping[str, np.ndarray], seeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Cotangents by tensor id, in fp64.

    `values`: fp64 values at which to differentiate, by tensor id; `seeds`: cotangents of outputs, by tensor id.
    """
    machine = EmulatedMachine(get_profile("ieee"))
    tensors = {id: _enter(machine, values[id], trace.formats[id]) for id in trace.values}
    cotangents = {id: machine.tensor(seed, get_format("fp64")) for id, seed in seeds.items()}
    for step in reversed(trace.steps):
        if step.id in cotangents:
            _pull(step, tensors, cotangents)
    return {id: t.planes[0] for id, t in cotangents.items()}


def _enter(machine: EmulatedMachine, values: np.ndarray, format: str) -> Tensor:
    kept = get_format(format) if not get_format(format).is_float else get_format("fp64")
    return machine.tensor(np.asarray(values).astype(kept.carrier), kept)


def _pull(step: Step, tensors: Mapping[str, Tensor], cotangents: dict[str, Tensor]) -> None:
    """Add the step's cotangents to its inputs'."""
    vjp = getattr(OPS[step.op], "vjp", None)
    if vjp is None or not step.inputs:
        return
    inputs = [tensors[i] for i in step.inputs]
    params = {k: v for k, v in step.params.items() if k not in ("acc", "out", "to", "mode")}
    with np.errstate(all="ignore"):
        for source, operand, gradient in zip(
            step.inputs, inputs, vjp(cotangents[step.id], tensors[step.id], *inputs, **params), strict=True
        ):
            if gradient is not None:
                _accumulate(cotangents, source, _unbroadcast(gradient, operand))


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
