"""Dumps: what a run did, kept in a file from which it can be inspected, compared and replayed.

Read rows.py (what is kept), schema.py (where), writer.py (DumpWriter), dump.py (Dump, what any reader yields),
reader.py (how a path becomes a Dump) and readers/. commit.py is why a killed run loses nothing that was flushed.
"""

from precdiff.dump.checking import Problem
from precdiff.dump.converting import Converted, convert
from precdiff.dump.dump import Dump
from precdiff.dump.reader import READERS, open_dump, open_dumps
from precdiff.dump.references import Reference
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.dump.salvaging import Salvaged, salvage, verify
from precdiff.dump.statistics import Statistics, checksum, statistics_of
from precdiff.dump.streaming import Streamed
from precdiff.dump.writer import DumpWriter, add_references, write_trace

__all__ = [
    "READERS",
    "Attributes",
    "Converted",
    "Dump",
    "DumpWriter",
    "Problem",
    "Reference",
    "Salvaged",
    "Statistics",
    "StepRow",
    "Streamed",
    "TensorRow",
    "add_references",
    "checksum",
    "convert",
    "open_dump",
    "open_dumps",
    "salvage",
    "statistics_of",
    "verify",
    "write_trace",
]
