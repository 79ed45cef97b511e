"""No false alarms: correct kernels, within a limit they can keep, have no finding on any device.

The inputs avoid what these formulas cannot do whatever the device: 1 + erf(x) cancels in gelu's negative tail, exp(-x)
of silu overflows fp16 below -11, softmax costs |x - max| / 2 ulp of the tails, and an element of layernorm near the
mean has no relative accuracy. On the default inputs an output may miss its limit, but never a step its bound.
"""

import numpy as np
import pytest

from precdiff import compare, explain, run
from precdiff.device import PROFILES
from precdiff.formats import native
from precdiff.generate import input_array, stream
from precdiff.kernels import get_kernel
from precdiff.kernels.expression import expression_kernel
from precdiff.rounding import Rounding, round_array
from tests.conftest import EXHAUSTIVE

#: (kernel, inputs other than the examples, limit in ulp other than the kernel's)
CORRECT = [
    ("softmax", {}, 16),
    ("layernorm", {"x": "apart", "gamma": "uniform(0.5,2,shape=(64,))", "beta": "constant(0,shape=(64,))"}, 32),
    ("matmul", {}, None),
    ("reduce_sum", {"x": "normal(0,1,shape=(8,256))"}, None),
    ("gelu", {"x": "uniform(-1,8,shape=(512,))"}, None),
    ("silu", {"x": "uniform(-8,8,shape=(512,))"}, None),
    ("logsumexp", {}, None),
]
DEVICES = sorted(name for name, _ in PROFILES.items()) if EXHAUSTIVE else ["ascend-910b", "ieee", "numpy-pairwise"]


def array(name, spec, seed, format):
    if spec != "apart":
        return input_array(name, spec, seed=seed, format=format)
    # no element near the mean of its row
    rng = stream(seed, name)
    values = rng.choice([-1.0, 1.0], (4, 64)) * rng.uniform(1, 2, (4, 64))
    return native(round_array(values, Rounding(format)), format)


def made(kernel, changed, format, profile, seed):
    specs = {**get_kernel(kernel).examples, **changed}
    return run(kernel, profile=profile, inputs={n: array(n, s, seed, format) for n, s in specs.items()})


@pytest.mark.parametrize("profile", DEVICES)
@pytest.mark.parametrize("format", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize(("kernel", "changed", "limit"), CORRECT, ids=[row[0] for row in CORRECT])
def test_a_correct_kernel_has_no_finding(kernel, changed, limit, format, profile):
    for seed in range(20 if EXHAUSTIVE else 2):
        report = explain(made(kernel, changed, format, profile, seed), max_ulp=limit)
        assert (report.findings, report.first_divergence) == ((), None), seed
        # the report itself may be undecided: an assumed field of the profile, such as flushing, may cost subnormals
        assert {row.verdict for row in report.tensors} == {"pass"}, seed


@pytest.mark.parametrize("format", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("kernel", ["softmax", "layernorm", "gelu"])
def test_on_default_inputs_every_step_keeps_its_bound(kernel, format):
    small = {n: s.replace("4096", "256") for n, s in get_kernel(kernel).examples.items()}
    report = compare(made(kernel, small, format, "ieee", 0))
    assert {row.verdict for row in report.tensors if row.role != "output"} == {"pass"}


def test_an_exact_tie_keeps_the_bound_of_half_an_ulp():
    # 3/2 of the smallest subnormal: the quotient's enclosure has a width, its error is 1/2 ulp exactly
    report = compare(run(expression_kernel("x / 2"), inputs={"x": np.float16(3 * 2.0**-24)}))
    assert [row.max_ulp for row in report.tensors if row.op == "div"] == [0.5, 0.5]
    assert report.verdict == "pass"
