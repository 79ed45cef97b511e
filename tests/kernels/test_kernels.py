"""All kernels on their own examples: they run on every profile, pass their limits, or say what is found."""

import functools

import numpy as np
import pytest

from precdiff import api
from precdiff.errors import KernelError
from precdiff.formats import ulp_distance
from precdiff.kernels import KERNELS
from tests.kernels.examples import FLOATS, PROFILES, SMALL, arrays, run

#: first cause of the known bad forms in fp16, and those that take another kind of input or format to fail
BAD = {
    "softmax_naive": "overflow", "logsumexp_naive": "overflow", "silu_naive": "overflow", "sigmoid_naive": "overflow",
    "rmsnorm_naive": "overflow", "attention_naive": "overflow", "log_softmax_naive": "underflow_ftz",
    "cross_entropy_naive": "underflow_ftz", "adam_step_naive": "underflow_ftz", "gelu_naive": "cancellation",
    "gelu_tanh_naive": "cancellation", "layernorm_one_pass": "cancellation",
}  # fmt: skip

GOOD = [name for name, row in KERNELS.items() if "known bad form" not in (row.function.__doc__ or "") and name != "pow"]

#: (kernel, format) that fails its limit on its example, as its docstring says
FINDINGS = {
    *((name, format) for name in ("softmax", "layernorm") for format in FLOATS),
    ("reduce_sum", "bf16"),
    *((name, "fp32") for name in ("gelu", "gelu_tanh", "softmax_backward")),
}


@functools.cache
def done(name, format):
    return run(name, format)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", list(KERNELS))
def test_it_runs_on_the_profile_in_every_format(name, profile):
    for format in FLOATS:
        outputs = run(name, format, profile).outputs
        assert all(np.isfinite(np.asarray(v, np.float64)).all() for v in outputs.values()) or name in {*BAD, "pow"}


@pytest.mark.parametrize("format", ["fp16", pytest.param("bf16", marks=pytest.mark.slow), "fp32"])
@pytest.mark.parametrize("name", GOOD)
def test_a_correct_kernel_passes_or_says_what_is_found(name, format):
    verdict = api.compare(done(name, format)).verdict
    assert verdict == ("fail" if (name, format) in FINDINGS else "pass")
    assert ("Finding" in KERNELS[name].function.__doc__) or verdict == "pass"


@pytest.mark.parametrize(
    ("name", "format", "causes"),
    [
        ("gelu", "fp32", {"error_amplification"}),
        ("gelu_tanh", "fp32", {"accumulated_rounding"}),
        ("softmax_backward", "fp32", {"accumulated_rounding"}),
        ("softmax", "fp32", {"error_amplification"}),
        ("layernorm", "fp32", {"cancellation", "accumulated_rounding"}),
        ("reduce_sum", "bf16", {"stagnation"}),
    ],
)
def test_what_is_found_is_proven(name, format, causes):
    first = api.explain(done(name, format)).findings[0]
    assert (first.standing, first.cause in causes) == ("verified", True)


@pytest.mark.parametrize(("name", "cause"), list(BAD.items()))
def test_a_known_bad_form_is_found_out(name, cause):
    report = api.explain(done(name, "fp16"))
    assert (report.verdict, report.findings[0].cause) == ("fail", cause)


def test_every_known_bad_form_is_tested():
    assert {n for n, k in KERNELS.items() if "known bad form" in (k.function.__doc__ or "")} == {
        *BAD,
        "rope_bf16_table",
    }


