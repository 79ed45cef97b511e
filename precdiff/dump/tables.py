"""What grows while a dump is written: tables and pools that hold rows back until the next flush.

Neither is compressed: the last chunk is rewritten at every flush and stays where it is. This file must not know what
the rows mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from precdiff.dump.h5types import create, stored_format, write_codes
from precdiff.dump.schema import POOL, POOL_CHUNK, ROWS, pool_place
from precdiff.formats import Array, Format


class Table:
    """An appendable compound data set."""

    def __init__(self, file: Any, name: str, columns: np.dtype[Any]) -> None:
        self._dataset = file.create_dataset(name, shape=(0,), maxshape=(None,), chunks=(ROWS,), dtype=columns)
        self._waiting: list[tuple[Any, ...]] = []
        self.count = 0

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row; it reaches the file with the next flush."""
        self._waiting.append(row)
        self.count += 1

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            first = self.count - len(self._waiting)
            self._dataset.resize((self.count,))
            self._dataset[first:] = np.array(self._waiting, self._dataset.dtype)
            self._waiting.clear()


class Pool:
    """Small tensors of one format, one after another."""

    def __init__(self, file: Any, format: Format) -> None:
        stored = stored_format(format)
        settings = {"maxshape": (None,), "chunks": (POOL_CHUNK // stored.storage.itemsize,)}
        self._dataset = create(file, f"{POOL}/{format.name}", format, stored, (0,), **settings)
        self._format = format
        self._waiting: list[Array] = []
        self.count = 0

    def append(self, codes: Array) -> str:
        """Add a tensor's codes and give their place."""
        first, self.count = self.count, self.count + codes.size
        self._waiting.append(codes.reshape(-1))
        return pool_place(self._format.name, first, self.count)

    def flush(self) -> None:
        """Write the codes that wait."""
        if self._waiting:
            codes = np.concatenate(self._waiting)
            self._dataset.resize((self.count,))
            write_codes(self._dataset, codes, (self.count - codes.size,))
            self._waiting.clear()
