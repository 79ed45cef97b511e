"""`precdiff verify-result` against the Ascend samples' own script, and standards on the command line."""

import json

import ml_dtypes
import numpy as np
import pytest

from tests.comparison import vendor

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
#: rtol and atol of the samples; the share is 1e-3 in all that print `test pass` or `[ERROR] result error`
SCRIPTS = {"fp16": (1e-3, 1e-5), "bf16": (1e-3, 1e-3), "fp32": (1e-4, 1e-4)}


def files(actual, golden, dtype=np.float16):
    np.asarray(actual).astype(dtype).tofile("out.bin")
    np.asarray(golden).astype(dtype).tofile("golden.bin")
    return "out.bin", "golden.bin"


def last(result):
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize(("wrong", "line", "code"), [(4, "test pass", 0), (5, "[ERROR] result error", 1)])
def test_one_in_a_thousand_may_be_wrong(precdiff, wrong, line, code):
    golden = np.full(4000, 2.0)
    actual = golden.copy()
    actual[:wrong] = 3.0
    result = precdiff("verify-result", *files(actual, golden), "--format", "fp16")

    assert (last(result), result.exit_code) == (line, code)
    assert result.stdout.startswith("data index: 000000, expected: 2.000000000, actual: 3.000000000, rdiff: 0.500000\n")
    assert f"error ratio: {wrong / 4000:.4f}" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("format", list(DTYPES))
def test_the_verdict_is_the_script_s(precdiff, format):
    rng, found = np.random.default_rng(1), set()
    for scale in np.geomspace(1e-5, 1e-1, 12):
        golden = rng.normal(0, 1, 2000).astype(DTYPES[format])
        noise = scale * rng.uniform(-1, 1, 2000) * (rng.random(2000) < rng.choice([0.0008, 0.0015, 1.0]))
        actual = (golden.astype(np.float64) * (1 + noise)).astype(DTYPES[format])
        wanted = vendor.isclose(actual.astype(np.float64), golden.astype(np.float64), *SCRIPTS[format], 1e-3)
        result = precdiff("verify-result", *files(actual, golden, DTYPES[format]), "--format", format)
        assert last(result) == ("test pass" if wanted else "[ERROR] result error")
        assert result.exit_code == (0 if wanted else 1)
        found.add(wanted)

    assert found == {True, False}


def test_projects_that_edit_the_script_s_numbers_give_theirs(precdiff):
    names = files(np.full(100, 1.05), np.ones(100))

    assert precdiff("verify-result", *names, "--format", "fp16").exit_code == 1
    assert precdiff("verify-result", *names, "--format", "fp16", "--rtol", "0.06").exit_code == 0
    assert precdiff("verify-result", *names, "--format", "fp16", "--atol", "0.06").exit_code == 0
    assert precdiff("verify-result", *names, "--format", "fp16", "--error-tol", "1").exit_code == 0


def test_a_nan_for_a_number_fails_though_the_script_counts_it_as_one_miss(precdiff):
    actual = np.ones(4000)
    actual[0] = np.nan
    assert vendor.isclose(actual, np.ones(4000), 1e-3, 1e-5, 1e-3)

    assert precdiff("verify-result", *files(actual, np.ones(4000)), "--format", "fp16").exit_code == 1


def test_equal_nans_pass(precdiff):
    values = [1.0, np.nan]

    assert last(precdiff("verify-result", *files(values, values), "--format", "fp16")) == "test pass"


def test_integers_have_to_be_equal(precdiff):
    golden = np.arange(4000, dtype=np.int32)
    actual = golden.copy()
    actual[7] += 1

    assert precdiff("verify-result", *files(golden, golden, np.int32), "--format", "i32").exit_code == 0
    assert precdiff("verify-result", *files(actual, golden, np.int32), "--format", "i32").exit_code == 1


def test_golden_may_be_of_another_format(precdiff):
    np.ones(8, np.float16).tofile("out.bin")
    np.ones(8, np.float32).tofile("golden.bin")
    words = ("verify-result", "out.bin", "golden.bin", "--format", "fp16", "--golden-format", "fp32")

    assert last(precdiff(*words)) == "test pass"


def test_npy_files_need_no_format(precdiff):
    np.save("out.npy", np.ones((2, 3), np.float16))
    np.save("golden.npy", np.ones((2, 3), np.float16))

    assert last(precdiff("verify-result", "out.npy", "golden.npy")) == "test pass"


def test_the_document(document):
    made = document("verify-result", *files(np.r_[np.ones(99), 2.0], np.ones(100)), "--format", "fp16")

    assert (made["schema"], made["verdict"], made["code"]) == ("precdiff.verify-result/1", "fail", 1)
    assert (made["compared"], made["missed"], made["error_ratio"], made["report"]) == (100, 1, 0.01, None)


