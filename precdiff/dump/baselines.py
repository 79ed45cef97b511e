"""Baselines: what a test or a run gave when somebody last looked at it. Small files, made to go into git.

A baseline is a dump (schema.py) without steps: one output tensor a name, and in its provenance under `baseline` the
figures that were known against the truth. Beside NAME.h5 may lie NAME.pending.h5: what was found since, which nobody
has accepted yet. This file knows how they are kept; it must not know how values are compared.

A file is written whole under another name and renamed, while the folder is locked. So whatever kills a writer, and
however many there are, a baseline is the old one or the new one; what a killed writer left is removed by the next.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from precdiff.dump.dump import Dump
from precdiff.dump.reader import open_dump
from precdiff.dump.rows import Attributes
from precdiff.dump.statistics import checksum
from precdiff.dump.writer import DumpWriter
from precdiff.errors import FileError
from precdiff.formats import Array, from_bits, get_format, native

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: the folder beside the tests, and the ends of the names in it
FOLDER, ACCEPTED, PENDING = "precdiff_baselines", ".h5", ".pending.h5"
_AGAIN = "take it out of git again, or delete it and accept it anew"
_SKIPPED = {"node_modules", "__pycache__", "venv", "site-packages"}


@dataclass(frozen=True)
class Kept:
    """What is kept under one name: carrier values (None: none were), their format, figures against the truth."""

    values: Array | None = None
    format: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def native(self) -> Array:
        """The values in the ecosystem's dtype."""
        assert self.values is not None
        return native(self.values, self.format)


@dataclass(frozen=True)
class Baseline:
    """Whose it is (a test's id, or the name of a run), and what is kept by name."""

    owner: str
    kept: Mapping[str, Kept]


def pending_of(path: Path) -> Path:
    """Where what was found lies until it is accepted."""
    return path.with_name(path.name.removesuffix(ACCEPTED) + PENDING)


def accepted_of(path: Path) -> Path:
    """The baseline a pending file is to become."""
    return path.with_name(path.name.removesuffix(PENDING) + ACCEPTED)


def _opened(path: Path) -> Dump:
    try:
        return open_dump(path)
    except FileError as error:
        if not path.is_file():
            raise
        raise FileError(f"the baseline {path} is damaged; {_AGAIN}: {error}") from error


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file, checked against its own checksums."""
    with _opened(path) as dump:
        figures = dump.attrs.provenance.get("baseline")
        if not isinstance(figures, Mapping):
            raise FileError(f"{path} is a dump, but no baseline; `precdiff baseline set` makes one of it")
        kept = {name: Kept(figures=dict(row)) for name, row in figures.items()}
        for name, row in dump.tensors.items():
            codes = dump.codes(name)
            if checksum(codes) != row.checksum:
                raise FileError(f"{path}: the values of {name!r} do not match their checksum; {_AGAIN}")
            own = kept.get(name, Kept()).figures
            kept[name] = Kept(from_bits(codes, get_format(row.stored_format)), row.format, own)
        return Baseline(dump.attrs.kernel, kept)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Put a baseline in place of an older one, wholly or not at all."""
    with _locked(path.parent):
        _write(path, baseline)


def accept(pending: Path) -> Path:
    """Make what is pending the baseline; names it does not hold stay as they are."""
    path = accepted_of(pending)
    with _locked(path.parent):
        newer = read_baseline(pending)
        older = read_baseline(path).kept if path.exists() else {}
        _write(path, Baseline(newer.owner, {**older, **newer.kept}))
        pending.unlink()
    return path


def update(path: Path, baseline: Baseline) -> None:
    """Accept at once what was found."""
    with _locked(path.parent):
        older = read_baseline(path).kept if path.exists() else {}
        _write(path, Baseline(baseline.owner, {**older, **baseline.kept}))
        pending_of(path).unlink(missing_ok=True)


def drop(path: Path, names: Iterable[str] = ()) -> None:
    """Take names out of a baseline, or all of it; folders that are left empty go as well."""
    gone = set(names)
    with _locked(path.parent):
        held = read_baseline(path) if gone else Baseline("", {})
        left = {name: row for name, row in held.kept.items() if name not in gone}
        if left:
            _write(path, Baseline(held.owner, left))
        else:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty
        path.parent.rmdir()
        path.parent.parent.rmdir()


def find(places: Iterable[Path], *, pending: bool = False) -> list[Path]:
    """The baselines under some folders, or the files that wait to become one; a file stands for itself."""
    found = [path for place in places for path in ([place] if place.is_file() else _under(place))]
    return sorted({path for path in found if path.name.endswith(PENDING) == pending})


def matches(owner: str, path: Path, word: str) -> bool:
    """Whether a word means this baseline: a test's id or its beginning, a glob on it, or the file.

    >>> [matches("test_pow.py::test_v1[fp16]", Path("b.h5"), w) for w in ("test_pow.py", "tests/test_pow.py::test_v1")]
    [True, True]
    >>> matches("test_pow.py::test_v1[fp16]", Path("b.h5"), "*v1*"), matches("test_pow.py::a", Path("b.h5"), "test_p")
    (True, False)
    """
    if Path(word).absolute() in (path.absolute(), accepted_of(path).absolute()):
        return True
    file, separator, rest = word.partition("::")
    short = Path(file).name + separator + rest
    return any(w == owner or owner.startswith((f"{w}::", f"{w}[")) for w in (word, short)) or fnmatchcase(owner, word)


def _under(place: Path) -> Iterator[Path]:
    """The files of every folder of that name under a place; of the place itself where there is none."""
    if not place.is_dir():
        raise FileError(f"{place}: there is no such file or folder (working folder {Path.cwd()})")
    inside = FOLDER in place.absolute().parts
    folders = [place] if inside else list(_folders(place))
    for folder in folders or [place]:
        paths = folder.rglob("*.h5") if folder.name == FOLDER or inside else folder.glob("*.h5")
        yield from (path for path in paths if not path.name.startswith("."))


def _folders(place: Path) -> Iterator[Path]:
    for folder, inner, _ in os.walk(place):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in _SKIPPED)
        if FOLDER in inner:
            inner.remove(FOLDER)
            yield Path(folder, FOLDER)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else writes into the folder; what a killed writer left there is gone."""
    if fcntl is None:
        folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise FileError(f"{folder}: baselines cannot be written there: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in folder.glob(".*.part*"):
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)


def _write(path: Path, baseline: Baseline) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    figures = {name: dict(row.figures) for name, row in baseline.kept.items()}
    try:
        about = {"baseline": figures, "command": []}  # a command line differs from place to place
        with DumpWriter(part, provenance=about, flush_seconds=math.inf) as writer:
            valued = {name: row.values for name, row in baseline.kept.items() if row.values is not None}
            for name, values in valued.items():
                writer.add_tensor(name, values, baseline.kept[name].format)
            writer.describe(Attributes(kernel=baseline.owner, outputs={name: name for name in valued}))
            writer.complete()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
