"""Run a kernel on the emulated device and keep the trace.

Inputs are arrays of a known format; they enter bit for bit. Everything that can be wrong with them is said before the
kernel starts; what the kernel itself raises is reported with its own source line.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from precdiff.device import DeviceProfile, get_profile
from precdiff.errors import FileError, KernelError, PrecDiffError
from precdiff.formats import Format, as_array, carrier, format_of, get_format
from precdiff.kernels.kernel import Kernel, get_kernel
from precdiff.machine import EmulatedMachine, Tensor
from precdiff.ops.decisions import MAX_ITERATIONS
from precdiff.rounding import Rounding, round_array
from precdiff.trace import RecordingMachine, Trace, native_values
from precdiff.trace.recorder import Sink
from precdiff.trace.source import shown


@dataclass(frozen=True)
class Run:
    """A finished run: `outputs` in the ecosystem's dtypes by name (a single output is `out`), and the trace."""

    trace: Trace
    kernel: Kernel | None = None

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """Output arrays by name."""
        return {name: native_values(self.trace, tensor) for name, tensor in self.trace.outputs.items()}


def run_kernel(  # noqa: PLR0913 - what a run is made of
    kernel: str | Kernel | Callable[..., Any], inputs: Mapping[str, Any], *, profile: str | DeviceProfile = "ieee",
    format: str | Format | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None,
    sink: Callable[[Trace], Sink] | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> Run:  # fmt: skip
    """Run `kernel` on the device `profile` describes.

    `inputs` map argument names to arrays (numpy, ml_dtypes) or numbers. `format` rounds the inputs to it, once;
    without it each array keeps its own format. `sink` makes the dump's writer from the trace about to be filled. A
    while_loop that runs longer than `max_iterations` is an error.
    """
    chosen = get_kernel(kernel)
    device = get_profile(profile)
    settings = _options(chosen, options or {})
    check_seed(seed)
    trace = Trace(kernel=chosen.name, profile=device, options=settings, seed=seed)
    entered = _entered(chosen, inputs, format, device, settings)
    machine = EmulatedMachine(device, np.random.default_rng(seed))
    recorder = RecordingMachine(machine, trace, sink and sink(trace), max_iterations)
    tensors = {name: recorder.input(name, values, fmt) for name, (values, fmt) in entered.items()}
    outputs = _called(chosen, tensors, settings)
    trace.outputs.update({name: tensor.id for name, tensor in outputs.items()})
    return Run(trace, chosen)


def check_seed(seed: Any) -> None:
    """Refuse what is neither None nor a whole number of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise PrecDiffError(f"seed: found {seed!r}; allowed is a whole number of at least 0, or None")


def _options(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in kernel.options]
    if unknown:
        kernel.option(unknown[0], "")
    return {**kernel.options, **given}


def _entered(
    kernel: Kernel,
    inputs: Mapping[str, Any],
    format: str | Format | None,
    device: DeviceProfile,
    options: Mapping[str, Any],
) -> dict[str, tuple[np.ndarray, Format]]:
    _check_names(kernel, inputs)
    common = None if format is None else get_format(format)
    entered = {}
    for name, value in inputs.items():
        fixed = kernel.formats.get(name)
        target = (
            _accumulator(device, options, common) if fixed == "accumulator" else get_format(fixed) if fixed else common
        )
        entered[name] = _as_carrier(kernel, name, value, target)
    return entered


def _accumulator(device: DeviceProfile, options: Mapping[str, Any], format: Format | None) -> Format | None:
    if options.get("acc"):
        return get_format(options["acc"])
    declared = device.matmul_accumulator.value
    return format if declared == "same" else get_format(declared)


def _check_names(kernel: Kernel, inputs: Mapping[str, Any]) -> None:
    if not kernel.inputs:
        raise KernelError(f"kernel {kernel.name} takes no input; its first parameter must be a tensor, as in f(x)")
    if not isinstance(inputs, Mapping):
        found = type(inputs).__name__
        raise KernelError(f"kernel {kernel.name}: inputs are {found}; allowed is a mapping from names to arrays")
    missing = [name for name, needed in kernel.inputs.items() if needed and name not in inputs]
    foreign = [name for name in inputs if name not in kernel.inputs]
    if not missing and not foreign:
        return
    example = " ".join(f"--input '{n}={s}'" for n, s in kernel.examples.items() if n in missing or not missing)
    problem = f"input {missing[0]!r} was not given" if missing else f"{foreign[0]!r} is not an input"
    raise KernelError(
        f"kernel {kernel.name}: {problem}. It takes {', '.join(kernel.inputs)}; found {', '.join(inputs) or 'none'}."
        + (f" For example: {example}" if example else "")
    )


def _as_carrier(kernel: Kernel, name: str, value: Any, target: Format | None) -> tuple[np.ndarray, Format]:
    array = as_array(value, f"kernel {kernel.name}, input {name}")
    try:
        own = format_of(array)
    except PrecDiffError as error:
        raise KernelError(f"kernel {kernel.name}, input {name}: {error}") from None
    values = carrier(array)
    if target is not None and target.kind == "int":
        if own.kind != "int":
            raise KernelError(f"kernel {kernel.name}, input {name}: found {own.name}; allowed are integers")
        return values, own
    if target is None or target == own or not (own.is_float or array.dtype.kind in "iu"):
        return values, own
    wide = values if own.is_float else values.astype(np.float64)
    return round_array(wide, Rounding(target)), target


def _called(kernel: Kernel, tensors: Mapping[str, Tensor], options: Mapping[str, Any]) -> dict[str, Tensor]:
    try:
        result = kernel(**tensors, **options)
    except FileError:
        raise  # of the dump that is being written, not of the kernel
    except PrecDiffError as error:
        raise KernelError(f"kernel {kernel.name}: {error}{_at(error)}") from error
    except Exception as error:
        raise KernelError(f"kernel {kernel.name} raised {type(error).__name__}: {error}{_at(error)}") from error
    return _named(kernel, result)


def _named(kernel: Kernel, result: Any) -> dict[str, Tensor]:
    """Outputs by name: a dict as it is, one tensor as `out`, several as out0, out1, ..."""
    if isinstance(result, Mapping):
        found = dict(result)
    elif isinstance(result, list | tuple):
        found = {f"out{i}": value for i, value in enumerate(result)}
    else:
        found = {"out": result}
    if not found or result is None:
        shown = "nothing" if result is None else repr(result)
        raise KernelError(f"kernel {kernel.name} returned {shown}; a kernel returns its output tensors: return y")
    for name, value in found.items():
        if not isinstance(value, Tensor):
            raise KernelError(f"kernel {kernel.name} returned {type(value).__name__} as {name!r}; allowed are Tensors")
    return found


_PACKAGE = str(Path(__file__).resolve().parents[1])
_KERNELS = str(Path(__file__).resolve().parent)
_MACHINERY = (str(Path(_KERNELS, "run.py")), str(Path(_KERNELS, "kernel.py")))


def _at(error: BaseException) -> str:
    """Where in the kernel's own file an error arose; an error a kernel words itself needs no place."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(_PACKAGE) or f.filename.startswith(_KERNELS)]
    own = [f for f in own if f.filename not in _MACHINERY]
    if not own or (own[-1].filename.startswith(_PACKAGE) and (own[-1].line or "").startswith("raise")):
        return ""
    line = f": {own[-1].line}" if own[-1].line else ""
    return f" (at {shown(own[-1].filename)}:{own[-1].lineno}{line})"
