"""Named entries and the folders they are discovered in.

One Registry a kind (formats, ops, profiles, kernels, readers, metrics, standards, rules). Adding an entry means adding
a file to the folder: `discover` imports every module of a package once, and importing registers. No hand-kept lists.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Generic, TypeVar

from precdiff.errors import PrecDiffError, UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Entries by name, in order of registration; an unknown name raises with the nearest known one.

    >>> colours = Registry[int]("colour")
    >>> colours.add("red", 1)
    1
    >>> colours["red"]
    1
    """

    def __init__(self, what: str, folder: str | None = None) -> None:
        self.what = what
        self._folder = folder
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Register `entry` under `name`; a second entry of the same name is a programming error."""
        if name in self._entries:
            raise PrecDiffError(f"two {self.what} entries are called {name!r}; names must be unique")
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        self._discover()
        if name not in self._entries:
            raise UnknownNameError(self.what, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(tuple(self._entries))

    def items(self) -> tuple[tuple[str, T], ...]:
        """All (name, entry) pairs."""
        self._discover()
        return tuple(self._entries.items())

    def _discover(self) -> None:
        if self._folder is not None:
            folder, self._folder = self._folder, None
            discover(folder)


def discover(package: str) -> None:
    """Import every module directly inside `package`; each registers itself on import."""
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        importlib.import_module(f"{package}.{module.name}")
