"""Work in blocks gives what the work gives at once."""

import numpy as np
import pytest

from precdiff.formats.blocks import BLOCK, in_blocks


@pytest.mark.parametrize("shape", [(), (0,), (7,), (BLOCK,), (BLOCK + 1,), (3, BLOCK), (2, 5 * BLOCK // 3, 1)])
def test_blocks_are_invisible(shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    result = in_blocks(lambda a, b: a * 2 + b, x, np.float64(1.0))
    assert result.shape == shape
    assert (result == x * 2 + 1).all()


def test_the_work_decides_the_dtype_and_blocks_come_in_order():
    sizes = []

    def work(x):
        sizes.append(x.size)
        return x > 1

    result = in_blocks(work, np.arange(2 * BLOCK + 5)[::-1])
    assert result.dtype == bool
    assert sizes == [BLOCK, BLOCK, 5]
    assert result.sum() == 2 * BLOCK + 3


def test_operands_are_broadcast():
    column, row = np.arange(400.0)[:, None], np.arange(300.0)
    assert (in_blocks(np.add, column, row) == column + row).all()
