"""Files of torch.save (.pt, .pth): tensors in dicts, lists and tuples, read without torch; nothing in them is run.

A tensor's id is its path in the containers, `layers.0.weight`; a tensor that stands alone is called `tensor`. Plain
values are kept as the dump's options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from precdiff.dump.arrays import ArraysDump, Held, held, kept_rows, without_format, write_codes
from precdiff.dump.dump import Dump
from precdiff.dump.files.stored import Stored
from precdiff.dump.files.torchwrite import write_zip
from precdiff.dump.files.torchzip import Unreadable, leaves, load
from precdiff.dump.files.zipped import first_name
from precdiff.dump.reader import READERS
from precdiff.dump.rows import Attributes
from precdiff.errors import FileError

#: how a file of torch before 1.6 begins: a pickled integer, 0x1950a86a20f9469cfc6c (torch/serialization.py)
LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
ALONE = "tensor"


class TorchDump(ArraysDump):
    """Files of torch.save."""

    reader = "pytorch"
    suffix = ".pt"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """A zip whose first member is ROOT/data.pkl, or the old format."""
        return head.startswith(LEGACY) or first_name(head).endswith(b"/data.pkl")

    @classmethod
    def open(cls, path: Path) -> Self:
        with path.open("rb") as file:
            if file.read(len(LEGACY)) == LEGACY:
                raise FileError(f"{path} is in torch's format of before 1.6; save it again with torch 1.6 or newer")
        tensors: dict[str, Held] = {}
        options: dict[str, Any] = {}
        for name, leaf in leaves(load(path), str(path)):
            id = name or ALONE
            if isinstance(leaf, Stored | Unreadable):
                tensors[id] = _held(id, leaf)
            elif isinstance(leaf, bool | int | float | str | None):
                options[id] = leaf
        return cls(path, Attributes(complete=True, options=options), (), tensors.values())

    @classmethod
    def write(cls, path: Path, dump: Dump) -> None:
        write_zip(path, kept_rows(dump), lambda file, id: write_codes(file, dump, id))


def _held(id: str, leaf: Stored | Unreadable) -> Held:
    if isinstance(leaf, Stored):
        return held(id, leaf)
    return without_format(id, leaf.dtype, leaf.shape)


READERS.add("pytorch", TorchDump)
