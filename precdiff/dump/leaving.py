"""What is open when Python ends is closed while Python still runs.

HDF5 closes its files in an exit handler of its own, which runs after the interpreter is gone; a file that lies in a
Python object (commit.py) is then called back into nothing, and the process dies of a segmentation fault (h5py 3.16).
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from typing import Protocol


class _Closable(Protocol):
    def close(self) -> None: ...


_OPEN: weakref.WeakValueDictionary[int, _Closable] = weakref.WeakValueDictionary()


def close_at_exit(file: _Closable) -> None:
    """Close `file` at the end of the process, if it is still there; closing twice must be harmless."""
    _OPEN[id(file)] = file


@atexit.register
def _close_all() -> None:
    for file in list(_OPEN.values()):
        with contextlib.suppress(Exception):  # nobody is left to hear of it, and the others are to be closed too
            file.close()
