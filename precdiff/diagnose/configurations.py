"""Which other legal configuration of the same kernel gives a device's bits.

Another profile; another value of an option; both; or another order and accumulator of all sums, which IEEE 754 leaves
open (9.4). A device that is another registered device, or a build with another variant, is no fault of an operation: it
is named before departures are sought (reproduction.py), which directions and flushing are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from precdiff.device import PROFILES, DeviceProfile
from precdiff.device.fields import FIELDS
from precdiff.diagnose.rules.reduction_order import ORDERS
from precdiff.errors import KernelError, PrecDiffError, UnknownNameError
from precdiff.formats import to_bits
from precdiff.kernels import Kernel, run_kernel
from precdiff.trace import Trace, native_values, replay

#: options that name a format, and what they may be on devices
FORMAT_OPTIONS = ("acc", "out", "inner", "table")
_FORMATS = ("fp16", "bf16", "fp32")
_ACCUMULATORS = ("same", "fp32")
#: fields that are set together, and what IEEE 754 leaves a device to choose
LEGAL_FIELDS: tuple[Mapping[str, tuple[Any, ...]], ...] = (
    {"sum_order": ORDERS, "sum_accumulator": _ACCUMULATORS},
    {"matmul_order": ORDERS, "matmul_accumulator": _ACCUMULATORS, "matmul_product": ("rounded", "exact")},
    {"fused_multiply_add": (True, False)},
)


@dataclass(frozen=True)
class Configuration:
    """`label` says what is other than declared; `differing` counts the bit patterns of all outputs that are not the
    device's.
    """

    label: str
    differing: int
    elements: int
    trace: Trace


def configurations(
    kernel: Kernel, declared: Trace, actual: Mapping[str, np.ndarray], budget: float = float("inf")
) -> list[Configuration]:
    """Other configurations, with how many bit patterns differ; the nearest first. The first that gives all ends it."""
    end, tried = time.monotonic() + budget, []
    for label, run in _others(kernel, declared):
        if time.monotonic() > end:
            break
        made = _compared(label, run, declared, actual)
        tried += [] if made is None else [made]
        if made is not None and made.differing == 0:
            break
    return sorted(tried, key=lambda made: made.differing)


def _others(kernel: Kernel, declared: Trace) -> Iterator[tuple[str, Callable[[], Trace]]]:
    """(what is other, its run), the likeliest first."""
    profiles = [(f"profile {name}", row) for name, row in PROFILES.items() if row.name != declared.profile.name]
    options = list(_options(kernel, declared))
    for label, profile in profiles:
        yield label, partial(replay, declared, {}, profile)
    for label, values in options:
        yield label, partial(_run, kernel, declared, values, declared.profile)
    for label, profile in _orders(declared):
        yield label, partial(replay, declared, {}, profile)
    for (label, profile), (more, values) in product(profiles, options):
        yield f"{label}, {more}", partial(_run, kernel, declared, values, profile)


def _orders(declared: Trace) -> Iterator[tuple[str, DeviceProfile]]:
    """The declared profile with other fields that decide how sums and fused products are carried out."""
    used, facts = {step.op for step in declared.steps}, declared.profile.facts()
    for choices in LEGAL_FIELDS:
        touched = {name: values for name, values in choices.items() if any(FIELDS[name].touches(op) for op in used)}
        for values in product(*touched.values()):
            changed = {n: v for n, v in zip(touched, values, strict=True) if v != facts[n].value}
            if changed:
                text = " ".join(f"{name}={value}" for name, value in changed.items())
                yield text, declared.profile.with_(**changed)


def _options(kernel: Kernel, declared: Trace) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All options with one other value: formats, truths, and names the kernel itself lists when asked for "?"."""
    for option, current in declared.options.items():
        if option in FORMAT_OPTIONS:
            others: tuple[Any, ...] = _FORMATS
        elif isinstance(current, bool):
            others = (not current,)
        else:
            others = _listed(kernel, declared, option) if isinstance(current, str) else ()
        for value in others:
            if value != current:
                yield f"{option}={value}", {**declared.options, option: value}


def _listed(kernel: Kernel, declared: Trace, option: str) -> tuple[str, ...]:
    try:
        _run(kernel, declared, {**declared.options, option: "?"}, declared.profile)
    except KernelError as error:
        cause = error.__cause__
        return tuple(cause.allowed) if isinstance(cause, UnknownNameError) else ()
    except PrecDiffError:
        pass
    return ()


def _run(kernel: Kernel, declared: Trace, options: Mapping[str, Any], profile: DeviceProfile) -> Trace:
    inputs = {name: native_values(declared, id) for name, id in declared.inputs.items()}
    known = {name: value for name, value in options.items() if value is not None}
    return run_kernel(kernel, inputs, profile=profile, options=known, seed=declared.seed).trace


def _compared(
    label: str, run: Callable[[], Trace], declared: Trace, actual: Mapping[str, np.ndarray]
) -> Configuration | None:
    """None where the other configuration cannot run, or gives outputs of other shapes or formats."""
    try:
        trace = run()
    except PrecDiffError:
        return None
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
