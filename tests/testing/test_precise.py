"""assert_precise: arrays, runs and dumps against expected values, a kernel's truth, or the reference of their steps."""

import numpy as np
import pytest

import precdiff
from precdiff import api
from precdiff.errors import NotComparableError, PrecDiffError, UnknownNameError
from precdiff.kernels import get_kernel
from precdiff.report import assertion
from precdiff.testing import PrecisionError, assert_precise

RNG = np.random.default_rng(20261201)
SCORES = RNG.normal(0, 2, (4, 16)).astype(np.float16)


def exact_softmax(x):
    """In fp64 (53 bits), for fp16 results."""
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def wrong():
    """pow as exp(y ln x) in fp16: right at every step and wrong in the end (docs/pow-case.md)."""
    x, y = RNG.uniform(0.1, 10, 512), RNG.uniform(-4, 4, 512)
    return precdiff.run("pow", format="fp16", profile="ascend-910b", inputs={"x": x, "y": y})


def caught(*arguments, **options):
    with pytest.raises(PrecisionError) as error:
        assert_precise(*arguments, **options)
    return error.value


@pytest.mark.parametrize("kernel", ["softmax", get_kernel("softmax")], ids=["name", "kernel"])
def test_an_array_against_what_a_kernel_says_it_should_be(kernel):
    right = exact_softmax(SCORES).astype(np.float16)
    assert_precise(right, kernel=kernel, inputs={"x": SCORES}, max_ulp=0.5001)
    error = caught((right * np.float16(1.25)).astype(np.float16), kernel=kernel, inputs={"x": SCORES})

    assert error.report.tensors[0].max_rel == pytest.approx(0.25, abs=2**-10)
    assert "likely cause  not looked for" not in str(error)


def test_a_kernel_in_the_place_of_expected():
    assert_precise(exact_softmax(SCORES).astype(np.float16), get_kernel("softmax"), inputs={"x": SCORES})


def test_a_run_and_its_dump_are_judged_by_their_own_steps(wrong, tmp_path):
    expected = api.explain(wrong)
    error = caught(wrong)

    assert error.report.to_json()["tensors"] == expected.to_json()["tensors"]
    assert [f.cause for f in error.report.findings] == [f.cause for f in expected.findings]
    assert str(error) == assertion(error.report)
    assert "likely cause  error_amplification (verified) at exp" in str(error)

    path = tmp_path / "run.h5"
    right = precdiff.run("softmax", inputs={"x": SCORES}, dump=path)
    for actual in (right, path, str(path)):
        assert_precise(actual, max_ulp=8)
    assert_precise(path, {"out": exact_softmax(SCORES)}, max_ulp=8)


def test_no_time_no_cause(wrong):
    assert "likely cause  not looked for" in str(caught(wrong, budget=0))


def test_a_wider_limit_passes(wrong):
    worst = caught(wrong, budget=0).report.tensors[-1].max_ulp
    assert_precise(wrong, max_ulp=worst + 0.01)


def test_the_default_of_two_arrays_is_four_ulp_and_says_so():
    step = np.float32(2.0**-23)
    assert_precise(np.float32([1 + 4 * step]), np.float32([1]))
    assert "error <= 4 ULP of fp32" in str(caught(np.float32([1 + 5 * step]), np.float32([1])))


def test_integers_are_compared_bit_for_bit():
    assert_precise(np.int32([1, 2]), np.int32([1, 2]))
    assert caught(np.int32([1, 2]), np.int32([1, 3])).report.tensors[0].over_limit == 1


@pytest.mark.parametrize(
    ("standard", "options", "passes"),
    [
        ("ulp", {"max_ulp": 10}, True),
        ("ulp", {"max_ulp": 9}, False),
        ("allclose", {"rtol": 0.01, "atol": 0}, True),
        ("allclose", {"rtol": 0.009, "atol": 0}, False),
        ("bitwise", {}, False),
    ],
)
def test_the_standard_asked_for_decides(standard, options, passes):
    actual, expected = np.float16([1 + 10 * 2**-10]), np.float16([1])
    if passes:
        assert_precise(actual, expected, standard, **options)
    else:
        assert caught(actual, expected, standard, **options).report.standard == standard


