"""softmax against the truth of the kernel that PrecDiff knows, on data that breaks such kernels."""

import numpy as np
import pytest
from my_kernels.softmax import softmax


@pytest.mark.precdiff(max_ulp=1)
@pytest.mark.precdiff_data("softmax", format="fp16", classes="typical", shape=(8, 64))
def test_typical_data(precdiff, precdiff_case):
    x = precdiff_case.inputs["x"]
    precdiff.assert_close(softmax(x), kernel="softmax", inputs={"x": x})


def test_what_it_gives_does_not_change(precdiff):
    x = np.linspace(-4, 4, 128).reshape(4, 32).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max())
    precdiff.check("shares", softmax(x), expected=e / e.sum(axis=-1, keepdims=True))
