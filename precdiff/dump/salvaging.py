"""Verify a dump, and salvage one: copy what is whole, leave out what is not, and say which.

A step is kept where every tensor it names is whole, a tensor where its values can be read and have their checksum. This
file knows the order of copying; what can still be read of a damaged file is its reader's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from precdiff.dump.checking import Problem, tensor_problem
from precdiff.dump.dump import Dump
from precdiff.dump.reader import open_dump
from precdiff.dump.readers.precdiff import PrecDiffDump
from precdiff.dump.writer import DumpWriter
from precdiff.errors import FileError


@dataclass(frozen=True)
class Salvaged:
    """What a salvage kept, and why the rest was left out."""

    path: Path
    steps: int
    tensors: int
    lost: tuple[Problem, ...]


def verify(path: str | Path) -> list[Problem]:
    """What is wrong with a dump; empty when nothing is. A file that cannot be opened raises."""
    with open_dump(path) as dump:
        return dump.verify()


def salvage(source: str | Path, target: str | Path) -> Salvaged:
    """Write what is whole in the dump `source` to `target`."""
    source, target = Path(source), Path(target)
    if source.resolve() == target.resolve():
        raise FileError(f"{source}: a salvaged dump goes to a file of its own; name another target")
    dump, missing = PrecDiffDump.open_damaged(source)
    with dump:
        bad = {id: text for id, row in dump.tensors.items() if (text := tensor_problem(row, dump.code_chunks))}
        lost = [*missing, *(Problem(f"tensor {id}", problem) for id, problem in bad.items())]
        provenance = {**dump.attrs.provenance, "salvaged": {"from": source.name, "lost": [str(p) for p in lost]}}
        with DumpWriter(target, provenance=provenance) as writer:
            return _copy(dump, writer, set(dump.tensors) - set(bad), lost)


def _copy(dump: Dump, writer: DumpWriter, whole: set[str], lost: list[Problem]) -> Salvaged:
    writer.describe(replace(dump.attrs, provenance={}))
    kept = 0
    for id in (id for id in dump.tensors if id in whole):
        row = dump.row(id)
        writer.add_row(row, dump.codes(id) if row.data == "full" else None)
    for step in dump.steps:
        missing = [id for _, id in (*step.inputs, *step.outputs) if id not in whole]
        if missing:
            lost.append(Problem(f"step {step.id}", f"its tensor {missing[0]!r} is lost"))
            continue
        writer.add_step(step)
        kept += 1
    if dump.complete and not lost:
        writer.complete()
    return Salvaged(writer.path, kept, len(whole), tuple(lost))