def test_explain_adds_what_precdiff_makes_of_it(precdiff, document):
    names = files(np.r_[np.ones(9999), 1.5], np.ones(10000))
    result = precdiff("verify-result", *names, "--format", "fp16", "--explain")

    assert (last(result), result.exit_code) == ("test pass", 0)
    assert "FAIL" in result.stderr and "512 ULP" in result.stderr and "golden.bin" in result.stderr
    assert "--kernel KERNEL --input NAME=FILE" in result.stderr
    made = document("verify-result", *names, "--format", "fp16", "--explain")
    assert (made["verdict"], made["report"]["verdict"]) == ("pass", "fail")


def test_explain_with_the_kernel_finds_the_cause(precdiff):
    """The output is pow's own in fp16: the samples' tolerance does not see it, the certified reference does."""
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(*ends, 64).astype(np.float16) for ends in ((0.1, 10), (-4, 4)))
    x.tofile("x.bin")
    y.tofile("y.bin")
    inputs = ("--input", "x=x.bin:fp16:64", "--input", "y=y.bin:fp16:64")
    assert precdiff("run", "pow", *inputs, "-o", "run.h5").exit_code == 0
    from precdiff import open_dump

    with open_dump("run.h5") as dump:
        trace = dump.trace()
        out = trace.values[trace.outputs["out"]]
    files(out, x.astype(np.float64) ** y.astype(np.float64))
    result = precdiff("verify-result", "out.bin", "golden.bin", "--format", "fp16", "--kernel", "pow", *inputs)

    assert "error_amplification" in result.stderr or "error amplification" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("out.bin", "golden.bin"), "out.bin: found raw bytes; --format says what they are"),
        (("out.bin", "short.bin", "--format", "fp16"), "the output holds 4 values, golden 2; both must be as many"),
        (("out.bin", "odd.bin", "--format", "fp16"), "found 3 bytes, which is no whole number of fp16 of 2"),
        (("out.bin", "none.bin", "--format", "fp16"), "none.bin: there is no file of that name"),
        (("empty.bin", "empty.bin", "--format", "fp16"), "nothing was compared"),
        (("out.bin", "golden.bin", "--format", "e4m3fn"), "has no numbers for e4m3fn"),
        (("out.bin", "golden.bin", "--format", "fp17"), "unknown format 'fp17'"),
    ],
)
def test_what_cannot_be_checked_is_trouble_and_no_verdict(precdiff, folder, words, message):
    files(np.ones(4), np.ones(4))
    (folder / "short.bin").write_bytes(bytes(4))
    (folder / "odd.bin").write_bytes(bytes(3))
    (folder / "empty.bin").write_bytes(b"")
    result = precdiff("verify-result", *words)

    assert result.exit_code == 2
    assert message in result.stderr
    assert "test pass" not in result.stdout


# --- standards on the command line --------------------------------------------------------------------------------


def side(name, values):
    np.save(name, np.asarray(values, np.float16))
    return name


def test_a_peer_is_read_beside_the_two_sides(precdiff):
    expected = np.full(64, 1.5)
    actual, peer = expected + 2.0**-8, expected + 2.0**-9
    words = ("compare", side("a.npy", actual), side("r.npy", expected), "--standard")

    assert precdiff(*words, "cann-dual-l0", "--peer", side("b.npy", peer)).exit_code == 0
    failed = precdiff(*words, "cann-dual-l1", "--peer", "b.npy")
    assert failed.exit_code == 1
    assert "MERE 2, RMSE 2" in failed.stderr and "no second check" in failed.stderr
    assert precdiff(*words, "cann-dual-l1", "--peer", side("same.npy", actual)).exit_code == 0


def test_runs_are_counted_along_the_first_axis(precdiff):
    rng = np.random.default_rng(0)
    expected = rng.uniform(1, 2, (250, 32)).astype(np.float16)
    step = np.float16(2.0**-8)
    actual, peer = expected + step * rng.choice([-1, 1], expected.shape), expected + step
    actual[0] += 1
    words = ("compare", side("a.npy", actual), side("r.npy", expected), "--standard", "cann-dual-l2", "--peer")
    result = precdiff(*words, side("b.npy", peer), "--runs")

    assert result.exit_code == 0
    assert "95 % lower bounds of the medians of 250 runs" in result.stderr


def test_a_dump_s_outputs_meet_the_peer_s_of_the_same_name(precdiff, dump):
    assert precdiff("compare", dump, "--standard", "cann-dual-l2", "--peer", dump).exit_code == 0
    assert precdiff("compare", dump, dump, "--standard", "cann-dual-l2", "--peer", dump).exit_code == 0


def test_a_kernel_is_held_to_the_limit_of_the_function_of_its_name(precdiff, dump):
    result = precdiff("compare", dump, "--standard", "opencl-full")

    assert result.exit_code == 1
    assert "error <= 4 ULP of fp16 for pow (OpenCL full profile)" in result.stderr
    assert precdiff("compare", dump, "--standard", "opencl-full", "--op", "lgamma").exit_code == 2


