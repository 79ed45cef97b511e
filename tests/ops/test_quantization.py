"""quantize and dequantize against their definition in exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels import run_kernel
from precdiff.kernels.kernel import kernel
from precdiff.machine import EmulatedMachine
from precdiff.reference import total

IEEE = EmulatedMachine(get_profile("ieee"))


def tensor(values, fmt="fp32"):
    return IEEE.tensor(np.asarray(values, get_format(fmt).carrier), get_format(fmt))


def nearest_even(x):
    return round(x)


@pytest.mark.parametrize("to", ["i8", "u8", "i16"])
@pytest.mark.parametrize("zero_point", [0, 3, -5])
def test_quantize_is_its_definition(to, zero_point):
    # a power of two divides exactly, so that the definition needs no rounding but the one asked for
    rng = np.random.default_rng(1)
    scale = 2.0**-5
    x = np.concatenate([rng.normal(0, 8, 2000), np.arange(-300, 300) * scale / 2, [1e30, -1e30]]).astype(np.float32)
    low, high = get_format(to).integer_range
    wanted = [min(max(nearest_even(Fraction(float(v)) / Fraction(scale)) + zero_point, low), high) for v in x]
    result = ops.quantize(tensor(x), scale, zero_point, to=to)
    assert result.format.name == to and result.planes[0].tolist() == wanted


def test_dequantize_is_its_definition():
    q = np.arange(-128, 128).astype(np.int8)
    result = ops.dequantize(tensor(q, "i8"), 0.25, zero_point=7)
    assert result.format.name == "fp32"
    assert result.planes[0].tolist() == [(int(n) - 7) * 0.25 for n in q]
    assert ops.dequantize(tensor(q, "i8"), tensor(0.1, "fp16")).format.name == "fp16"


def test_the_scale_of_the_fixpipe_loses_13_bits():
    scale = np.float32(0.0123456)
    cut = (scale.view(np.uint32) // 2**13 * 2**13).astype(np.uint32).view(np.float32)
    x = np.float32(np.random.default_rng(2).normal(0, 1, 1000))
    for given in (float(scale), tensor(scale)):
        assert (
            ops.quantize(tensor(x), given, fixpipe=True).planes[0] == ops.quantize(tensor(x), float(cut)).planes[0]
        ).all()
    with pytest.raises(KernelError, match="the scale is fp16; allowed is fp32"):
        ops.quantize(tensor(x, "fp32"), tensor(0.5, "fp16"), fixpipe=True)
    with pytest.raises(KernelError, match="to='fp16'; allowed are integer formats"):
        ops.quantize(tensor(x), 0.5, to="fp16")


@kernel
def through_int8(x, scale):
    """There and back."""
    return ops.dequantize(ops.quantize(x, scale, fixpipe=True), scale, fixpipe=True)


def test_the_reference_uses_the_cut_scale_too():
    x = np.float32(np.random.default_rng(3).normal(0, 1, 400))
    trace = run_kernel(through_int8, {"x": x, "scale": np.float32(0.0123456)}, format="fp32").trace
    out = trace.outputs["out"]
    reference = total(trace, [out])[out]
    error = np.abs(reference.values.hi - trace.values[out])
    assert reference.status == "certified"
    assert np.mean(error <= 2.0**-24 * np.abs(reference.values.hi)) > 0.99  # else x / scale was rounded to a tie
