"""Tensors as a matrix unit tiles them, read in their own shape: FRACTAL_NZ and NC1HWC0.

    FRACTAL_NZ    (..., C1, N1, N0, C0)    element (n, c) at (c // C0, n // N0, n % N0, c % C0)
    NC1HWC0       (N, C1, H, W, C0)        element (n, c, h, w) at (n, c // C0, h, w, c % C0)

(mindstudio-probe 26.2.0, msaccucmp/format_manager/builtin_format_convert.) Rows and columns beyond the original shape
are padding. Both are strided views in which two neighbouring axes, blocks and what is in them, are one axis: only the
blocks a piece touches are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from precdiff.dump.files.stored import Room, Stored, c_strides, stored
from precdiff.formats import Array, Format


@dataclass(frozen=True)
class Untiled:
    """`view` with its axes `axis` and `axis + 1` as one, cut to `shape`."""

    view: Stored
    axis: int
    shape: tuple[int, ...]

    @property
    def format(self) -> Format:
        """The format the codes are of."""
        return self.view.format

    def block(self, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """The codes of the block of `shape` at `start`."""
        if 0 in shape:
            return np.empty(shape, self.format.storage)
        axis, inner = self.axis, self.view.shape[self.axis + 1]
        first, count = start[axis] // inner, shape[axis]
        blocks = -(-(start[axis] + count) // inner) - first
        place = (*start[:axis], first, 0, *start[axis + 1 :])
        found = self.view.block(place, (*shape[:axis], blocks, inner, *shape[axis + 1 :]))
        joined = found.reshape(*shape[:axis], blocks * inner, *shape[axis + 1 :])
        skipped = start[axis] - first * inner
        return np.ascontiguousarray(np.take(joined, range(skipped, skipped + count), axis))


def fractal_nz(room: Room, format: Format, tiled: tuple[int, ...], shape: tuple[int, ...]) -> Untiled | None:
    """The tensor of `shape` in FRACTAL_NZ of the shape `tiled`; None where the two do not belong together."""
    rows, columns = ((1, *shape) if len(shape) == 1 else shape)[-2:] if shape else (0, 0)
    lead = shape[:-2]
    if len(tiled) < 4 or not shape or math.prod(tiled[:-4]) != math.prod(lead):
        return None
    outer, n1, n0, inner = tiled[-4:]
    if rows > n1 * n0 or columns > outer * inner:
        return None
    n = n1 * n0
    block = outer * n * inner
    strides = (*(s * block for s in c_strides(lead)), *((inner,) if len(shape) > 1 else ()), n * inner, 1)
    view = stored(room, format, (*lead, *((n,) if len(shape) > 1 else ()), outer, inner), strides)
    return Untiled(view, len(shape) - 1, shape)


def nz_shape(shape: tuple[int, ...], tile: tuple[int, int]) -> tuple[int, ...]:
    """The shape of a tensor in FRACTAL_NZ with tiles of (N0, C0).

    >>> nz_shape((2, 17, 40), (16, 16))
    (2, 3, 2, 16, 16)
    """
    rows, columns = (1, *shape)[-2:]
    return (*shape[:-2], -(-columns // tile[1]), -(-rows // tile[0]), *tile)


def nc1hwc0(room: Room, format: Format, tiled: tuple[int, ...], shape: tuple[int, ...]) -> Untiled | None:
    """The same of NC1HWC0; the original shape is NCHW or NHWC, whichever fits, and None where both or neither do."""
    if len(tiled) != 5 or len(shape) != 4:
        return None
    batch, outer, height, width, inner = tiled
    fits = [
        (1, (0, 1, 4, 2, 3), shape == (batch, shape[1], height, width) and shape[1] <= outer * inner),
        (3, (0, 2, 3, 1, 4), shape == (batch, height, width, shape[3]) and shape[3] <= outer * inner),
    ]
    found = [(axis, order) for axis, order, fit in fits if fit]
    if len(found) != 1:
        return None
    axis, order = found[0]
    strides = c_strides(tiled)
    view = stored(room, format, tuple(tiled[k] for k in order), tuple(strides[k] for k in order))
    return Untiled(view, axis, shape)
