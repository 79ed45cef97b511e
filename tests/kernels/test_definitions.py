"""Every kernel's certified reference holds its definition in mpmath, and its outputs are as near to it as it says."""

import mpmath
import numpy as np
import pytest

from precdiff.diagnose.judgement import Judgement
from precdiff.formats import get_format, ulp
from precdiff.kernels import KERNELS
from tests.kernels.definitions import DEFINITIONS, DIGITS, conv2d, derivatives, numbers
from tests.kernels.examples import FLOATS, SMALL, run

#: their sources hold binary64 numbers where the definition has sqrt 2, pi or decimals
LITERALS = {"gelu", "gelu_tanh", "adam_step"}

#: computed in the inputs' own format: what 16 bits cost is not bounded by a rounding of the result
NARROW = {"softmax", "layernorm", "logsumexp", "matmul", "reduce_sum", "conv2d", "matmul_backward"}


def inputs_of(done):
    return {name: numbers(done.trace.values[id]) for name, id in done.trace.inputs.items()}


def held(done, defined, slack):
    """Definition inside the certified radius, for every element of every output."""
    judged = Judgement(done.trace, done.kernel)
    assert set(done.trace.outputs) == set(defined)
    for name, tensor in done.trace.outputs.items():
        made = judged.intended[tensor]
        assert made.status == "certified"
        values = made.values
        away = np.abs(numbers(values.hi) + numbers(values.lo) - defined[name])
        allowed = numbers(values.radius) + np.abs(defined[name]) * slack
        assert np.shape(away) == np.shape(allowed) == values.shape
        assert np.all(away <= allowed), (name, max(map(float, np.ravel(away - allowed))))


def ulps(done, defined):
    """The largest error of any output against the definition, in ulp."""
    worst = 0.0
    for name, tensor in done.trace.outputs.items():
        unit = ulp(np.asarray(defined[name], np.float64), get_format(done.trace.formats[tensor]))
        error = np.asarray(np.abs(numbers(done.trace.values[tensor]) - defined[name]), np.float64)
        worst = max(worst, float(np.max(error / unit)))
    return worst


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workdps(DIGITS):
        yield


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize("name", list(DEFINITIONS))
def test_the_reference_is_the_definition_and_the_output_is_near(name, format):
    done = run(name, format, specs=SMALL[name])
    defined = DEFINITIONS[name](**inputs_of(done))
    held(done, defined, 2.0**-40 if name in LITERALS else 2.0**-100)
    if format != "fp32" and name not in NARROW:
        assert ulps(done, defined) <= 0.51


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "layernorm", "matmul"])
def test_backward_kernels_are_the_derivatives_of_the_definition(name, format):
    done = run(f"{name}_backward", format, specs=SMALL[f"{name}_backward"])
    inputs = inputs_of(done)
    dy = inputs.pop("dy")
    defined = derivatives(name, inputs, dy)
    held(done, defined, 2.0**-100)
    if format != "fp32" and name != "matmul":
        assert ulps(done, defined) <= 0.51


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0), (2, 2)])
def test_strided_and_padded_convolution(stride, padding):
    done = run("conv2d", "fp16", specs=SMALL["conv2d"], stride=stride, padding=padding)
    held(done, conv2d(**inputs_of(done), stride=stride, padding=padding), 2.0**-100)


@pytest.mark.parametrize("name", ["conv2d", "attention", "flash_attention"])
def test_in_fp64_it_is_the_direct_definition_in_fp64(name):
    done = run(name, "fp64", specs=SMALL[name])
    direct = {"conv2d": conv2d_fp64}.get(name, attention_fp64)
    expected, terms = direct(**{n: done.trace.values[id] for n, id in done.trace.inputs.items()})
    assert np.all(np.abs(done.outputs["out"] - expected) <= 32 * 2.0**-53 * terms)


def conv2d_fp64(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return tuple(np.einsum("ncijab,ocab->noij", a, b) for a, b in ((windows, w), (np.abs(windows), np.abs(w))))


def attention_fp64(q, k, v):
    weights = np.exp(np.einsum("bid,bjd->bij", q, k) / np.sqrt(q.shape[-1]))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights @ np.abs(v)


def test_every_float_kernel_has_a_definition_here_or_is_a_bad_form():
    known = {*DEFINITIONS, *(f"{name}_backward" for name in DEFINITIONS), "pow", "int8_matmul"}
    others = {n for n, k in KERNELS.items() if "known bad form" not in (k.function.__doc__ or "")} - known
    assert others == set()
