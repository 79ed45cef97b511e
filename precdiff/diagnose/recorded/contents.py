"""What the tensors of a dump hold, and which hold the same: the values of one are kept at a time, of all their digests.

Two tensors are the same where format and codes are, whatever their shapes: a view, a reshape, a module's output that
is its last call's. This file must not know what made them.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import cached_property

import numpy as np

from precdiff.dump import Dump, Streamed, TensorRow
from precdiff.formats import get_format
from precdiff.reference.calls import Operand
from precdiff.rounding import Rounding, round_array

#: bytes of values that are kept for the next time they are asked for
_KEPT = 2**27


class Contents:
    """The tensors of one dump by id."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self._kept: OrderedDict[str, Operand] = OrderedDict()
        self._digests: dict[str, bytes | None] = {}

    def row(self, id: str) -> TensorRow:
        """The tensor's row."""
        return self.dump.tensors[id]

    def held(self, id: str) -> bool:
        """Whether its values were kept."""
        return id in self.dump.tensors and self.row(id).data == "full"

    def operand(self, id: str) -> Operand:
        """Its values, in the format they had when they were computed."""
        if id not in self._kept:
            self._kept[id] = self._read(id)
            while len(self._kept) > 1 and sum(o.values.nbytes for o in self._kept.values()) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(id)
        return self._kept[id]

    def _read(self, id: str) -> Operand:
        row, values = self.row(id), self.dump.tensor(id)
        format = get_format(row.format)
        if row.stored_format != row.format and format.is_float:
            values = round_array(values, Rounding(format)).astype(format.carrier)
        return Operand(np.asarray(values), format)

    def streamed(self, id: str) -> Streamed:
        """Its values piece by piece, of which none is kept."""
        return Streamed(self.dump, id)

    def digest(self, id: str) -> bytes | None:
        """Equal for tensors that hold the same; None where that is not known, or where there is at most one element."""
        if id not in self._digests:
            self._digests[id] = self._digested(id)
        return self._digests[id]

    def _digested(self, id: str) -> bytes | None:
        if not self.held(id) or self.row(id).size < 2:
            return None
        digest = hashlib.blake2b(self.row(id).format.encode(), digest_size=16)
        for _, codes in self.dump.code_chunks(id):
            digest.update(np.ascontiguousarray(codes).data)
        return digest.digest()

    @cached_property
    def made_by(self) -> dict[str, str]:
        """The step that made each tensor."""
        return {id: step.id for step in self.dump.steps for _, id in step.outputs}