def test_explain_finds_why_a_published_standard_is_not_met(precdiff, document, dump):
    made = document("explain", dump, "--standard", "cann-mixed", "--budget", "20")

    assert made["code"] == 1
    assert [finding["cause"] for finding in made["findings"]][:1] == ["error_amplification"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--standard", "torch", "--max-ulp", "4"),
            "max_ulp: standard 'torch' does not read it, its numbers are published",
        ),
        (("--standard", "cann-mixed", "--rtol", "1e-3"), "rtol: standard 'cann-mixed' does not read it"),
        (("--peer", "a.npy"), "peer: standard 'auto' does not read it. It goes with cann-dual-l0"),
        (("--op", "exp"), "op: standard 'auto' does not read it. It goes with cuda-math, opencl-full"),
        (("--runs",), "runs: standard 'auto' does not read it. It goes with cann-dual-l0"),
        (("--standard", "cann-dual-l0"), "--peer FILE"),
        (("--standard", "cann-dual-l0", "--peer", "wide.npy"), "the peer of array is fp32, the actual values are fp16"),
        (("--standard", "cann-dual-l0", "--peer", "short.npy"), "the peer of array"),
        (("--standard", "opencl-full"), "--op NAME"),
        (("--standard", "opencl-full", "--op", "softmax"), "opencl-full states no limit for softmax in fp16"),
    ],
)
def test_what_a_standard_does_not_read_or_lacks_is_said(precdiff, words, message):
    side("a.npy", np.ones(4))
    side("short.npy", np.ones(3))
    np.save("wide.npy", np.ones(4, np.float32))
    result = precdiff("compare", "a.npy", "a.npy", *words)

    assert result.exit_code == 2
    assert message in result.stderr


def test_list_standards_says_what_each_asks_and_does_not_see(precdiff, document):
    text = precdiff("list", "standards").stderr
    lines = text.splitlines()
    entries = {entry["name"]: entry for entry in document("list", "standards")["entries"]}

    assert len(lines) == 2 * len(entries)
    at = next(i for i, line in enumerate(lines) if line.startswith("ascend-sample"))
    assert "fp16 1e-05 + 0.001, share 0.001" in lines[at]
    assert "does not see: the share: 64 stale elements of 65,536 (a tile) pass" in lines[at + 1]
    assert "verify_result.py of the Ascend operator samples" in lines[at + 1]
    assert {"asks", "numbers", "source", "blind"} <= entries["cann-mixed"].keys()
    assert json.dumps(entries)


def test_any_bytes_may_be_explained(precdiff, folder):
    """As fp16 these are numbers from 1e-5 to 4e3 that no run of pow gave: squares of such errors left fp64."""
    (folder / "raw.bin").write_bytes(bytes(range(64)))
    inputs = ("--input", "x=uniform(0.1,10,shape=(32,))", "--input", "y=uniform(-4,4,shape=(32,))")
    result = precdiff("verify-result", "raw.bin", "raw.bin", "--format", "fp16", "--kernel", "pow", *inputs)

    assert (last(result), result.exit_code) == ("test pass", 0)
    assert "FAIL" in result.stderr


def test_a_device_s_bare_output_is_held_against_a_peer_s_by_the_certified_reference(precdiff):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (4, 64)).astype(np.float16)
    weights = np.exp(x.astype(np.float64))
    truth = weights / weights.sum(-1, keepdims=True)
    npu = (truth * (1 + rng.normal(0, 2.0**-10, truth.shape))).astype(np.float16)
    peer = truth.astype(np.float16)
    for name, values in (("x", x), ("npu", npu), ("peer", peer)):
        values.tofile(f"{name}.bin")
    ratios = vendor.dual_ratios(npu.astype(np.float64), peer.astype(np.float64), truth, 2**-11, 2**-16)
    words = ("compare", "npu.bin:fp16:4,64", "--kernel", "softmax", "--input", "x=x.bin:fp16:4,64", "--standard")
    loose = precdiff(*words, "cann-dual-l0", "--peer", "peer.bin:fp16:4,64")
    tight = precdiff(*words, "cann-dual-l2", "--peer", "peer.bin:fp16:4,64")

    assert ratios[0] < 10 and 1.2 < ratios[1] < 2
    assert (loose.exit_code, tight.exit_code) == (0, 1)
    assert f"MARE {ratios[0]:.4g}, MERE {ratios[1]:.4g}, RMSE {ratios[2]:.4g}" in loose.stderr.splitlines()[0]


def test_quantised_outputs_may_be_allowed_to_differ_by_one(precdiff):
    np.array([1, 2, 3], np.int8).tofile("a.bin")
    np.array([1, 3, 3], np.int8).tofile("b.bin")
    words = ("compare", "a.bin:i8:3", "b.bin:i8:3")

    assert precdiff(*words).exit_code == 1
    assert precdiff(*words, "--standard", "allclose", "--atol", "1").exit_code == 0
