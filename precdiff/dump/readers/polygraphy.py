"""Polygraphy's JSON: saved inputs, or the outputs of its runs.

    outputs    {"lst": [[RUNNER, [ITERATION, ...]], ...], "polygraphy_class": "RunResults"}
    ITERATION  {"outputs": {NAME: {"values": ARRAY, "polygraphy_class": "LazyArray"}}, ...}
    inputs     [{NAME: ARRAY, ...}, ...]
    ARRAY      {"array": BASE64 of a .npy file, "polygraphy_class": "ndarray"}

(polygraphy 0.53.6, polygraphy/json/serde.py and polygraphy/comparator/struct.py.) A tensor is called as it is there; of
several runners or iterations RUNNER/ITERATION/NAME. Tensors of torch are pickles in the text and are refused.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from precdiff.dump.arrays import ArraysDump, Held, held
from precdiff.dump.files.jsonfile import read_json
from precdiff.dump.files.npy import read_header
from precdiff.dump.files.stored import Given, Room, checked_bool, stored
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError

CLASS = "polygraphy_class"
#: how a .npy file begins in base64
_NPY = b'"array": "k05VTVBZ'


class PolygraphyDump(ArraysDump):
    """JSON of Polygraphy: saved inputs or outputs."""

    reader = "polygraphy"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """JSON that names a class of Polygraphy, or holds a .npy file."""
        return head.lstrip()[:1] in (b"{", b"[") and (f'"{CLASS}"'.encode() in head or _NPY in head)

    @classmethod
    def open(cls, path: Path) -> Self:
        found = list(_arrays(read_json(path), path))
        alone = len({prefix for prefix, _, _ in found}) == 1
        tensors = [
            _held(name if alone else f"{prefix}/{name}", array, f"{path}: tensor {name!r}")
            for prefix, name, array in found
        ]
        if len({row.id for row, _ in tensors}) < len(tensors):
            raise FileError(f"{path}: two tensors of one run have the same name")
        return cls(path, Attributes(complete=True), (), tensors)


def _arrays(document: Any, path: Path) -> Iterator[tuple[str, str, Any]]:
    """(RUNNER/ITERATION, name, array) of a document."""
    runs = _of(document, "RunResults", path)["lst"] if isinstance(document, dict) else [["inputs", document]]
    for run in _list(runs, path):
        runner, iterations = _list(run, path, 2)
        for index, iteration in enumerate(_list(iterations, path)):
            outputs = iteration.get("outputs", iteration) if isinstance(iteration, dict) else None
            if not isinstance(outputs, dict):
                raise FileError(f"{path}: found {type(outputs).__name__} where the arrays of an iteration are expected")
            for name, array in outputs.items():
                yield f"{runner}/{index}", name, array


def _of(item: Any, kind: str, path: Path) -> dict[str, Any]:
    found = item.get(CLASS) if isinstance(item, dict) else type(item).__name__
    if found != kind or not isinstance(item, dict):
        raise FileError(f"{path}: found the class {str(found)[:60]!r}; read are RunResults, LazyArray and ndarray")
    if kind == "RunResults" and "lst" not in item:
        raise FileError(f"{path}: its RunResults has no list of runs")
    return item


def _list(item: Any, path: Path, count: int | None = None) -> list[Any]:
    if not isinstance(item, list) or (count is not None and len(item) != count):
        raise FileError(f"{path}: found {str(item)[:60]!r} where a list is expected; the file is damaged")
    return item


def _held(id: str, array: Any, what: str) -> Held:
    if isinstance(array, dict) and array.get(CLASS) == "LazyArray":
        array = array.get("values")
    text = _of(array, "ndarray", Path(what)).get("array")
    try:
        content = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError) as error:
        raise FileError(f"{what}: its base64 is damaged: {error}") from error
    return held(id, _given(content, what))


def _given(content: bytes, what: str) -> Given:
    header = read_header(io.BytesIO(content), what)
    room = Room(Path(what), header.start, len(content) - header.start)
    found = stored(room, header.format, header.shape, header.strides, header.byteorder)  # fits, or raises
    dtype = header.format.storage.newbyteorder(header.byteorder)
    count = int(np.prod(found.shape, dtype=np.int64))
    codes = np.frombuffer(content, dtype, count, header.start).astype(header.format.storage, copy=False)
    shaped = codes.reshape(header.shape, order="F" if header.fortran else "C")
    return Given(header.format, checked_bool(np.array(shaped, order="C"), header.format, Path(what)))


READERS.add("polygraphy", PolygraphyDump)
