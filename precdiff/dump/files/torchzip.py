"""What torch.save wrote, read without torch and without running anything.

    ROOT/data.pkl      the object; a tensor is _rebuild_tensor_v2(storage, offset, size, stride, ...)
    ROOT/data/KEY      the bytes of a storage; persistent id ("storage", torch.FloatStorage, KEY, device, elements)
    ROOT/byteorder     "little" or "big" (absent: little)

a zip of uncompressed members (torch/serialization.py, caffe2/serialize/inline_container.h; since torch 1.6). Tensors of
formats younger than the storage classes are _rebuild_tensor_v3 over bytes, with their dtype as an argument. Strides,
offsets and shared storages are honoured. What is not a tensor or a plain container is refused by name (pickled.py).
"""

from __future__ import annotations

import io
import re
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precdiff.dump.files.naming import format_called
from precdiff.dump.files.pickled import Meaning, Name, unpickle
from precdiff.dump.files.stored import Byteorder, Room, Stored, stored
from precdiff.dump.files.zipped import Member, members
from precdiff.errors import FileError
from precdiff.formats import get_format

PICKLE = "data.pkl"
#: bytes of data.pkl; it holds names and shapes, not values
MOST_PICKLE = 256 * 2**20
#: containers in containers
MOST_DEPTH = 64
#: objects reached, counted each time they are reached: shared lists can multiply without end
MOST_REACHED = 2_000_000

#: names that occur as values: the classes of storages, and dtypes
_VALUES = re.compile(r"torch\.(?:storage\.|cuda\.)?(?:\w+Storage|(?:u?q?u?int|b?float|complex|bool|bits)\w*)")


@dataclass(frozen=True)
class _Storage:
    where: Member
    #: of bytes alone, None: then the tensor says it
    format: str | None


@dataclass(frozen=True)
class Unreadable:
    """A tensor whose values have no format here."""

    dtype: str
    shape: tuple[int, ...]


Found = Stored | Unreadable | bool | int | float | str | bytes | None


def load(path: Path) -> Any:
    """The object in the file: dicts, lists, tuples, plain values, and tensors as `Stored` (or `Unreadable`)."""
    members = _members(path)
    root = next(
        (name.removesuffix(PICKLE) for name in members if name.count("/") == 1 and name.endswith(f"/{PICKLE}")), None
    )
    if root is None:
        raise FileError(
            f"{path} is a zip without {PICKLE}: no file of torch.save; it holds {', '.join(list(members)[:6])}"
        )
    pickle = members[root + PICKLE]
    if pickle.size > MOST_PICKLE:
        raise FileError(f"{path}: its {PICKLE} has {pickle.size:,} bytes; {MOST_PICKLE:,} are allowed")
    order = _read(path, members[f"{root}byteorder"]) if f"{root}byteorder" in members else b"little"
    builder = _Builder(path, {name.removeprefix(f"{root}data/"): at for name, at in members.items()}, order)
    content = io.BytesIO(_read(path, pickle))
    return unpickle(content, str(path), builder.calls, builder.storage, _is_dtype)


def leaves(found: Any, what: str) -> Iterator[tuple[str, Found]]:
    """(path with dots, leaf) of everything in an object that `load` gave."""
    left = [MOST_REACHED]

    def walk(item: Any, name: str, depth: int) -> Iterator[tuple[str, Found]]:
        left[0] -= 1
        if depth > MOST_DEPTH or left[0] < 0:
            raise FileError(
                f"{what}: containers nested deeper than {MOST_DEPTH}, or more than {MOST_REACHED:,} objects"
            )
        if isinstance(item, dict | list | tuple):
            for key, inner in item.items() if isinstance(item, dict) else enumerate(item):
                yield from walk(inner, f"{name}.{key}" if name else str(key), depth + 1)
        else:
            yield name, str(item) if isinstance(item, Name) else item

    yield from walk(found, "", 0)


def _members(path: Path) -> dict[str, Member]:
    found = members(path)
    deflated = next((name for name, member in found.items() if member.deflated), None)
    if deflated is not None:
        raise FileError(f"{path}: member {deflated!r} is compressed, which torch.save never does")
    return found


def _read(path: Path, member: Member) -> bytes:
    with path.open("rb") as file:
        file.seek(member.offset)
        return file.read(member.size)


def _is_dtype(name: str) -> bool:
    return _VALUES.fullmatch(name) is not None


class _Builder:
    """What the names in a pickle mean, for one file."""

    def __init__(self, path: Path, members: dict[str, Member], order: bytes) -> None:
        self._path, self._members = path, members
        self._byteorder: Byteorder = ">" if order.strip() == b"big" else "<"
        self.calls: dict[str, Meaning] = {
            "torch._utils._rebuild_tensor": self._tensor,
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_tensor_v3": self._typed,
            "torch._utils._rebuild_parameter": _parameter,
            "torch._utils._rebuild_parameter_with_state": _parameter,
            "collections.OrderedDict": _ordered,
            "torch.Size": _size,
            "torch.device": _device,
            "_codecs.encode": _bytes,
        }

    def storage(self, id: Any) -> _Storage:
        """The storage of a persistent id."""
        if not isinstance(id, tuple) or len(id) < 5 or id[0] != "storage" or not isinstance(id[1], Name):
            raise FileError(f"{self._path}: refused, its pickle has the persistent id {reprlib.repr(id)}")
        key = id[2]
        if not isinstance(key, str) or key not in self._members:
            raise FileError(f"{self._path}: its storage {reprlib.repr(key)} is missing; copy the file again")
        kind = id[1].text.rpartition(".")[2].removesuffix("Storage")
        return _Storage(self._members[key], None if kind == "Untyped" else kind)

    def _tensor(self, storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Stored | Unreadable:
        return self._made(storage, getattr(storage, "format", None) or "Untyped", offset, size, stride)

    def _typed(
        self, storage: Any, offset: Any, size: Any, stride: Any, _grad: Any, _hooks: Any, dtype: Any, *_: Any
    ) -> Stored | Unreadable:
        if not isinstance(dtype, Name):
            raise ValueError("a tensor without a dtype")  # noqa: TRY004 - a damaged pickle, not a wrong type of ours
        return self._made(storage, dtype.text, offset, size, stride)

    def _made(self, storage: Any, dtype: str, offset: Any, size: Any, stride: Any) -> Stored | Unreadable:
        if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
            raise ValueError("a tensor without a storage, or before its beginning")
        if not isinstance(size, tuple) or not isinstance(stride, tuple):
            raise ValueError("a tensor without size and stride")  # noqa: TRY004 - as above
        name = format_called(dtype)
        if name is None:
            return Unreadable(dtype, size)
        format, where = get_format(name), storage.where
        before = offset * format.storage.itemsize
        room = Room(self._path, where.offset + before, where.size - before)
        return stored(room, format, size, stride, self._byteorder)


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _ordered(*items: Any) -> dict[Any, Any]:
    if not items:
        return {}
    (pairs,) = items
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str | int) for pair in pairs):
        raise ValueError("an OrderedDict with keys that are no plain values")
    return dict(pairs)


def _size(sizes: Any = ()) -> tuple[Any, ...]:
    return tuple(sizes)


def _device(*words: Any) -> str:
    return ":".join(reprlib.repr(word) for word in words)


def _bytes(text: Any, _encoding: Any = "latin1") -> bytes:
    """Bytes as protocol 2 writes them."""
    return bytes(text, "latin1")
