"""Cases as files: what an operator project keeps beside its kernel.

    CASE/input/input_<name>.bin     little-endian values in C order, `.bin.json` beside each: format and shape
    CASE/output/golden.bin          the golden output; golden_<name>.bin where a kernel has several
    CASE/case.json                  precdiff.case/1: kernel, options, class, note, and of every file format and shape

as the Ascend samples' gen_data.py lays them out; or CASE.npz and CASE.h5 with tensors called `input/<name>` and
`golden/<name>`. Cases appear together, by renames at the end, or not at all; what is not ours is never replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from precdiff.dump import DumpWriter
from precdiff.dump.rows import Attributes
from precdiff.dump.target import reason
from precdiff.errors import FileError, KernelError
from precdiff.formats import Array, Format, carrier, native, to_bits
from precdiff.generate.cases import HUNTED, DataCase, data_classes
from precdiff.generate.golden import Golden, golden
from precdiff.generate.subject import Subject

SCHEMA = "precdiff.case/1"
_PART = "precdiff-part"


@dataclass(frozen=True)
class Made:
    """A case with its golden outputs: (carriers, format) of every tensor by name."""

    case: DataCase
    inputs: Mapping[str, tuple[Array, Format]]
    outputs: Mapping[str, Golden]


def made(subject: Subject, case: DataCase) -> Made:
    """A case with what its outputs should be."""
    inputs = {name: (carrier(values), subject.formats[name]) for name, values in case.inputs.items()}
    try:
        with np.errstate(all="ignore"):
            return Made(case, inputs, golden(subject, case.inputs))
    except KernelError as error:
        advice = "An input that may not hold any number says so: @kernel(formats=..., examples=...)"
        raise KernelError(f"case {case.name}: {error}. {advice}") from None


def check_place(folder: str | Path, subject: Subject, kind: str = "bin", force: bool = False) -> None:
    """FileError where `write_cases` could not write; for those who compute for long before."""
    _replaceable(Path(folder), force)
    formats = (*subject.formats.values(), *subject.output_formats().values())
    foreign = [format.name for format in formats if not hasattr(np, format.native)]
    if kind == "npz" and foreign:
        raise FileError(f"a .npz cannot say that its values are {min(foreign)}; write bin or h5")


def write_cases(
    folder: str | Path, subject: Subject, cases: Sequence[DataCase], kind: str = "bin", force: bool = False
) -> list[Path]:
    """Write every case into a new or empty folder; the paths of the cases. `kind` is bin, npz or h5.

    FileError where the folder holds something already; with `force` cases written earlier are replaced, and only they.
    """
    check_place(folder, subject, kind, force)
    place = Path(folder)
    with _whole(place, force) as new:
        for case in cases:
            _WRITERS[kind](new / case.name, subject, made(subject, case))
    ending = "" if kind == "bin" else f".{kind}"
    return [place / f"{case.name}{ending}" for case in cases]


@contextlib.contextmanager
def _whole(named: Path, force: bool) -> Iterator[Path]:
    """A folder to write into, whose entries come to their place together at the end."""
    place, old = Path(os.path.realpath(named)), _replaceable(named, force)
    aside = f".{_PART}-{secrets.token_hex(4)}"
    # inside a folder that is there: it may be the working folder, or a file system of its own
    part = place / aside if place.is_dir() else place.with_name(f"{aside}-{place.name[:100]}")
    new = part / "new"
    try:
        new.mkdir(parents=True)
        yield new
        _placed(new, place, old)
    except OSError as error:
        raise FileError(f"cannot write {named}: {reason(error)}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _placed(new: Path, place: Path, old: Sequence[Path]) -> None:
    if not place.is_dir():
        new.replace(place)
        return
    away = new.parent / "old"
    away.mkdir()
    for entry in old:
        entry.replace(away / entry.name)
    for entry in sorted(new.iterdir()):
        entry.replace(place / entry.name)


def _replaceable(named: Path, force: bool) -> list[Path]:
    """What a folder holds already, which may be replaced."""
    place = Path(os.path.realpath(named))
    try:
        held = sorted(place.iterdir()) if place.is_dir() else []
        there = os.path.lexists(place)
    except OSError as error:
        raise FileError(f"cannot write {named}: {reason(error)}") from error
    if (there and not place.is_dir()) or (held and not force):
        raise FileError(f"{named} exists and is no empty folder; choose another name, or replace its cases by force")
    foreign = next((entry.name for entry in held if not _is_case(entry)), None)
    if foreign is not None:
        raise FileError(f"{named} holds {foreign}, which is no case of precdiff gen; choose another name")
    return held


def _is_case(entry: Path) -> bool:
    """Whether gen wrote it: a case as a folder or a file, or what a killed run left."""
    if entry.name.startswith(f".{_PART}-"):
        return True
    if entry.suffix in (".npz", ".h5"):
        return entry.is_file() and entry.name.split("-")[0] in (*data_classes(), HUNTED)
    try:
        return bool(json.loads((entry / "case.json").read_text(encoding="utf-8"))["schema"] == SCHEMA)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _bin(path: Path, subject: Subject, row: Made) -> None:
    (path / "input").mkdir(parents=True)
    (path / "output").mkdir()
    inputs = {name: (f"input/input_{name}.bin", *held) for name, held in row.inputs.items()}
    only = len(row.outputs) == 1
    outputs = {
        name: ("output/golden.bin" if only else f"output/golden_{name}.bin", one.values, one.format)
        for name, one in row.outputs.items()
    }
    for file, values, format in (*inputs.values(), *outputs.values()):
        _raw(path / file, values, format)
    text = json.dumps(_document(subject, row, _files(inputs), _files(outputs)), indent=1, ensure_ascii=False)
    (path / "case.json").write_text(text + "\n", encoding="utf-8")


def _raw(path: Path, values: Array, format: Format) -> None:
    codes = np.ascontiguousarray(to_bits(values, format).astype(format.storage.newbyteorder("<")))
    path.write_bytes(codes.tobytes())
    path.with_name(f"{path.name}.json").write_text(json.dumps(_about(values, format)) + "\n", encoding="utf-8")


def _files(rows: Mapping[str, tuple[str, Array, Format]]) -> dict[str, dict[str, Any]]:
    return {name: {"file": file, **_about(values, format)} for name, (file, values, format) in rows.items()}


def _about(values: Array, format: Format) -> dict[str, Any]:
    return {"format": format.name, "shape": list(values.shape)}


def _document(
    subject: Subject, row: Made, inputs: Mapping[str, Any], outputs: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    undecided = {name: {**about, "undecided": row.outputs[name].undecided} for name, about in outputs.items()}
    return {
        "schema": SCHEMA, "kernel": subject.kernel.name, "format": subject.common.name, "seed": subject.seed,
        "options": dict(subject.options), "name": row.case.name, "class": row.case.data_class, "note": row.case.note,
        "inputs": dict(inputs), "outputs": undecided,
    }  # fmt: skip


def _npz(path: Path, subject: Subject, row: Made) -> None:
    tensors = {f"input/{name}": held for name, held in row.inputs.items()}
    tensors |= {f"golden/{name}": (one.values, one.format) for name, one in row.outputs.items()}
    arrays: dict[str, Any] = {name: native(*held) for name, held in tensors.items()}
    np.savez(path.with_name(f"{path.name}.npz"), **arrays)


def _h5(path: Path, subject: Subject, row: Made) -> None:
    with DumpWriter(path.with_name(f"{path.name}.h5")) as writer:
        about = {"case": row.case.name, "class": row.case.data_class, "note": row.case.note}
        writer.describe(Attributes(provenance={"kernel": subject.kernel.name, **about}))
        for name, (values, format) in row.inputs.items():
            writer.add_tensor(f"input/{name}", values, format, name=f"input/{name}", role="input", layer="input")
        for name, one in row.outputs.items():
            writer.add_tensor(f"golden/{name}", one.values, one.format, name=f"golden/{name}", layer="golden")
        writer.complete()


_WRITERS: Mapping[str, Callable[[Path, Subject, Made], None]] = {"bin": _bin, "npz": _npz, "h5": _h5}
KINDS = tuple(_WRITERS)
