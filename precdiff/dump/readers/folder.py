"""A folder of array files: .npy, .npz, .pt, .safetensors, .bin and whatever else holds arrays, at any depth.

A tensor is called as its file, without the ending and with its folders: `layer0/out`; of a file of several, the name in
it follows. `%2F` in a file's name stands for a slash in the tensor's. Links are not followed; files that hold no arrays
are passed over and named in the provenance. A folder of nothing but step0, step1, ... (in them rank0, rank1, ... or
the files) is a run: a dump for each.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from precdiff.dump.arrays import ArraysDump, Held, is_numpy, kept_rows, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.npy import write_header
from precdiff.dump.files.raw import describe
from precdiff.dump.reader import READERS, reader_of
from precdiff.dump.rows import Attributes, TensorRow
from precdiff.errors import FileError
from precdiff.formats import get_format

#: files of a folder, arrays or not
MOST_FILES = 200_000
#: names shown of what was passed over
SHOWN = 20


class FolderDump(ArraysDump):
    """Folders of array files."""

    reader = "folder"
    general = True

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A folder in which some file holds arrays."""
        return path.is_dir() and any(_arrays_in(file) for file in _files(path))

    @classmethod
    def members(cls, path: Path) -> list[Path]:
        return [rank for step in _numbered(path, "step") or [path] for rank in _numbered(step, "rank") or [step]]

    @classmethod
    def open(cls, path: Path) -> Self:
        readers = [(file, _arrays_in(file)) for file in _files(path)]
        opened = [(file, reader.open(file)) for file, reader in readers if reader is not None]
        names = Counter(_name(path, file) for file, _ in opened)
        found: list[Held] = []
        for file, dump in opened:
            name = _name(path, file)
            found += _renamed(dump, name if names[name] == 1 else name + file.suffix)
        passed = [str(file.relative_to(path)) for file, reader in readers if reader is None and not _is_sidecar(file)]
        about = {"passed_over": passed[:SHOWN]} if passed else {}
        step, rank = _number(path, "step"), _number(path, "rank")
        return cls(path, Attributes(complete=True, provenance=about, iteration=step, rank=rank), (), found)

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        path.mkdir()
        for row in kept_rows(dump):
            _write(path, dump, row)


def _numbered(path: Path, word: str) -> list[Path]:
    """The folders word0, word1, ... in order, where there is nothing else."""
    inner = [place for place in path.iterdir() if not place.name.startswith(".")] if path.is_dir() else []
    found = [place for place in inner if place.is_dir() and re.fullmatch(rf"{word}\d{{1,9}}", place.name)]
    return sorted(found, key=lambda place: int(place.name[len(word) :])) if len(found) == len(inner) else []


def _number(path: Path, word: str) -> int | None:
    """The number after `word` in the name of the folder, or of the one it is in."""
    names = (path.absolute().name, path.absolute().parent.name)
    return next((int(name[len(word) :]) for name in names if re.fullmatch(rf"{word}\d{{1,9}}", name)), None)


def _files(path: Path) -> Iterator[Path]:
    """Files in it, in the order of their names with numbers as numbers; links are left out."""
    found: list[Path] = []
    for folder, _, names in os.walk(path, followlinks=False):
        found += [file for name in names if not (file := Path(folder, name)).is_symlink() and file.is_file()]
        if len(found) > MOST_FILES:
            raise FileError(f"{path} holds more than {MOST_FILES:,} files; name a folder in it")
    return iter(sorted(found, key=lambda file: _natural(str(file.relative_to(path)))))


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(word), word) if word.isdecimal() else (-1, word) for word in re.split(r"(\d+)", text)]


def _arrays_in(file: Path) -> type[ArraysDump] | None:
    try:
        reader = reader_of(file)
    except FileError:
        return None
    return reader if issubclass(reader, ArraysDump) else None


def _is_sidecar(file: Path) -> bool:
    return file.suffix == ".json" and file.with_suffix("").is_file()


def _name(path: Path, file: Path) -> str:
    return unquote(str(file.relative_to(path).with_suffix("")))


def _renamed(dump: ArraysDump, name: str) -> Iterator[Held]:
    alone = len(dump.tensors) == 1
    for row, source in dump.contents():
        id = name if alone else f"{name}/{row.id}"
        yield Held(replace(row, id=id, name=id), source)


def _write(path: Path, dump: Dump, row: TensorRow) -> None:
    """As .npy, or bare values with a sidecar where numpy has no such dtype."""
    plain = is_numpy(row) and row.format == row.stored_format
    file = path / f"{quote(row.id, safe=' ()[]{}#@+=,:;!~&')}.{'npy' if plain else 'bin'}"
    with file.open("xb") as out:
        if plain:
            write_header(out, get_format(row.stored_format), row.shape)
        write_codes(out, dump, row.id)
    if not plain:
        describe(file, row)


READERS.add("folder", FolderDump)
