"""A dict of tensors as torch.save writes it, made without torch: the opcodes of data.pkl, and a zip around them.

    {name: torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict()), ...}      protocol 2

Formats younger than the storage classes are _rebuild_tensor_v3 over bytes with their dtype, as torch itself writes them
(torch/serialization.py, torch/_utils.py). torch.load(weights_only=True) reads it.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from precdiff.dump.files.stored import c_strides
from precdiff.dump.rows import TensorRow
from precdiff.formats import get_format

#: format -> storage class (torch/storage.py); the others lie in bytes
_CLASSES = {
    "fp64": "Double", "fp32": "Float", "fp16": "Half", "bf16": "BFloat16", "i64": "Long", "i32": "Int", "i16": "Short",
    "i8": "Char", "u8": "Byte", "bool": "Bool",
}  # fmt: skip
_DTYPES = {"e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2", "u16": "uint16", "u32": "uint32", "u64": "uint64"}


def write_zip(path: Path, rows: Sequence[TensorRow], values: Callable[[IO[bytes], str], None]) -> None:
    """Write the file; `values(file, id)` writes a tensor's little-endian bytes."""
    root = path.stem.lstrip(".") or "archive"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}/data.pkl", _pickled(rows))
        archive.writestr(f"{root}/byteorder", "little")
        for key, row in enumerate(rows):
            with archive.open(f"{root}/data/{key}", "w", force_zip64=True) as file:
                values(file, row.id)
        archive.writestr(f"{root}/version", "3\n")


def _pickled(rows: Sequence[TensorRow]) -> bytes:
    items = b"".join(_plain(row.id) + _tensor(key, row) for key, row in enumerate(rows))
    return b"\x80\x02}(" + items + b"u."


def _tensor(key: int, row: TensorRow) -> bytes:
    format, shape = get_format(row.stored_format), row.shape
    strides = tuple(max(stride, 1) for stride in c_strides(shape))
    size = row.size if format.name in _CLASSES else row.size * format.storage.itemsize
    typed = format.name in _CLASSES
    kind = _name("torch", f"{_CLASSES[format.name]}Storage") if typed else _name("torch.storage", "UntypedStorage")
    storage = b"(" + _plain("storage") + kind + _plain(str(key)) + _plain("cpu") + _plain(size) + b"tQ"
    nothing = _name("collections", "OrderedDict") + b")R"
    rest = storage + _plain(0) + _plain(shape) + _plain(strides) + b"\x89" + nothing
    if typed:
        return _name("torch._utils", "_rebuild_tensor_v2") + b"(" + rest + b"tR"
    return _name("torch._utils", "_rebuild_tensor_v3") + b"(" + rest + _name("torch", _DTYPES[format.name]) + b"tR"


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _plain(value: str | int | tuple[int, ...]) -> bytes:
    """The opcodes of a plain value, without a memo."""
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_plain, value)) + b"t"
    if isinstance(value, str):
        content = value.encode()
        return b"X" + len(content).to_bytes(4, "little") + content
    return pickle.dumps(value, 2)[2:-1]
