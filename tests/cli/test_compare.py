"""`compare`, `explain` and `check`: two sides from words, verdicts as codes, reports that can be judged again."""

import json
from pathlib import Path

import numpy as np
import pytest

from precdiff import api
from precdiff.generate import rawfile
from precdiff.report import Report


@pytest.fixture
def sides():
    """Two arrays, 3 ULP of fp16 apart at one element: numpy's nextafter is the oracle."""
    good = np.linspace(1, 2, 32, endpoint=False, dtype=np.float16)
    bad = good.copy()
    for _ in range(3):
        bad[5] = np.nextafter(bad[5], np.float16(9))
    np.save("good.npy", good)
    np.save("bad.npy", bad)
    good.tofile("good.bin")
    bad.tofile("bad.bin")


def test_a_dump_is_judged_by_the_reference(precdiff, document, dump):
    result = precdiff("compare", dump)
    assert (result.exit_code, result.stdout) == (1, "") and result.stderr.startswith("FAIL")
    report = document("compare", dump)
    assert (report["schema"], report["verdict"], report["code"]) == ("precdiff.report/1", "fail", 1)
    assert precdiff("compare", dump, "--max-ulp", "1000").exit_code == 0


def test_explain_proves_a_cause(document, dump):
    report = document("explain", dump)
    assert report["code"] == 1
    assert any(finding["standing"] == "verified" for finding in report["findings"])


@pytest.mark.parametrize(
    "pair", [("bad.npy", "good.npy"), ("bad.bin:fp16:32", "good.npy"), ("bad.bin:fp16:32", "good.bin:fp16:32")]
)
def test_arrays_in_any_file(document, sides, pair):
    report = document("compare", *pair)
    assert (report["verdict"], report["tensors"][0]["max_ulp"], report["code"]) == ("pass", 3.0, 0)
    assert (report["actual"], report["expected"]) == pair


@pytest.mark.parametrize("order", [1, -1], ids=["dump first", "array first"])
def test_a_dump_and_the_array_of_its_output(document, dump, order):
    np.save("device.npy", api.open_dump(dump).trace().values["where#11"].astype(np.float16))
    report = document("compare", *[dump, "device.npy"][::order])
    (row,) = report["tensors"]

    assert (report["verdict"], row["name"], row["paired_by"], row["max_ulp"]) == ("pass", "out", "position", 0.0)
    assert [report["actual"], report["expected"]][::order] == [dump, "device.npy"]
    assert report["unmatched"] == {"actual": [], "expected": []}


TWO = "def two(x):\n    return {'a': x + x, 'b': x * x}\n"


def test_an_array_does_not_say_which_of_two_outputs_it_is(precdiff):
    Path("k.py").write_text(TWO)
    np.save("one.npy", np.float16(1))
    precdiff("run", "k.py:two", "--input", "x=1", "-o", "two.h5")
    result = precdiff("compare", "two.h5", "one.npy")

    assert result.exit_code == 2 and "two.h5 has the outputs a, b; an array stands for exactly one" in result.stderr


def test_two_runs_name_their_outputs_as_the_kernel_does(document, dump):
    rows = document("compare", dump, dump)["tensors"]
    assert [(row["name"], row["role"]) for row in rows][-1] == ("out", "output")


@pytest.mark.parametrize("words", [("compare", "nan.npy", "nan.npy"), ("eval", "log(x)", "x=-1")], ids=" ".join)
def test_nothing_but_nan_is_nothing_compared(precdiff, words):
    np.save("nan.npy", np.full(3, np.nan, np.float16))
    result = precdiff(*words)

    assert result.exit_code == 2 and "holds nothing but NaN" in result.stderr


def test_an_output_of_nothing_but_nan_is_no_pass(document):
    report = document("eval", "log(x-2)", "x=1")["report"]
    assert {row["name"]: row["verdict"] for row in report["tensors"]}["sub"] == "pass"
    assert report["verdict"] == "not_compared"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--max-ulp", "2"), 1),
        (("--max-ulp", "3"), 0),
        (("--standard", "bitwise"), 1),
        (("--standard", "allclose", "--rtol", "0.01"), 0),
        (("--standard", "allclose", "--rtol", "1e-6"), 1),
    ],
)
def test_standards_and_limits_decide(precdiff, sides, options, code):
    assert precdiff("compare", "bad.npy", "good.npy", *options).exit_code == code


def device_files():
    """Inputs and output of a softmax, as a device would write them; two elements of the second output are wrong."""
    x = np.random.default_rng(0).normal(0, 2, (4, 16)).astype(np.float16)
    output = api.run("softmax", inputs={"x": x}).outputs["out"]
    x.tofile("x.bin")
    output.tofile("right.bin")
    output[1, 2] *= np.float16(1.5)
    output.tofile("wrong.bin")


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("wrong", 1)])
def test_a_bare_output_is_judged_by_its_kernel_and_inputs(document, name, code):
    device_files()
    words = (f"{name}.bin:fp16:4,16", "--kernel", "softmax", "--input", "x=x.bin:fp16:4,16", "--max-ulp", "16")
    report = document("compare", *words)
    assert (report["code"], [row["role"] for row in report["tensors"]]) == (code, ["output"])
    assert report["provenance"]["differs_from_emulation"] == code
    assert report["provenance"]["next"].startswith("precdiff explain") and "x=x.bin" in report["provenance"]["next"]
    if code:
        assert report["tensors"][0]["worst"][0]["index"] == [1, 2]


