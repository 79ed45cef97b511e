"""A dump of any kind as PrecDiff's own: rows, values, references and what holds for the run, bit for bit.

What the other program did not record is computed: checksum and statistics. What it recorded stays as it is, in the
precision it was recorded in. Large tensors are copied block by block.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from precdiff.dump.dump import Dump
from precdiff.dump.h5types import stored_format
from precdiff.dump.rows import TensorRow
from precdiff.dump.schema import LARGE
from precdiff.dump.statistics import checksum, statistics_of
from precdiff.dump.writer import DumpWriter
from precdiff.formats import from_bits, get_format


def copy(dump: Dump, path: Path) -> None:
    """Write the dump to the new file `path`."""
    about = {**dump.attrs.provenance, "converted_from": {"path": str(dump.path), "reader": dump.reader}}
    with DumpWriter(path, provenance=about, created=dump.attrs.created, flush_seconds=math.inf) as writer:
        for row in dump.tensors.values():
            _copy_tensor(dump, _own(row), writer)
        for step in dump.steps:
            writer.add_step(step)
        for kind, id in dump.references():
            writer.add_reference(kind, id, dump.reference(kind, id))
        writer.describe(replace(dump.attrs, provenance={}))
        if dump.complete:
            writer.complete()


def _own(row: TensorRow) -> TensorRow:
    """The row with its values stored in the type HDF5 has for them: tf32 as fp32."""
    return replace(row, stored_format=stored_format(row.stored_format).name) if row.data == "full" else row


def _copy_tensor(dump: Dump, row: TensorRow, writer: DumpWriter) -> None:
    if row.data != "full":
        writer.add_row(row, None)
        return
    stored = get_format(row.stored_format)
    if row.size * stored.storage.itemsize < LARGE:
        codes = dump.codes(row.id)
        row = replace(row, checksum=row.checksum or checksum(codes))
        writer.add_row(replace(row, statistics=row.statistics or statistics_of(from_bits(codes, stored))), codes)
        return
    row = replace(row, checksum=row.checksum or checksum(codes for _, codes in dump.code_chunks(row.id)))
    pieces = (from_bits(codes, stored) for _, codes in dump.code_chunks(row.id))
    writer.add_blocks(replace(row, statistics=row.statistics or statistics_of(pieces)), dump.code_blocks(row.id))
