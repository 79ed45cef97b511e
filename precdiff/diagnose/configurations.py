"""Which other configuration of the same kernel gives a device's bits: another profile, another option, or both.

A device that is another registered device, or a build with another variant, accumulator or intermediate format, is no
fault of an operation: it is named before single departures are sought (reproduction.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.device import PROFILES
from precdiff.errors import KernelError, PrecDiffError, UnknownNameError
from precdiff.formats import to_bits
from precdiff.kernels import Kernel, run_kernel
from precdiff.trace import Trace, native_values, replay

#: options that name a format, and what they may be on devices
FORMAT_OPTIONS = ("acc", "out", "inner", "table")
_FORMATS = ("fp16", "bf16", "fp32")


@dataclass(frozen=True)
class Configuration:
    """`label` says what is other than declared; `differing` counts the bit patterns of all outputs that are not the
    device's.
    """

    label: str
    differing: int
    elements: int
    trace: Trace


def configurations(kernel: Kernel, declared: Trace, actual: Mapping[str, np.ndarray]) -> list[Configuration]:
    """Every other profile and option value, with how many bit patterns differ; the nearest first."""
    tried = [_compared(label, trace, declared, actual) for label, trace in _others(kernel, declared)]
    return sorted((made for made in tried if made is not None), key=lambda made: made.differing)


def _others(kernel: Kernel, declared: Trace) -> Iterator[tuple[str, Trace]]:
    for label, profile in ((f"profile {name}", row) for name, row in PROFILES.items()):
        if profile.name != declared.profile.name:
            try:
                yield label, replay(declared, {}, profile)
            except PrecDiffError:
                continue
    for option, value in _options(kernel, declared):
        try:
            yield f"{option}={value}", _run(kernel, declared, {**declared.options, option: value})
        except PrecDiffError:
            continue


def _options(kernel: Kernel, declared: Trace) -> Iterator[tuple[str, Any]]:
    """Other values of the kernel's options: formats, truths, and names the kernel itself lists when asked for "?"."""
    for option, current in declared.options.items():
        if option in FORMAT_OPTIONS:
            others: tuple[Any, ...] = _FORMATS
        elif isinstance(current, bool):
            others = (not current,)
        else:
            others = _listed(kernel, declared, option) if isinstance(current, str) else ()
        yield from ((option, value) for value in others if value != current)


def _listed(kernel: Kernel, declared: Trace, option: str) -> tuple[str, ...]:
    try:
        _run(kernel, declared, {**declared.options, option: "?"})
    except KernelError as error:
        cause = error.__cause__
        return tuple(cause.allowed) if isinstance(cause, UnknownNameError) else ()
    except PrecDiffError:
        pass
    return ()


def _run(kernel: Kernel, declared: Trace, options: Mapping[str, Any]) -> Trace:
    inputs = {name: native_values(declared, id) for name, id in declared.inputs.items()}
    known = {name: value for name, value in options.items() if value is not None}
    return run_kernel(kernel, inputs, profile=declared.profile, options=known, seed=declared.seed).trace


def _compared(label: str, trace: Trace, declared: Trace, actual: Mapping[str, np.ndarray]) -> Configuration | None:
    """None where the other configuration gives outputs of other shapes or formats."""
    differing = elements = 0
    for name, id in declared.outputs.items():
        if id not in actual:
            continue
        other = trace.outputs.get(name, "")
        if other not in trace.values or trace.values[other].shape != actual[id].shape:
            return None
        if trace.formats[other] != declared.formats[id]:
            return None
        codes = [to_bits(values, declared.formats[id]) for values in (trace.values[other], actual[id])]
        differing, elements = differing + int((codes[0] != codes[1]).sum()), elements + codes[0].size
    return Configuration(label, differing, elements, trace)