def test_a_bf16_table_puts_position_257_at_256():
    trace = run("rope_bf16_table", "bf16").trace
    positions = next(s for s in trace.steps if s.op == "cast" and s.format == "bf16" and "sub" not in s.id)
    assert trace.values[positions.id][257 - 240] == 256
    report = api.compare(run("rope_bf16_table", "fp16"))
    assert (report.verdict, report.first_divergence) == ("fail", "cast#2")


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize("block", [1, 3, 8, 32, 99])
def test_flash_attention_is_attention(format, block):
    plain = run("attention", format).outputs["out"]
    tiled = run("flash_attention", format, block=block)
    q, k, v = (np.asarray(tiled.trace.values[n], np.float64) for n in "qkv")
    weights = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    terms = weights / weights.sum(-1, keepdims=True) @ np.abs(v)
    difference = np.abs(np.asarray(tiled.outputs["out"], np.float64) - np.asarray(plain, np.float64))
    if format == "fp32":
        assert np.all(difference <= 16 * 2.0**-24 * terms)
    else:
        assert np.max(ulp_distance(tiled.outputs["out"], plain, format)) <= 1


def test_flash_attention_needs_a_block():
    with pytest.raises(KernelError, match="block is 0; allowed are 1 and more"):
        run("flash_attention", "fp16", block=0)


@pytest.mark.parametrize("fixpipe", [True, False])
def test_int8_matmul_is_integer_arithmetic_and_one_requantisation(fixpipe):
    specs = {**KERNELS["int8_matmul"].examples, "scale": "uniform(0.002,0.01,shape=(16,))"}
    made = run("int8_matmul", "fp16", specs=specs, zero_point=3, fixpipe=fixpipe)
    a, b = (made.trace.values[n].astype(np.int64) for n in "ab")
    scale = made.trace.values["scale"]
    if fixpipe:  # sign, eight bits of exponent and ten of fraction are kept
        scale = np.array([np.trunc(m * 2**11) * 2.0 ** (e - 11) for m, e in map(np.frexp, scale.tolist())], np.float32)
    # products of int32 and fp32 are exact in fp64; np.rint rounds to even
    scaled = np.float32((a @ b).astype(np.float32) * scale)
    expected = np.clip(np.rint(scaled.astype(np.float64)) + 3, -128, 127)
    assert made.outputs["out"].dtype == np.int8
    assert made.outputs["out"].tolist() == expected.tolist()
    assert {-128, 127} <= set(made.outputs["out"].ravel().tolist()) and len(np.unique(made.outputs["out"])) > 50


def test_int32_sums_wrap_as_integers_do():
    ones = np.full((1, 140_000), 127, np.int8)
    total = api.run("int8_matmul", inputs={"a": ones, "b": ones.T.copy(), "scale": np.float32(1e-8)}).trace
    matmul = next(s for s in total.steps if s.op == "matmul")
    assert int(total.values[matmul.id][0, 0]) == 127 * 127 * 140_000 - 2**32


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_targets_keep_their_integers(kind):
    inputs = arrays("cross_entropy", SMALL["cross_entropy"], "fp16")
    expected = api.run("cross_entropy", format="fp16", inputs=inputs).outputs["out"]
    inputs["target"] = inputs["target"].astype(kind)
    found = api.run("cross_entropy", format="fp16", inputs=inputs)
    assert found.outputs["out"] == expected and found.trace.values["target"].dtype == kind


def test_targets_that_are_no_integers_are_refused():
    inputs = arrays("cross_entropy", SMALL["cross_entropy"], "fp16")
    with pytest.raises(KernelError, match="input target: found fp16; allowed are integers"):
        api.run("cross_entropy", inputs={**inputs, "target": np.float16([0, 1, 2])})


def test_a_class_that_is_not_there_is_named():
    inputs = arrays("cross_entropy", SMALL["cross_entropy"], "fp16")
    with pytest.raises(KernelError, match="take_along: index 17 is out of range for 17 elements"):
        api.run("cross_entropy", inputs={**inputs, "target": np.array([0, 17, 2])})


def test_backward_steps_are_of_that_phase():
    steps = done("softmax_backward", "fp16").trace.steps
    assert [s.phase for s in steps if s.layer.startswith("softmax_backward/softmax")] == ["forward"] * 5
    assert {s.layer for s in steps if s.phase == "backward"} == {
        f"softmax_backward/d_{op}" for op in ("div", "sum", "exp", "sub", "max")
    }