def test_named_arrays_are_paired_by_name():
    x, y = np.float32([1, 2]), np.float32([3, 4])
    assert_precise({"x": x, "y": y}, {"y": y, "x": x})
    error = caught({"x": x, "y": y}, {"x": x, "y": x})

    assert str(error).startswith("FAIL: 1 of 2 tensors; y (fp32 2)")


# call, what its error says
REFUSED = {
    "only in actual": (lambda x: assert_precise({"a": x, "b": x}, {"a": x}), "no partner, .*only in actual: b"),
    "only in expected": (lambda x: assert_precise({"a": x}, {"a": x, "b": x}), "no partner, .*only in expected: b"),
    "no name alike": (
        lambda x: assert_precise({"a": x, "b": x}, {"c": x, "d": x}),
        "only in actual: a, b; only in exp",
    ),
    "no arrays": (lambda x: assert_precise({}, {}), "no partner, so they would not be compared: there are none"),
    "which array": (
        lambda x: assert_precise({"a": x}, {"a": x.astype("f2")}),
        r"actual\['a'\] is fp32, expected\['a'\]",
    ),
    "no reference": (assert_precise, "there is no reference for ndarray: pass `expected`"),
    "both": (
        lambda x: assert_precise(x, x, kernel="softmax", inputs={"x": x}),
        "found expected and kernel; allowed is",
    ),
    "inputs alone": (lambda x: assert_precise(x, x, inputs={"x": x}), "inputs: found without a kernel"),
    "profile alone": (lambda x: assert_precise(x, x, profile="ascend-910b"), "profile: found without a kernel"),
    "dtype of a run": (lambda x: assert_precise("run.h5", x, dtype="fp16"), "dtype goes with arrays"),
    "layer of arrays": (lambda x: assert_precise(x, x, layer="mlp*"), "layer goes with a run or a dump"),
    "kernel of a run": (
        lambda x: assert_precise("run.h5", kernel="softmax", inputs={"x": x}),
        "found kernel beside a run",
    ),
    "no inputs": (lambda x: assert_precise(x, kernel="softmax"), "input 'x' was not given"),
    "other shape": (lambda x: assert_precise(x[:1], kernel="softmax", inputs={"x": x}), "the kernel gives fp32"),
    "budget": (lambda x: assert_precise(x, x, budget=-1), "budget: found -1; allowed is a number of at least 0"),
    "empty": (lambda x: assert_precise(x[:0], x[:0]), r"nothing was compared: actual \(0, 2\) holds no elements"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, message = REFUSED[name]
    with pytest.raises(PrecDiffError, match=message):
        call(np.float32([[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_ulps": 3}, "unknown setting 'max_ulps'. Did you mean 'max_ulp'"),
        ({"standard": "ulpp"}, "Did you mean 'ulp'"),
    ],
)
def test_unknown_names(options, message):
    with pytest.raises(UnknownNameError, match=message):
        assert_precise(np.ones(1), np.ones(1), **options)


def test_one_output_that_was_not_compared_is_no_success():
    nan = np.float32([np.nan])
    error = caught({"a": np.ones(1), "b": nan}, {"a": np.ones(1), "b": nan})

    assert (error.report.verdict, str(error).split(":")[0]) == ("not_compared", "NOT COMPARED")


def test_nothing_compared_at_all_is_trouble():
    nan = np.float32([np.nan])
    with pytest.raises(NotComparableError, match="holds nothing but NaN"):
        assert_precise({"a": nan, "b": nan}, {"a": nan, "b": nan})


def test_the_users_words_come_first():
    assert str(caught(np.ones(1), np.zeros(1), msg="layer 3")).startswith("layer 3\nFAIL: actual (fp64 1)")


@pytest.mark.torch
def test_torch_tensors_on_both_sides():
    torch = pytest.importorskip("torch")
    x = torch.tensor(SCORES.astype(np.float32)).to(torch.bfloat16).requires_grad_()
    found = torch.softmax(x, dim=-1)

    assert_precise(found, kernel="softmax", inputs={"x": x}, max_ulp=1)
    assert_precise({"out": found}, {"out": torch.softmax(x.double(), dim=-1)}, max_ulp=1)
    assert caught(found * 1.25, kernel="softmax", inputs={"x": x}, budget=0).report.tensors[0].format == "bf16"


def test_a_standard_that_needs_a_peer():
    """cann-dual-l1 holds the actual values' errors against a peer's on the same inputs."""
    expected = RNG.normal(0, 1, 4096)
    peer = expected.astype(np.float16)
    far = (expected * (1 + 0.01 * RNG.normal(0, 1, 4096))).astype(np.float16)

    assert_precise(peer, expected, "cann-dual-l1", peer=peer)
    caught(far, expected, "cann-dual-l1", peer=peer)
    with pytest.raises(PrecDiffError, match="peer"):
        assert_precise(peer, expected, "cann-dual-l1")


def adam(param, grad, m, v, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    """The first step of Adam in fp64, after the paper (Kingma and Ba 2015, algorithm 1)."""
    first, second = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    update = lr * (first / (1 - beta1)) / (np.sqrt(second / (1 - beta2)) + eps)
    return {"param": param - update, "m": first, "v": second}


@pytest.fixture(scope="module")
def moments():
    inputs = {name: RNG.normal(0, 1, 64).astype(np.float32) for name in ("param", "grad", "m")}
    inputs["v"] = RNG.uniform(0, 1, 64).astype(np.float32)
    wide = adam(**{name: x.astype(np.float64) for name, x in inputs.items()})
    return inputs, {name: x.astype(np.float32) for name, x in wide.items()}


def test_every_output_of_a_kernel_is_judged(moments):
    inputs, right = moments
    assert_precise(right, kernel="adam_step", inputs=inputs)
    error = caught({**right, "v": right["v"] * np.float32(1.5)}, kernel="adam_step", inputs=inputs, budget=2)

    assert {row.name: row.verdict for row in error.report.tensors} == {"param": "pass", "m": "pass", "v": "fail"}
    assert str(error).startswith("FAIL: 1 of 3 tensors; v (fp32 64)")
    assert error.report.findings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda right: right["m"], "found one array; the kernel gives param, m, v: pass a mapping of all of them"),
        (lambda right: {"m": right["m"]}, "found a mapping of m; the kernel gives param, m, v"),
        (lambda right: {**right, "w": right["m"]}, "found a mapping of param, m, v, w; the kernel gives param, m, v"),
        (lambda right: {**right, "m": right["m"][:3]}, r"found fp32 \(3,\), the kernel gives fp32 \(64,\)"),
        (lambda right: {**right, "m": np.ma.masked_array(right["m"])}, "the output m: found a masked array"),
    ],
    ids=["one array", "too few", "too many", "shape", "masked"],
)
def test_outputs_that_are_not_those_of_the_kernel(moments, change, message):
    inputs, right = moments
    with pytest.raises(PrecDiffError, match=message):
        assert_precise(change(right), kernel="adam_step", inputs=inputs)


def test_one_output_may_be_named():
    assert_precise({"out": exact_softmax(SCORES).astype(np.float16)}, kernel="softmax", inputs={"x": SCORES})
    with pytest.raises(PrecDiffError, match="found a mapping of y; the kernel gives out"):
        assert_precise({"y": SCORES}, kernel="softmax", inputs={"x": SCORES})
