"""Dumps of msprobe (MindStudio Probe): dump.json or debug.json, stack.json, construct.json and the tensors' files.

    step{N}/rank{R} or proc{P}/{dump.json, debug.json, stack.json, construct.json, dump_tensor_data/*.pt | *.npy}

One dump is one json: a rank of a step. A folder above it with several is a set (`open_dumps`). A step is a recorded
call of an API or a module, in order of recording; each call has its own copies of its tensors, so no step takes what
another made. The json's dtype is a tensor's format; `.npy` files cannot hold bf16, so there it is stored as fp32. The
path in `dump_data_dir` is the one at dump time and is not looked at; source paths keep their last two parts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from precdiff.dump.calls import parse_call
from precdiff.dump.dump import Dump
from precdiff.dump.entries import Entry, read_entry
from precdiff.dump.files.jsonfile import read_object
from precdiff.dump.files.npy import npy_file
from precdiff.dump.files.stored import Stored
from precdiff.dump.files.torchzip import load
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes, StepRow, TensorRow
from precdiff.errors import FileError
from precdiff.formats import Array, get_format

DUMP, DEBUG, STACK, CONSTRUCT, DATA = "dump.json", "debug.json", "stack.json", "construct.json", "dump_tensor_data"
_FOLDER = re.compile(r"(step|rank|proc)(\d*)")
_KEYS = (b'"dump_data_dir"', b'"data"')
_FRAME = re.compile(r"File (?P<file>.+?), line (?P<line>\d+), in")
_LIBRARIES = ("site-packages", "dist-packages", "<frozen")
#: what .npy files cannot hold is stored as this
_NPY_STAND_IN = {"bf16": "fp32", "e4m3fn": "fp32", "e5m2": "fp32"}


class MsprobeDump(Dump):
    """Folders and json files of msprobe."""

    reader = "msprobe"

    def __init__(
        self, path: Path, attributes: Attributes, steps: Iterable[StepRow], tensors: Mapping[str, TensorRow]
    ) -> None:
        super().__init__(path, attributes, tuple(steps), tensors)
        self._last: tuple[str, Stored] | None = None

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A folder with such a json in it or below it, or the json."""
        if path.is_dir():
            return next(_below(path), None) is not None
        return head.lstrip().startswith(b"{") and all(key in head for key in _KEYS)

    @classmethod
    def members(cls, path: Path) -> list[Path]:
        return list(_below(path)) if path.is_dir() else [path]

    @classmethod
    def open(cls, path: Path) -> Self:
        document = path if path.is_file() else next(_below(path))
        found = read_object(document)
        if not isinstance(found.get("data"), dict):
            raise FileError(f"{document}: found no entries (key data); the run that wrote it may have ended early")
        steps, tensors = [], {}
        kept = _kept(document.parent / DATA)
        for entry in _entries(found["data"], document):
            steps.append(entry.step)
            for row in entry.tensors:
                if row.id in tensors:
                    raise FileError(f"{document}: two tensors are called {row.id!r}")
                tensors[row.id] = _with_file(row, entry.files.get(row.id), kept)
        return cls(path, _attributes(document, found), steps, tensors)

    def codes(self, id: str) -> Array:
        row = self.stored_row(id)
        return self.block(row, (0,) * len(row.shape), row.shape)

    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        if self._last is None or self._last[0] != row.id:
            self._last = row.id, self._stored(row)
        return self._last[1].block(start, shape)

    def _stored(self, row: TensorRow) -> Stored:
        file = Path(row.where)
        found = npy_file(file, get_format(row.format)) if file.suffix == ".npy" else load(file)
        if not isinstance(found, Stored):
            raise FileError(f"{file} holds {type(found).__name__}, not one tensor")
        if (found.format.name, found.shape) != (row.stored_format, row.shape):
            said, held = f"{row.stored_format} {list(row.shape)}", f"{found.format} {list(found.shape)}"
            raise FileError(f"{self.path}: tensor {row.id!r} is {said} by the json, but {file.name} holds {held}")
        return found


