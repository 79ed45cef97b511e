"""What a kernel, its limit and its inputs may be, said where they are something else."""

import numpy as np
import pytest

from precdiff import api, kernel, ops
from precdiff.diagnose.settings import Settings
from precdiff.errors import KernelError, NotComparableError, PrecDiffError
from precdiff.formats import get_format
from precdiff.kernels import Limit, backward, run_kernel, ulp
from precdiff.machine import EmulatedMachine
from precdiff.trace import RecordingMachine, Trace

X = np.float16([1.0, 2.0])


def double(x):
    return x + x


@pytest.mark.parametrize(("given", "limit"), [(3, ulp(3)), (2.5, ulp(2.5)), (np.float32(1), ulp(1)), (ulp(0), ulp(0))])
def test_a_number_is_a_limit_in_ulp(given, limit):
    assert kernel(limit=given)(double).limit == limit


@pytest.mark.parametrize("given", ["4", True, (4,), lambda n: n, -1, float("nan")])
def test_another_limit_is_refused_when_it_is_declared(given):
    with pytest.raises(KernelError, match=r"found .*; allowed"):
        kernel(limit=given)(double)


@pytest.mark.parametrize("make", [ulp, backward, lambda size: Limit("ulp", size)])
@pytest.mark.parametrize("size", [-1, float("nan"), "3", None])
def test_sizes(make, size):
    with pytest.raises(KernelError, match="allowed is a number of at least 0"):
        make(size)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *x: x, r"found the parameter \*x"),
        (lambda x, **more: x, r"found the parameter \*\*more"),
        (lambda x, *, k: x, "option k needs a default"),
        (max, "parameters cannot be read"),
        (lambda: 1, "takes no input"),
        (lambda x: None, "returned nothing"),
        (lambda x: (), r"returned \(\)"),
        (lambda x: {}, r"returned \{\}"),
        (3, "found int; allowed are a name"),
    ],
)
def test_kernels(function, message):
    with pytest.raises(KernelError, match=message):
        run_kernel(function, {"x": X} if message != "takes no input" else {})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.run("softmax", profile=3, inputs={"x": X}), "profile: found 3; allowed"),
        (lambda: api.run("softmax", inputs=[X]), "inputs are list; allowed is a mapping"),
        (lambda: api.run("softmax", inputs={"x": X}, seed=-1), "seed: found -1"),
        (lambda: api.run("softmax", inputs={"x": X}, seed="1"), "seed: found '1'"),
        (lambda: api.run("softmax", inputs={"x": np.ma.masked_array(X, [0, 1])}), "masked array.*filled"),
        (lambda: api.compare(np.ma.masked_array(X, [0, 1]), X), "masked array.*filled"),
        (lambda: api.open_dump(3), "open_dump: found int"),
        (lambda: api.compare(X, X, max_ulps=3), "unknown setting 'max_ulps'. Did you mean 'max_ulp'"),
        (lambda: Settings(max_ulp="a"), "max_ulp: found 'a'; allowed is a number"),
        (lambda: Settings(rtol=float("nan")), "rtol: found nan"),
        (lambda: Settings(atol=-1.0), "atol: found -1.0"),
    ],
)
def test_arguments(call, message):
    with pytest.raises(PrecDiffError, match=message):
        call()


@pytest.mark.parametrize("op", [lambda x: ops.sum_(x, acc="i8"), lambda x: ops.matmul(x, x, acc="i8")])
def test_floats_are_not_accumulated_in_integers(op):
    with pytest.raises(KernelError, match=r"acc is i8; allowed are .*fp16.*fp32"):
        run_kernel(op, {"x": np.float16([[1.0, 2.0], [3.0, 4.0]])})


def test_integers_are():
    a = np.int8([[1, 2], [3, 4]])
    assert (run_kernel(lambda x: ops.matmul(x, x, acc="i32"), {"x": a}).outputs["out"] == a @ a).all()


def endless(x):
    while True:
        x = x + x


def test_a_loop_that_never_ends_is_stopped():
    machine = RecordingMachine(EmulatedMachine(api.run(double, inputs={"x": X}).trace.profile), Trace("k", None))
    machine.max_steps = 10
    x = machine.input("x", np.float32(X), get_format("fp16"))
    with pytest.raises(KernelError, match="stopped after 10 steps: does a loop of it never end"):
        endless(x)
    assert len(machine.trace.steps) == 10


def test_a_kernel_that_returns_its_input_computed_nothing():
    with pytest.raises(NotComparableError, match="nothing was computed: the kernel returns x as it came"):
        api.compare(api.run(lambda x: x, inputs={"x": X}))


def test_unless_a_reference_says_what_it_should_be():
    doubled = api.run(kernel(reference=double)(lambda x: x), inputs={"x": X})
    same = api.run(kernel(reference=lambda x: x * 1.0)(lambda x: x), inputs={"x": X})
    assert (api.compare(doubled).verdict, api.compare(same).verdict) == ("fail", "pass")
