"""The errors a user can cause.

Every message says four things: what was asked, what was found, what is allowed and what to do. Commands turn a
PrecDiffError into one line on stderr and exit code 2; anything else that escapes is a defect of PrecDiff. A comparison
that fails is a result, not an exception, until an assertion asks.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PrecDiffError(Exception):
    """Root of all errors whose cause lies with the caller: input, options, files or kernels."""


class UnknownNameError(PrecDiffError, KeyError):
    """A name that no registry entry carries; the message lists near misses and all that is allowed."""

    def __init__(self, what: str, name: object, allowed: Iterable[str]) -> None:
        self.what, self.name, self.allowed = what, name, sorted(allowed)
        super().__init__(self._message())

    def _message(self) -> str:
        near = difflib.get_close_matches(str(self.name), self.allowed, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"unknown {self.what} {self.name!r}.{hint} Known: {', '.join(self.allowed) or 'none'}."

    def __str__(self) -> str:
        return str(self.args[0])


class KernelError(PrecDiffError):
    """A kernel could not be traced: it raised, branched on a tensor, or mixed formats, shapes or machines."""


class FileError(PrecDiffError):
    """A file is missing, unreadable, incomplete or not what its place in the command asks for."""


class NotComparableError(PrecDiffError):
    """Two things cannot be compared, or nothing was left to compare."""


class DefectError(PrecDiffError):
    """PrecDiff contradicts itself, for example a reference outside its own radius; please report it."""
