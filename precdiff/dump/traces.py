"""Between a trace and its rows: what is stored of each step, and the same Trace back, bit for bit.

This file knows both sides and no file format. A step makes one tensor that bears its id and its declared format; a
step of which this does not hold cannot be stored as part of a trace, and says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from precdiff.device import DeviceProfile
from precdiff.dump.parameters import encode
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.errors import FileError
from precdiff.trace.step import Source, Step, Trace


def attributes_of(trace: Trace) -> Attributes:
    """What a trace says of its run; `inputs` and `outputs` as far as they are known yet."""
    formats = dict.fromkeys(trace.formats[id] for id in trace.inputs.values())
    return Attributes(
        kernel=trace.kernel, profile=trace.profile.name, format=",".join(formats), seed=trace.seed,
        provenance={"profile": trace.profile.to_json()}, inputs=dict(trace.inputs), outputs=dict(trace.outputs),
        options=dict(trace.options),
    )  # fmt: skip


def row_of(step: Step, trace: Trace) -> StepRow:
    """The row of a step, refused where it would not come back the same."""
    if trace.formats.get(step.id) != step.format:
        found = trace.formats.get(step.id, "no tensor")
        raise FileError(f"step {step.id!r} declares format {step.format}, its tensor has {found}; a dump needs one")
    encode(step.params, f"step {step.id!r}: params")
    return StepRow(
        step.id, step.op, tuple(("input", id) for id in step.inputs), (("output", step.id),),
        step.layer, step.phase, step.params, _source_text(step),
    )  # fmt: skip


def _source_text(step: Step) -> str:
    source = step.source
    text = f"{source.file}:{source.line}" if (source.file, source.line) != ("", 0) else ""
    if dataclasses.replace(_source(text), name=source.name) != source:
        raise FileError(f"step {step.id!r}: a dump cannot hold the source {source!r}; allowed is file:line")
    return text


def _source(text: str, name: str = "") -> Source:
    file, _, line = text.rpartition(":")
    return Source(file, int(line), name) if line.isdecimal() else Source(text, 0, name)


def trace_of(
    attributes: Attributes,
    steps: Sequence[StepRow],
    tensors: Mapping[str, TensorRow],
    load: Callable[[str], np.ndarray],
) -> Trace:
    """The trace that was stored; `load` gives a tensor's carrier array."""
    trace = Trace(
        kernel=attributes.kernel, profile=_profile(attributes), inputs=dict(attributes.inputs),
        outputs=dict(attributes.outputs), options=dict(attributes.options), seed=attributes.seed,
    )  # fmt: skip
    lost = next((id for ids in (trace.inputs, trace.outputs) for id in ids.values() if id not in tensors), None)
    if lost is not None:
        raise FileError(f"tensor {lost!r} is not in the dump, which names it; `precdiff verify` lists what is wrong")
    for id, row in tensors.items():
        if row.data != "full":
            raise FileError(f"of tensor {id!r} only {row.data} was kept; a replay needs values (data='full')")
        trace.values[id] = load(id)
        trace.formats[id] = row.format
    _check_order(steps, tensors)
    trace.steps.extend(_step(row, tensors) for row in steps)
    return trace


def _profile(attributes: Attributes) -> DeviceProfile:
    if "profile" not in attributes.provenance:
        raise FileError("the dump holds no device profile (provenance.profile), so it cannot be replayed")
    return DeviceProfile.from_json(attributes.provenance["profile"])


def _check_order(steps: Sequence[StepRow], tensors: Mapping[str, TensorRow]) -> None:
    """Every step takes tensors that are there before it, and makes one that is not."""
    there = set(tensors) - {row.id for row in steps}
    for row in steps:
        early = next((id for _, id in row.inputs if id not in there), None)
        if early is not None:
            raise FileError(f"step {row.id!r} takes {early!r}, which is no input and which no step before it makes")
        if row.id in there or row.id not in tensors:
            said = "made twice in" if row.id in there else "missing from"
            raise FileError(f"step {row.id!r}: the tensor it makes is {said} the dump")
        there.add(row.id)


def _step(row: StepRow, tensors: Mapping[str, TensorRow]) -> Step:
    outputs = [id for _, id in row.outputs]
    if outputs != [row.id]:
        raise FileError(f"step {row.id!r} makes {outputs}; a trace's step makes one tensor that bears its id")
    output = tensors[row.id]
    inputs = tuple(id for _, id in row.inputs)
    return Step(
        row.id, row.op, inputs, row.params, output.format, row.layer, _source(row.source, output.name), row.phase
    )
