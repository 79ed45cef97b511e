"""What may stand on either side of a comparison: a Run, a trace, a dump or its path, an array, a mapping of arrays.

Tensors of a dump are named without being read: they are Streamed while it is open.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from precdiff import formats
from precdiff.comparison import Identity, holds_reals
from precdiff.dump import Dump, Streamed, open_dump
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import Format
from precdiff.kernels import Kernel, Run, get_kernel
from precdiff.trace import Step, Trace

Values = np.ndarray | Streamed
Named = tuple[Identity, Values, Format]


@contextlib.contextmanager
def opened(source: Any) -> Iterator[Any]:
    """The source, a path as the dump there, which is closed again."""
    if isinstance(source, str | Path):
        with open_dump(source) as dump:
            yield dump
    else:
        yield source


def incomplete(source: Any) -> str:
    """Why a dump does not hold all of its run, empty where it does: then nothing of it is a pass."""
    if not isinstance(source, Dump):
        return ""
    if not source.complete:
        return "the run ended before its output was written"
    return "" if source.attrs.outputs else "the dump names no output, so only its steps were judged"


def traced(source: Any) -> tuple[Trace, Kernel | None, str]:
    """The trace of a source that has one, its kernel where that can still be found, and how to call it."""
    if isinstance(source, Run):
        return source.trace, source.kernel or known_kernel(source.trace.kernel), f"run of {source.trace.kernel}"
    if isinstance(source, Trace):
        return source, known_kernel(source.kernel), f"trace of {source.kernel}"
    if isinstance(source, Dump):
        trace = source.trace()
        return trace, known_kernel(trace.kernel), str(source.path)
    raise NotComparableError(
        f"there is no reference for {type(source).__name__}: pass `expected`, or a Run or dump, whose steps are known"
    )


def known_kernel(name: str) -> Kernel | None:
    """The kernel a trace names; None where its file is gone, which costs its limit and its reference."""
    try:
        return get_kernel(name)
    except PrecDiffError:
        return None


def named_tensors(source: Any) -> dict[str, Named]:
    """The tensors of a source by name: a trace's outputs and other steps, or arrays as they are."""
    if isinstance(source, Mapping):
        return {name: _array(name, value) for name, value in source.items()}
    if isinstance(source, Dump):
        return _traced_tensors(source.trace_with(lambda id: Streamed(source, id)))
    if isinstance(source, Run | Trace):
        return _traced_tensors(traced(source)[0])
    if isinstance(source, Streamed):
        return {"array": (Identity(id="array", name="array"), source, source.format)}
    return {"array": _array("array", source)}


def peers(source: Any) -> dict[str, tuple[np.ndarray, str]]:
    """What a peer gave, by tensor: values and format; a bare array is under no name."""
    with opened(source) as found:
        named = named_tensors(found)
        bare = is_bare(found)
        return {"" if bare else name: (_loaded(values), format.name) for name, (_, values, format) in named.items()}


def _loaded(values: Values) -> np.ndarray:
    return values.load() if isinstance(values, Streamed) else values


def is_bare(source: Any) -> bool:
    """Whether a source is one array, without a name."""
    return not isinstance(source, Mapping | Run | Trace | Dump)


def only_output(tensors: Mapping[str, Named], source: str) -> dict[str, Named]:
    """What a bare array is compared with: the one output of the other side."""
    outputs = {name: tensor for name, tensor in tensors.items() if tensor[0].role == "output"}
    if len(outputs) != 1:
        names = ", ".join(outputs) or "none"
        raise NotComparableError(
            f"{source} has the outputs {names}; an array stands for exactly one. "
            f"Say which in Python: precdiff.compare(..., {{{next(iter(outputs), 'NAME')!r}: array}})"
        )
    return outputs


def _traced_tensors(trace: Trace) -> dict[str, Named]:
    """Outputs by the output's name, where no other step is called so; other steps by their id."""
    ids = {step.id for step in trace.steps}
    named = {id: name for name, id in trace.outputs.items() if name == id or name not in ids}
    return {named.get(s.id, s.id): _step(trace, s, named.get(s.id, "")) for s in trace.steps if s.op != "constant"}


def _array(name: str, value: Any) -> Named:
    array = formats.as_array(value, name)
    if holds_reals(array):
        return Identity(id=name, name=name), array, formats.get_format("fp64")
    return Identity(id=name, name=name), formats.carrier(array), formats.format_of(array)


def _step(trace: Trace, step: Step, output: str) -> Named:
    role = "output" if step.id in trace.outputs.values() else "intermediate"
    name, source = output or step.source.name or step.id, str(step.source)
    identity = Identity(id=step.id, name=name, layer=step.layer, op=step.op, source=source, phase=step.phase, role=role)
    return identity, trace.values[step.id], formats.get_format(step.format)


def shown(source: Any) -> str:
    """How a report calls a source."""
    if isinstance(source, str | Path | Dump | Streamed):
        return str(source.path if isinstance(source, Dump | Streamed) else source)
    return f"run of {source.trace.kernel}" if isinstance(source, Run) else type(source).__name__
