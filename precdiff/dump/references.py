"""References in a dump: /reference/<kind>/<name of the tensor's data set>/ hi, lo, radius, kind.

Attributes: backend, bits, status (DESIGN 3). This file knows their place, not how they came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.dump.h5types import create, read_codes, write_codes
from precdiff.dump.schema import LARGE, REFERENCE, REFERENCE_KINDS, attribute, dataset_name, packed
from precdiff.errors import FileError, UnknownNameError
from precdiff.formats import from_bits, get_format, to_bits
from precdiff.machine.realarray import RealArray

_PLANES = {"hi": "fp64", "lo": "fp64", "radius": "fp64", "kind": "u8"}


@dataclass(frozen=True)
class Reference:
    """What is known of one tensor's true values, and by which means."""

    reals: RealArray
    backend: str
    bits: int
    status: str


def place(kind: str, id: str) -> str:
    """Where the reference of that kind of a tensor lies."""
    if kind not in REFERENCE_KINDS:
        raise UnknownNameError("kind of reference", kind, REFERENCE_KINDS)
    return f"{REFERENCE}/{kind}/{dataset_name(id)}"


def write_reference(file: Any, kind: str, id: str, reference: Reference) -> None:
    """Store a reference, in place of an older one."""
    name = place(kind, id)
    if name in file:
        del file[name]
    group = file.create_group(name)
    for attr in ("backend", "bits", "status"):
        group.attrs[attr] = attribute(getattr(reference, attr))
    for plane, format_name in _PLANES.items():
        _write_plane(group, plane, format_name, getattr(reference.reals, plane))


def _write_plane(group: Any, plane: str, format_name: str, values: np.ndarray) -> None:
    row = get_format(format_name)
    codes = to_bits(values, row)
    settings = packed(values.shape) if codes.nbytes >= LARGE else {}
    write_codes(create(group, plane, row, row, values.shape, **settings), codes)


def read_reference(file: Any, kind: str, id: str) -> Reference:
    """The reference of that kind of a tensor."""
    name = place(kind, id)
    if name not in file:
        raise FileError(f"the dump holds no {kind} reference of {id!r}")
    group = file[name]
    planes = [from_bits(read_codes(group[plane], get_format(fmt)), fmt) for plane, fmt in _PLANES.items()]
    attrs = group.attrs
    return Reference(RealArray(*planes), str(attrs["backend"]), int(attrs["bits"]), str(attrs["status"]))