BARE = ("compare", "good.npy", "--kernel", "softmax", "--input")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "gone.h5"), "gone.h5: there is no such file (working folder"),
        (("compare", "good.npy"), "values alone have no reference. Give EXPECTED; or --kernel"),
        (("compare", "good.npy", "good.npy", "--kernel", "softmax"), "EXPECTED and --kernel were both given"),
        (("compare", "good.npy", "good.npy", "--input", "x=1"), "--input x=1: these go with --kernel"),
        ((*BARE, "x=normal(0,1,shape=(3,5))"), "found fp16 (32,), the kernel gives fp16 (3, 5)"),
        (("compare", "good.bin:fp16:31", "good.npy"), "expected 62 bytes (31 fp16 of 2 bytes), found 64"),
        (("compare", "good.bin:fp16:8,4", "good.npy"), "shape"),
        (("compare", "good.npy", "bad.npy", "--standard", "ulpp"), "unknown standard 'ulpp'. Did you mean 'ulp'?"),
        (("compare", "good.npy", "bad.npy", "--max-ulp", "-1"), "Invalid value for '--max-ulp'"),
        (("compare", "good.npy", "bad.npy", "-o", "no/such/r.json"), "no/such/r.json: the report cannot be written"),
        (("explain", "gone.h5"), "there is no such file"),
        (("check", "gone.json", "--max-ulp", "1"), "gone.json: No such file"),
        (("check", "good.npy", "--max-ulp", "1"), "good.npy: this is no JSON document. Allowed is a report"),
        (("check", "good.npy"), "Missing option '--max-ulp'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(precdiff, sides, words, message):
    result = precdiff(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and "Traceback" not in result.stderr


def test_an_unknown_layer_lists_those_there_are(precdiff, dump):
    result = precdiff("compare", dump, "--layer", "nothing")
    assert result.exit_code == 2 and "no layer matches 'nothing'; there are pow" in result.stderr


def test_a_written_report_is_the_printed_one(document, dump):
    printed = document("compare", dump, "-o", "r.json")
    del printed["code"]
    written = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert written == printed and Report.from_json(written).to_json() == written


@pytest.mark.parametrize(
    ("limit", "code", "over"), [("2", 1, [1, 1]), ("3", 0, [0, 0]), ("2.5", 1, [1, 1]), ("0", 1, [1, 1])]
)
def test_a_report_can_be_judged_again(document, precdiff, sides, limit, code, over):
    precdiff("compare", "bad.npy", "good.npy", "-o", "r.json")
    checked = document("check", "r.json", "--max-ulp", limit)
    assert (checked["schema"], checked["code"], checked["tensors"][0]["over"]) == ("precdiff.check/1", code, over)


@pytest.mark.parametrize("limit", ["0.5", "1", "2", "4", "8", "16"])
def test_judging_again_agrees_with_comparing_again(document, precdiff, dump, limit):
    precdiff("compare", dump, "-o", "r.json")
    again, fresh = document("check", "r.json", "--max-ulp", limit), document("compare", dump, "--max-ulp", limit)
    assert (again["verdict"], again["code"]) == (fresh["verdict"], fresh["code"])
    (row,) = [r for r in fresh["tensors"] if r["role"] == "output"]
    assert [r["over"] for r in again["tensors"] if r["over"] is not None] == [[row["over_limit"]] * 2]


def test_check_refuses_another_document(precdiff, folder):
    (folder / "r.json").write_text('{"schema": "precdiff.run/1"}')
    result = precdiff("check", "r.json", "--max-ulp", "1")
    assert result.exit_code == 2 and "precdiff.report/1" in result.stderr


@pytest.mark.parametrize("kind", ["npy", "raw", "sidecar"])
@pytest.mark.parametrize("standard", ["auto", "ulp", "allclose", "cann-mixed", "snr-floor"])
def test_large_files_are_compared_piece_by_piece_with_the_same_report(document, monkeypatch, kind, standard):
    rng = np.random.default_rng(2)
    expected = rng.normal(size=(700, 900)).astype(np.float16)
    actual = np.where(rng.random(expected.shape) < 0.01, np.nextafter(expected, np.float16(9)), expected)
    names = []
    for name, array in (("a", actual), ("b", expected)):
        np.save(f"{name}.npy", array)
        array.tofile(f"{name}.bin")
        array.tofile(f"{name}2.bin")
        Path(f"{name}2.bin.json").write_text('{"format": "fp16", "shape": [700, 900]}')
        names.append({"npy": f"{name}.npy", "raw": f"{name}.bin:fp16:700,900", "sidecar": f"{name}2.bin"}[kind])
    words = ("compare", *names, "--standard", standard)
    whole = document(*words)
    monkeypatch.setattr(rawfile, "LARGE", 1000)
    pieces = document(*words)
    assert rawfile.large_array(names[0]) is not None
    assert pieces["tensors"] == whole["tensors"] and pieces["verdict"] == whole["verdict"]
    mixed = document("compare", names[0], "b.npy", "--standard", standard)
    assert mixed["tensors"] == whole["tensors"]