def _below(path: Path) -> Iterator[Path]:
    """The dumps of a folder, or where it is none itself, of the folders in it."""
    own = list(_members(path))
    inner = (place for place in sorted(path.iterdir()) if not own and place.is_dir() and not place.is_symlink())
    yield from (*own, *(found for place in inner for found in _members(place)))


def _members(path: Path) -> Iterator[Path]:
    """The json files of the dumps in a folder: of its steps in order, and of their ranks in order."""
    yield from (path / name for name in (DUMP, DEBUG) if (path / name).is_file())
    for inner in sorted(filter(_is_level, path.iterdir()), key=_place):
        yield from (found for found in _members(inner) if inner.is_dir())


def _is_level(path: Path) -> bool:
    return _FOLDER.fullmatch(path.name) is not None and path.is_dir() and not path.is_symlink()


def _place(path: Path) -> tuple[str, int]:
    kind, number = _level(path)
    return kind, -1 if number is None else number


def _level(path: Path) -> tuple[str, int | None]:
    found = _FOLDER.fullmatch(path.name)
    return ("", None) if found is None else (found[1], int(found[2]) if found[2] else None)


def _attributes(document: Path, found: dict[str, Any]) -> Attributes:
    levels = dict(_level(folder) for folder in document.resolve().parents[:2])
    said = {key: found[key] for key in ("task", "level", "framework") if isinstance(found.get(key), str)}
    return Attributes(
        iteration=levels.get("step"), rank=levels.get("rank"), complete=True, provenance={"tool": "msprobe", **said}
    )


def _entries(data: dict[str, Any], document: Path) -> Iterator[Entry]:
    parents, sources = _parents(document.parent / CONSTRUCT), _sources(document.parent / STACK)
    debug = document.name == DEBUG
    for name, content in data.items():
        try:
            yield read_entry(name, content, _layer(name, parents), sources.get(name, ""), debug=debug)
        except FileError as error:
            raise FileError(f"{document}: {error}") from error


def _layer(name: str, parents: Mapping[str, Any]) -> str:
    """The module a call is, or was made in."""
    call = parse_call(name)
    if not call.is_module and isinstance(parents.get(name), str):
        call = parse_call(parents[name])
    return call.path.replace(".", "/")


def _parents(path: Path) -> dict[str, Any]:
    return read_object(path) if path.is_file() else {}


def _sources(path: Path) -> dict[str, str]:
    """Name of a call -> the line of the user's that made it."""
    found = read_object(path) if path.is_file() else {}
    groups = [group for group in found.values() if isinstance(group, list) and len(group) == 2]
    return {
        name: source
        for names, frames in groups
        if isinstance(names, list) and isinstance(frames, list)
        for source in [_source(frames)]
        for name in names
        if isinstance(name, str)
    }


def _source(frames: list[Any]) -> str:
    """The innermost frame outside the libraries, as file:line."""
    found = [match for frame in frames if isinstance(frame, str) and (match := _FRAME.match(frame))]
    own = [match for match in found if not any(word in match["file"] for word in _LIBRARIES)]
    return "" if not own else f"{'/'.join(Path(own[0]['file']).parts[-2:])}:{own[0]['line']}"


def _kept(folder: Path) -> dict[str, Path]:
    """The tensors' files by name; a link that leaves the folder is refused when it is asked for."""
    if not folder.is_dir() or folder.is_symlink():
        return {}
    with os.scandir(folder) as found:
        return {entry.name: folder / entry.name for entry in found if entry.is_file(follow_symlinks=False)}


def _with_file(row: TensorRow, file: str | None, kept: Mapping[str, Path]) -> TensorRow:
    """The row, full where its values are in a file we can read."""
    if file is None:
        return row
    if file not in kept:
        return replace(row, note=f"its file {file} is missing, or a link")
    if not row.stored_format:
        return replace(row, note=f"PrecDiff has no format {row.format}")
    stored = _NPY_STAND_IN.get(row.format, row.format) if file.endswith(".npy") else row.format
    return replace(row, data="full", stored_format=stored, where=str(kept[file]))


READERS.add("msprobe", MsprobeDump)
