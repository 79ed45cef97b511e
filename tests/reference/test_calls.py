"""The true outputs of framework calls: torch on the CPU keeps what is allowed, a wrong element does not."""

import ml_dtypes
import mpmath
import numpy as np
import pytest

from precdiff.formats import get_format, ulp
from precdiff.kernels.api import APIS, known_api
from precdiff.reference import calls
from precdiff.reference.calls import Operand

FP32 = get_format("fp32")
RNG = np.random.default_rng(0)
DTYPES = ["float32", "bfloat16", "float16"]


@pytest.fixture
def made():
    """What tests/reference/framework_calls.py knows, which needs torch."""
    from tests.reference import framework_calls

    return framework_calls


def rows(made, dtype):
    return made.calls(getattr(made.torch, dtype))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_keeps_what_is_allowed(made, dtype):
    found = {}
    for name, function, args, kwargs in rows(made, dtype):
        ours = made.results(function(*args, **kwargs))
        formats = [get_format(made.FORMATS[y.dtype]) for y in ours]
        truths = calls.outputs(APIS[name], made.operand(args), {k: made.operand(v) for k, v in kwargs.items()}, formats)
        found[name] = max(made.excess(made.operand(y), truth) for y, truth in zip(ours, truths, strict=True))
    assert {name: share for name, share in found.items() if share > 1} == {}
    assert len(found) >= 60


def gradients(made, dtype):
    """(call, torch's gradient, the Truth) of every differentiable row."""
    for name, function, args, kwargs in rows(made, dtype):
        own = [a.clone().requires_grad_() if made.is_float(a) else a for a in args]
        leaves = [a for a in own if made.is_float(a)]
        if not leaves or APIS[name].ties or any(isinstance(v, made.torch.Tensor) for v in kwargs.values()):
            continue
        ours = made.results(function(*own, **kwargs))
        seeds = [made.torch.randn(y.shape, generator=made.torch.Generator().manual_seed(1)).to(y.dtype) for y in ours]
        wanted = made.torch.autograd.grad(ours, leaves, seeds)
        given = [made.operand(a) for a in args]
        truths = calls.gradients(APIS[name], given, kwargs, [made.operand(s) for s in seeds])
        kept = [t for t in truths if t is not None]
        yield from ((name, made.operand(g), t) for g, t in zip(wanted, kept, strict=True))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_keeps_what_is_allowed_backward(made, dtype):
    found = {}
    for name, gradient, truth in gradients(made, dtype):
        found[name] = max(found.get(name, 0.0), made.excess(gradient, truth))
    assert {name: share for name, share in found.items() if share > 1} == {}
    assert len(found) >= 55


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_ulp_are_too_many_backward(made, dtype):
    """As forward: a gradient of which every element is 16 ulp off is found, whatever the call."""
    passed = set()
    for name, gradient, truth in gradients(made, dtype):
        moved = (gradient.values + 16 * ulp(gradient.values, gradient.format)).astype(np.float32)
        passed |= {name} if made.excess(Operand(moved, gradient.format), truth) <= 1 else set()
    assert passed <= {"scaled_dot_product_attention"}


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_ulp_are_too_many(made, dtype):
    """Every element of an output moved by 16 ulp: some element is beyond what is allowed, whatever the call.

    But for attention, whose scores may be stored in the data's own format: their rounding is amplified by exp.
    """
    passed = []
    for name, function, args, kwargs in rows(made, dtype):
        ours = made.results(function(*args, **kwargs))
        format = get_format(made.FORMATS[ours[0].dtype])
        formats = [format] * len(ours)
        truths = calls.outputs(APIS[name], made.operand(args), {k: made.operand(v) for k, v in kwargs.items()}, formats)
        right = made.operand(ours[0]).values
        moved = (right + 16 * ulp(right, format)).astype(np.float32)
        if made.excess(Operand(moved, format), truths[0]) <= 1:
            passed.append(name)
    assert set(passed) <= {"scaled_dot_product_attention"}


def test_a_gradient_added_up_in_sixteen_bits_is_found():
    """The bias gradient of layer_norm is a sum over all rows; in bf16 small terms get lost in it."""
    bf16, rng = get_format("bf16"), np.random.default_rng(0)
    x, weight, bias = (rng.normal(size=s).astype(ml_dtypes.bfloat16) for s in ((4096, 8), (8,), (8,)))
    g = rng.uniform(0, 1, (4096, 8)).astype(ml_dtypes.bfloat16)
    given = [Operand(v.astype(np.float32), bf16) for v in (x, weight, bias)]
    arguments = [given[0], (8,), *given[1:]]
    truth = calls.gradients(APIS["layer_norm"], arguments, {}, [Operand(g.astype(np.float32), bf16)])[2]
    narrow = np.zeros(8, ml_dtypes.bfloat16)
    for row in g:
        narrow = narrow + row
    wide = g.astype(np.float64).sum(0)
    np.testing.assert_allclose(truth.exact.hi, wide, rtol=1e-12)
    assert (np.abs(narrow.astype(np.float64) - wide) > truth.allowed).all()
    assert (np.abs(wide.astype(ml_dtypes.bfloat16).astype(np.float64) - wide) <= truth.allowed).all()


def test_a_sum_that_overflows_nothing_is_exact():
    x = np.float32([3e38, 3e38, -3e38])
    (truth,) = calls.outputs(APIS["sum"], [Operand(x, FP32)], {}, [FP32])
    assert truth.exact.hi == float(x[0])


def test_fp64_climbs_the_ladder():
    """Four ulp of fp64 are allowed: an interval of fp64 numbers is too wide to judge that by."""
    x = np.linspace(-3, 3, 7)
    (truth,) = calls.outputs(APIS["exp"], [Operand(x, get_format("fp64"))], {}, [get_format("fp64")])
    assert truth.backend != "interval"
    with mpmath.workdps(40):
        for i, value in enumerate(x):
            found = mpmath.mpf(float(truth.exact.hi[i])) + mpmath.mpf(float(truth.exact.lo[i]))
            assert abs(found - mpmath.exp(mpmath.mpf(float(value)))) < 1e-25


@pytest.mark.parametrize(
    ("call", "row"),
    [
        ("Functional.linear", "linear"), ("Torch.matmul", "matmul"), ("Tensor.__add__", "add"),
        ("Tensor.__rsub__", "sub"), ("Tensor.add_", "add"), ("Tensor.__iadd__", "add"), ("aten.mm.default", "mm"),
        ("Tensor.__truediv__", "div"), ("Distributed.all_reduce", None), ("Module.layers.0.attn", None),
        ("NPU.npu_fusion_attention", None), ("Functional.unheard_of", None),
    ],
)  # fmt: skip
def test_recorded_names(call, row):
    found = known_api(call)
    assert (found.name if found else None) == row
