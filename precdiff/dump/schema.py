"""Schema 1 of the dump file: the names in it and what its tables hold (docs of the file: DESIGN 7).

This file knows names, columns and how ids become names; it must not open files. Nothing here may change without a new
SCHEMA_VERSION.

A tensor id may hold any character but NUL; `/` separates names in HDF5, so the data set of an id is called
`dataset_name(id)`: the id with `%` written `%25` and `/` written `%2F` (and a lone `.` as `%2E`). A small tensor lies
in a pool, and `where` says so as numpy and h5py would slice it: `/pool/fp16[256:512]`.
"""

from __future__ import annotations

import re
from typing import Any

import h5py
import numpy as np

from precdiff.errors import FileError

SCHEMA = "precdiff-dump"
SCHEMA_VERSION = 1

STEPS, TENSORS, DATA, POOL, REFERENCE = "steps", "tensors", "data", "pool", "reference"

#: tensors of this many bytes and more have a data set of their own
LARGE = 64 * 1024
#: elements of a chunk of a large tensor; the last two axes get square tiles of its root
CHUNK = 65536
#: bytes of a chunk of a pool, rows of a chunk of a table
POOL_CHUNK, ROWS = 8 * 1024, 64

#: attributes of the root: as they are (absent where nobody said), and as JSON text; beside schema and complete
PLACES = ("iteration", "rank", "microbatch")
_TEXTS, _INTEGERS = ("kernel", "profile", "format", "created"), ("seed", *PLACES)
PLAIN_ATTRIBUTES = (*_TEXTS, *_INTEGERS)
ATTRIBUTE_TYPES = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_INTEGERS, int), "complete": bool}
JSON_ATTRIBUTES = ("inputs", "outputs", "options", "provenance")
#: of these, names to tensor ids
ID_ATTRIBUTES = ("inputs", "outputs")

DATA_KINDS = ("full", "stats", "checksum")
ROLES = ("input", "output", "parameter", "grad")
REFERENCE_KINDS = ("total", "storage", "local")

_TEXT = h5py.string_dtype()
STEP_COLUMNS = np.dtype(
    [(name, _TEXT) for name in ("id", "op", "layer", "phase", "params", "inputs", "outputs", "source")]
)
TENSOR_COLUMNS = np.dtype(
    [(n, _TEXT) for n in ("id", "name", "role", "layer", "format", "stored_format", "shape", "data", "where")]
    + [(n, "<f8") for n in ("min", "max", "mean", "l2")]
    + [(n, "<i8") for n in ("nan_count", "inf_count")]
    + [("checksum", _TEXT)]
)  # fmt: skip


def dataset_name(id: str) -> str:
    """The name of an id's data set.

    >>> dataset_name("softmax/exp#2")
    'softmax%2Fexp#2'
    """
    if not id:
        raise FileError("a tensor cannot be called '': its id is empty")
    return "%2E" if id == "." else text(id).replace("%", "%25").replace("/", "%2F")


def text(value: str) -> str:
    """The value, refused where HDF5 would not give it back: it ends a text at NUL and knows UTF-8 only.

    >>> text("größe")
    'größe'
    """
    if "\0" in value or value != value.encode(errors="replace").decode():
        raise FileError(f"a dump cannot hold the text {value!r}; NUL and lone surrogates are not allowed in it")
    return value


def pool_place(format: str, start: int, stop: int) -> str:
    """The `where` of a small tensor."""
    return f"/{POOL}/{format}[{start}:{stop}]"


def data_place(id: str) -> str:
    """The `where` of a large tensor."""
    return f"/{DATA}/{dataset_name(id)}"


def parse_place(where: str) -> tuple[str, int | None, int | None]:
    """(name of the data set, first and last element in a pool) of a `where`.

    >>> parse_place("/pool/fp16[256:512]")
    ('/pool/fp16', 256, 512)
    """
    found = re.fullmatch(rf"(/{POOL}/\w+)\[(\d+):(\d+)\]", where)
    if found:
        return found[1], int(found[2]), int(found[3])
    if re.fullmatch(rf"/{DATA}/[^/]+", where):
        return where, None, None
    raise FileError(f"found {where!r} as a tensor's place; allowed are /{DATA}/NAME and /{POOL}/FORMAT[START:STOP]")


def chunk_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Tiles of 256 x 256 over the last two axes, filled up from the last axis where the tensor is narrower.

    >>> chunk_shape((4096, 4096)), chunk_shape((100000, 3)), chunk_shape((1000000,))
    ((256, 256), (21845, 3), (65536,))
    """
    side = int(CHUNK**0.5)
    chunk = [1] * len(shape)
    for limit in (side, CHUNK):
        for axis in reversed(range(len(shape))):
            room = CHUNK // (int(np.prod(chunk)) // chunk[axis])
            chunk[axis] = max(chunk[axis], min(shape[axis], limit, room))
    return tuple(chunk)


def packed(shape: tuple[int, ...]) -> dict[str, Any]:
    """How a large data set is stored."""
    return {"chunks": chunk_shape(shape), "compression": "gzip", "compression_opts": 1, "shuffle": True}


def attribute(value: Any) -> Any:
    """A value as an HDF5 attribute holds it, told apart from one it cannot hold."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return np.int64(value)
    raise FileError(f"a dump cannot hold {value!r} as an attribute; allowed are text and integers of 64 bits")
