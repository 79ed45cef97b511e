"""DumpWriter: keep a run while it runs, so that what was flushed survives whatever ends it.

Rows and small tensors wait in memory for at most 200 ms or 64 MB (session.py); `complete` is written last of all. This
file knows the order of things; the rows' meaning is rows.py's, their place schema.py's.

    with DumpWriter("run.h5") as writer:
        run = run_kernel("pow", inputs, sink=writer.sink)
        writer.finish(run.trace)
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np

from precdiff.dump import schema
from precdiff.dump.columns import step_columns, tensor_columns
from precdiff.dump.guard import GuardedFile
from precdiff.dump.h5types import create, stored_format, write_codes
from precdiff.dump.parameters import encode
from precdiff.dump.references import Reference, write_reference
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.session import Session
from precdiff.dump.statistics import checksum, statistics_of
from precdiff.dump.tables import Pool, Table
from precdiff.dump.target import existing_file, place_for, reason
from precdiff.dump.traces import attributes_of, row_of
from precdiff.errors import FileError, PrecDiffError, UnknownNameError
from precdiff.formats import Array, Format, from_bits, get_format, to_bits
from precdiff.trace.recorder import Sink
from precdiff.trace.step import Step, Trace

FLUSH_SECONDS = 0.2


class DumpWriter:
    """Writes one dump. `data` says what is kept of a tensor: full | stats | checksum.

    `provenance` is added to what is recorded anyway (versions, command, the whole profile) and wins over it; `place` is
    where the run stands in a larger one: iteration, rank, microbatch. A complete dump at `path` stays until
    the new one is complete, or its `with` block ends without an error; until then that is `path` + `.new`.
    """

    def __init__(
        self, path: str | Path, *, data: str = "full", created: str | None = None,
        provenance: Mapping[str, Any] | None = None, flush_seconds: float = FLUSH_SECONDS, **place: int,
    ) -> None:  # fmt: skip
        self._place_in_job = _place_in_job(place)
        if data not in schema.DATA_KINDS:
            raise UnknownNameError("kind of data", data, schema.DATA_KINDS)
        self.path = Path(path)
        self._data = data
        self._created = created or dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        self._provenance = {"versions": _versions(), "command": list(sys.argv), **(provenance or {})}
        self._known: set[str] = set()
        self._held: dict[str, Any] = {}
        self._pools: dict[str, Pool] = {}
        self._written = place_for(self.path)
        self._complete = False
        self._session = Session(self._written, flush_seconds)
        self._file = self._session.file
        try:
            with self._session.writing():
                self._lay_out()
            self.flush()
        except FileError:
            self._session.close()
            raise

    def _lay_out(self) -> None:
        self._file.attrs["schema"] = schema.SCHEMA
        self._file.attrs["schema_version"] = np.int64(schema.SCHEMA_VERSION)
        self._steps = Table(self._file, schema.STEPS, schema.STEP_COLUMNS)
        self._tensors = Table(self._file, schema.TENSORS, schema.TENSOR_COLUMNS)
        self._session.parts += [self._steps, self._tensors]
        for group in (schema.DATA, schema.POOL, schema.REFERENCE):
            self._file.create_group(group)

    # A run of PrecDiff.

    def sink(self, trace: Trace) -> Sink:
        """What a recorder calls with each step of `trace` and the tensor it made."""
        self.describe(dataclasses.replace(attributes_of(trace), inputs={}, outputs={}))
        self.flush()

        def keep(step: Step, values: np.ndarray) -> None:
            with self._session.lock:
                self._add_inputs(trace)
                self._add(step, values, trace)

        return keep

    def finish(self, trace: Trace) -> None:
        """Write what is missing of the trace, its outputs, and at last that it is complete."""
        with self._session.lock:
            self._add_inputs(trace)
            for step in trace.steps:
                if step.id not in self._known:
                    self._add(step, trace.values[step.id], trace)
            self.describe(attributes_of(trace))
            self.complete()

    def _add_inputs(self, trace: Trace) -> None:
        new = {name: id for name, id in trace.inputs.items() if id not in self._known}
        for name, id in new.items():
            self.add_tensor(id, trace.values[id], trace.formats[id], name=name, role="input")
        if new:
            self.describe(attributes_of(trace))

    def _add(self, step: Step, values: np.ndarray, trace: Trace) -> None:
        row = row_of(step, trace)
        self.add_tensor(step.id, values, step.format, name=step.source.name, layer=step.layer)
        self.add_step(row)

    # Any program.

    def describe(self, attributes: Attributes) -> None:
        """Write what holds for the whole run; fields that are None stay absent."""
        plain = {name: getattr(attributes, name) for name in schema.PLAIN_ATTRIBUTES}
        plain |= {"created": attributes.created or self._created, **self._place_in_job}
        texts = {name: dict(getattr(attributes, name)) for name in schema.JSON_ATTRIBUTES}
        texts["provenance"] |= self._provenance
        held = {name: schema.attribute(value) for name, value in plain.items() if value is not None}
        held |= {name: encode(value, name) for name, value in texts.items()}
        with self._session.writing():
            for name, value in held.items():
                if self._held.get(name) != value:  # a text replaced leaves a hole in the file
                    self._held[name] = self._file.attrs[name] = value

    def add_tensor(self, id: str, values: np.ndarray, format: str | Format, **about: str) -> None:
        """Keep a tensor: carrier values, and of TensorRow's fields `name`, `role`, `layer`."""
        values = np.asarray(values)
        codes = to_bits(values, format).reshape(values.shape)
        self.add_row(self._row(id, get_format(format), codes, values, about), codes)

    def add_codes(self, id: str, codes: Array, format: str | Format, **about: str) -> None:
        """Keep a tensor given by the codes of its stored format."""
        values = from_bits(codes, stored_format(format))
        self.add_row(self._row(id, get_format(format), codes, values, about), codes)

    def _row(self, id: str, format: Format, codes: Array, values: Array, about: Mapping[str, str]) -> TensorRow:
        schema.dataset_name(id)
        if about.get("role", "output") not in schema.ROLES:
            raise UnknownNameError("role", about["role"], schema.ROLES)
        return TensorRow(
            id, format.name, codes.shape, stored_format=stored_format(format).name, data=self._data,
            checksum=checksum(codes), statistics=None if self._data == "checksum" else statistics_of(values), **about,
        )  # fmt: skip

    def add_row(self, row: TensorRow, codes: Array | None) -> None:
        """Keep a tensor under a row made elsewhere; `codes` are stored where its `data` is full."""
        with self._session.writing():
            if row.id in self._known:
                raise FileError(f"{self.path}: two tensors are called {row.id!r}; ids are unique in a dump")
            where = self._place(row, codes) if row.data == "full" and codes is not None else ""
            self._tensors.append(tensor_columns(dataclasses.replace(row, where=where)))
            self._known.add(row.id)

    def add_blocks(self, row: TensorRow, blocks: Iterable[tuple[tuple[int, ...], Array]]) -> None:
        """As `add_row`, of a large tensor whose codes come as blocks: (start, codes)."""
        with self._session.writing():
            dataset = self._data_set(row)
        for start, codes in blocks:
            with self._session.writing():
                write_codes(dataset, codes, start)
                self._session.waiting += codes.nbytes
        with self._session.writing():
            self._tensors.append(tensor_columns(dataclasses.replace(row, where=schema.data_place(row.id))))
            self._known.add(row.id)

    def _place(self, row: TensorRow, codes: Array) -> str:
        self._session.waiting += codes.nbytes
        if codes.nbytes < schema.LARGE:
            own = stored_format(row.format).name == row.stored_format
            return self._pool(row.format if own else row.stored_format).append(codes)
        write_codes(self._data_set(row), codes)
        return schema.data_place(row.id)

    def _data_set(self, row: TensorRow) -> Any:
        formats = (get_format(row.format), get_format(row.stored_format))
        return create(self._file, schema.data_place(row.id), *formats, row.shape, **schema.packed(row.shape))

    def _pool(self, format: str) -> Pool:
        if format not in self._pools:
            self._pools[format] = Pool(self._file, get_format(format))
            self._session.parts.append(self._pools[format])
        return self._pools[format]

    def add_step(self, row: StepRow) -> None:
        """Keep a step; its tensors come before it."""
        missing = [id for _, id in (*row.inputs, *row.outputs) if id not in self._known]
        if missing:
            raise FileError(f"{self.path}: step {row.id!r} names the tensor {missing[0]!r}, which was not added")
        with self._session.writing():
            self._steps.append(step_columns(row))
            self._session.progress = f"{self._steps.count} steps, the last {row.id!r}"

    def add_reference(self, kind: str, id: str, reference: Reference) -> None:
        """Keep a reference of a tensor; `kind` is total | storage | local."""
        with self._session.writing():
            write_reference(self._file, kind, id, reference)
            self._session.waiting += 4 * reference.reals.hi.nbytes

    def flush(self) -> None:
        """Make everything up to now survive a kill."""
        self._session.flush()

    def complete(self) -> None:
        """Say that nothing is missing, after everything else has been flushed."""
        self.flush()
        with self._session.writing():
            self._file.attrs["complete"] = True
        self.flush()
        self._complete = True

    def close(self) -> None:
        """Flush and close; without `finish` or `complete` the dump is known to be incomplete."""
        self._session.close()
        if self._complete:
            self._put_in_place()

    def _put_in_place(self) -> None:
        if self._written != self.path:
            self._written.replace(self.path)
            self._written = self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        if error is None:
            self._put_in_place()
        elif not self._complete:
            self._left_by(error)

    def _left_by(self, error: BaseException) -> None:
        """After a failure: no file where nothing was recorded, and what is kept beside an older dump is named."""
        if not self._known:
            self._written.unlink(missing_ok=True)
        elif self._written != self.path and isinstance(error, PrecDiffError):
            kept = f"{self.path} is as it was; the steps up to here are in {self._written}"
            error.args = (f"{error}. {kept}", *error.args[1:])


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write a whole trace as a dump."""
    with DumpWriter(path) as writer:
        writer.finish(trace)


def add_references(path: str | Path, references: Mapping[tuple[str, str], Reference]) -> None:
    """Put references into a finished dump; keys are (kind, tensor id)."""
    commits = GuardedFile(existing_file(Path(path)))
    try:
        with h5py.File(commits, "r+") as file:
            for (kind, id), reference in references.items():
                write_reference(file, kind, id, reference)
        commits.commit()
    except OSError as error:
        raise FileError(f"writing {path} failed: {reason(error)}. The file is as it was before") from error
    finally:
        commits.close()


def _place_in_job(place: Mapping[str, int]) -> dict[str, int]:
    for name in place:
        if name not in schema.PLACES:
            raise UnknownNameError("place of a run", name, schema.PLACES)
    return dict(place)


def _versions() -> dict[str, str]:
    from precdiff import __version__

    return {
        "precdiff": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "h5py": h5py.version.version, "hdf5": h5py.version.hdf5_version,
    }  # fmt: skip
