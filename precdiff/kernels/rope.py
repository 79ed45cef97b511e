"""rope(x): rotary position embedding (Su and others 2021), halves rotated against each other (GPT-NeoX's layout).

    angle[p, i] = (start + p) base^(-2i/d),   y1 = x1 cos - x2 sin,   y2 = x2 cos + x1 sin       x (..., positions, d)

The angle table is computed inside, in the format `table`. In bf16 it holds no odd position above 256: 257 becomes 256.
"""

from __future__ import annotations

from precdiff.errors import KernelError
from precdiff.formats import Format, get_format
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor
from precdiff.ops import broadcast_to, cast, concatenate, cos, cumsum, power, reshape, sin


def _counted(like: Tensor, length: int, first: int, format: Format) -> Tensor:
    """first, first + 1, ... in a format that holds them exactly."""
    one = like.machine.constant(1.0, format)
    whole: Tensor = cumsum(broadcast_to(one, (length,)), axis=0) + float(first - 1)
    return whole


def _angles(x: Tensor, base: float, start: int, table: Format) -> Tensor:
    """(positions, d/2) angles in format `table`."""
    exact = get_format("fp32")
    half = x.shape[-1] // 2
    positions = cast(_counted(x, x.shape[-2], start, exact), table)
    index = cast(_counted(x, half, 0, exact), table)
    frequency = power(base, index * (-1.0 / half))
    angles: Tensor = reshape(positions, (-1, 1)) * reshape(frequency, (1, -1))
    return angles


def _rotated(x: Tensor, base: float, start: int, table: str, inner: str) -> Tensor:
    if x.ndim < 2 or x.shape[-1] % 2:
        raise KernelError(f"rope: x has shape {x.shape}; allowed are (..., positions, d) with an even d")
    wide = inside(x, inner)
    angles = _angles(x, base, start, get_format(table) if table else wide.format)
    c, s = (inside(function(angles), wide.format.name) for function in (cos, sin))
    half = x.shape[-1] // 2
    one, two = wide[..., :half], wide[..., half:]
    return outside(concatenate([one * c - two * s, two * c + one * s], axis=-1), x)


@kernel(limit=backward(256), examples={"x": "normal(0,1,shape=(2,64,32))"})
def rope(x: Tensor, *, base: float = 10000.0, start: int = 0, table: str = "", inner: str = INNER) -> Tensor:
    """x rotated by its positions' angles; arithmetic in `inner`, the angle table in `table` (default: as inner).

    The limit is relative to |x1 cos| + |x2 sin|, and would have to grow with the positions: an angle of p radians is
    rounded by up to p u, which turns the pair by as much. 256 is 4 a position for the example's 64; in fp32, position
    4096 needs 64 times that (error_amplification at the angle).
    """
    return _rotated(x, base, start, table, inner)


@kernel(name="rope_bf16_table", limit=backward(256), reference=rope, examples={"x": "normal(0,1,shape=(2,64,32))"})
def rope_bf16_table(x: Tensor, *, base: float = 10000.0, start: int = 240, inner: str = INNER) -> Tensor:
    """The known bad form: positions and angles in bf16, where position 257 is position 256."""
    return _rotated(x, base, start, "bf16", inner)
