"""rmsnorm: the device's output against the truth, and the emulated kernel against what it gave when last looked at."""

import numpy as np
import pytest
from my_kernels.rmsnorm import rmsnorm


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return {"x": rng.normal(0, 2, (4, 512)).astype(np.float16), "gamma": np.ones(512, np.float16)}


@pytest.mark.precdiff(max_ulp=4)
def test_the_device_is_right(precdiff, inputs):
    precdiff.assert_close(rmsnorm(**inputs), kernel="rmsnorm", inputs=inputs)


@pytest.mark.precdiff(profile="ascend-910b")
def test_the_emulated_kernel_does_not_get_worse(precdiff, inputs):
    precdiff.check("rmsnorm", precdiff.run("rmsnorm", inputs=inputs))
