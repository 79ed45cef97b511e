"""Recorder: keep the tensors of any program in a dump while it runs, with the calls that made them where known.

    with Recorder("run.h5", rank=0) as rec:
        rec.record("encoder/attention/out", y)
        rec.call("Functional.linear", {"input.0": x, "input.1": w}, {"output.0": y})

Roles are those of dump/entries.py, op names those of kernels/apis: what is called so is judged by its own inputs. A
tensor is kept as it was when it was recorded, bit for bit. What was flushed survives whatever ends the program
(dump/writer.py). This file must not know any framework.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import ml_dtypes
import numpy as np

from precdiff.dump import Attributes, DumpWriter, StepRow
from precdiff.errors import PrecDiffError
from precdiff.formats import carrier, format_of
from precdiff.formats.foreign import as_array

_MARKS = (list, tuple)


class Recorder:
    """Writes one dump at `path`; `place` is where the run stands in a larger one: iteration, rank, microbatch.

    `data` says what is kept of a tensor: full | stats | checksum.
    """

    def __init__(self, path: str | Path, *, data: str = "full", **place: int) -> None:
        more: dict[str, Any] = dict(place)
        self._writer = DumpWriter(path, data=data, **more)
        self._writer.describe(Attributes())
        self._names: Counter[str] = Counter()

    def record(self, name: str, tensor: object, *, role: str = "output", layer: str | None = None) -> str:
        """Keep a tensor (numpy, ml_dtypes, or anything with DLPack); returns its id.

        The layer is what stands before the last `/` of the name. A name that comes again gets a number: `x`, `x.1`.
        """
        if not name:
            raise PrecDiffError(f"record: found the name {name!r}; allowed is text such as 'encoder/attention/out'")
        array = _kept(tensor, name)
        id = self._numbered(name)
        place = name.rpartition("/")[0] if layer is None else layer
        self._writer.add_tensor(id, carrier(array), format_of(array), name=name, role=role, layer=place)
        return id

    def call(  # noqa: PLR0913 - what is known of a call
        self, op: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], *, id: str = "", layer: str = "",
        phase: str = "forward", source: str = "",
    ) -> str:  # fmt: skip
        """Keep a call with copies of its tensors; returns its id.

        `inputs` and `outputs` map roles (`input.0`, `kwargs.dim`, `parameters.weight`, `output.0`) to tensors, ids that
        `record` returned, or plain values. Lists are taken apart: `input.0` becomes `input.0.0`, `input.0.1`.
        """
        step = id or f"{op}.{self._names[op]}.{phase}"
        self._names[op] += 0 if id else 1
        given = self._ports(step, inputs, "input", layer)
        made = self._ports(step, outputs, "output" if phase == "forward" else "grad", layer)
        params = {**given[1], **made[1]}
        self._writer.add_step(StepRow(step, op, tuple(given[0]), tuple(made[0]), layer, phase, params, source))
        return step

    def _ports(
        self, step: str, values: Mapping[str, Any], role: str, layer: str
    ) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        """(the tensors as (role, id), the plain values)."""
        ports, plain = list[tuple[str, str]](), dict[str, Any]()
        for name, value in _flat(values):
            if isinstance(value, Kept):
                ports.append((name, value.id))
            elif _is_tensor(value):
                kept = "parameter" if name.startswith("parameters.") else role
                ports.append((name, self._copy(f"{step}.{name}", value, kept, layer)))
            else:
                plain[name] = _plain(value)
        return ports, plain

    def _copy(self, id: str, value: object, role: str, layer: str) -> str:
        array = _kept(value, id)
        self._writer.add_tensor(id, carrier(array), format_of(array), name=id, role=role, layer=layer)
        return id

    def _numbered(self, name: str) -> str:
        """The name, with a number from its second time on."""
        count = self._names[name]
        self._names[name] += 1
        return name if not count else f"{name}.{count}"

    def flush(self) -> None:
        """Make everything up to now survive a kill."""
        self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._writer.complete()
        self._writer.__exit__(kind, error, traceback)


def _kept(value: object, name: str) -> np.ndarray:
    """A copy: the writer keeps small tensors until it flushes, and the program may write over its own."""
    array = as_array(value, name)
    if array.dtype.kind in "OUSV" and array.dtype.names is None and not _is_number(array):
        raise PrecDiffError(f"{name}: found {type(value).__name__}, which gives no array of numbers")
    return np.array(array)


def _is_number(array: np.ndarray) -> bool:
    """Whether a dtype numpy does not know is one of ml_dtypes'."""
    return array.dtype.kind == "V" and hasattr(ml_dtypes, array.dtype.name)


class Kept:
    """A tensor that was recorded before, by its id."""

    def __init__(self, id: str) -> None:
        self.id = id


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, _MARKS) and any(_is_tensor(item) or isinstance(item, Kept) for item in value):
            found += _flat({f"{name}.{place}": item for place, item in enumerate(value)})
        else:
            found.append((name, value))
    return found


def _plain(value: Any) -> Any:
    """What JSON holds as it is, anything else as text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _is_tensor(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic) or hasattr(value, "__dlpack__")
