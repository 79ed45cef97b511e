"""The report as data: its JSON, read back, and what is said about documents that are no report."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from precdiff import api
from precdiff.comparison import Identity, compare_tensor
from precdiff.errors import FileError
from precdiff.report import Report, Unmatched, findings, render
from precdiff.report.codec import decode, encode
from tests.report.example import report as example

#: DESIGN 5
TOP = "schema verdict standard rule envelope actual expected first_divergence unmatched tensors findings provenance"
TENSOR = (
    "id name sha256 layer op source iteration rank phase role format shape paired_by verdict rule compared excused "
    "max_ulp mean_ulp mean_signed_ulp p50_ulp p99_ulp over_limit max_abs max_rel rmse cosine snr_db snr_loss_db "
    "unavoidable_ratio errors nonfinite ulp_histogram worst reference"
)
FINDING = (
    "id cause standing step source layer region born_at chain share statistic limit group elements evidence "
    "counterfactual remedy also"
)


@pytest.fixture
def nonfinite():
    row, _ = compare_tensor(np.float32([np.nan, 0.5]), np.float32([1, 0]), "fp32", identity=Identity(name="y"))
    return Report.of([row], unmatched=Unmatched(("a",), ("b", "c")))


def test_the_keys_are_those_of_the_design():
    document = example().to_json()

    assert list(document) == [*TOP.split(), "agreed"]
    assert document["schema"] == "precdiff.report/1"
    assert set(document["tensors"][0]) == {*TENSOR.split(), "extra", "waived"}
    assert set(document["findings"][0]) == set(FINDING.split())
    assert set(document["findings"][0]["counterfactual"]) == set(
        "change error_before error_after floor factor reproduces_bits".split()
    )
    assert set(document["tensors"][0]["worst"][0]) == set("index actual actual_bits expected ulp".split())
    assert set(document["tensors"][0]["reference"]) == set("backend bits status max_radius_ulp spot_checked".split())


@pytest.mark.parametrize("name", ["example", "nonfinite"])
def test_round_trip(name, nonfinite):
    report = {"example": example(), "nonfinite": nonfinite}[name]
    text = json.dumps(report.to_json(), allow_nan=False)
    back = Report.from_json(json.loads(text))

    assert back.to_json() == report.to_json()
    assert repr(back.tensors) == repr(report.tensors)
    assert render(back, verbose=True) == render(report, verbose=True)


def test_nonfinite_numbers_are_strings(nonfinite):
    row = nonfinite.to_json()["tensors"][0]

    assert (row["max_ulp"], row["max_rel"]) == ("inf", "inf")
    assert row["worst"][0]["actual"] == "nan"
    assert row["ulp_histogram"][-1] == ["inf", 1]


def test_evidence_of_any_shape_survives():
    evidence = {"a": math.inf, "b": [1, {"c": -math.inf}], "array": np.float32([1, np.nan]), "text": "why", "yes": True}
    report = replace(example(), findings=(replace(example().findings[0], evidence=evidence),))
    back = Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False)))

    assert back.findings[0].evidence["a"] == math.inf
    assert back.findings[0].evidence["b"] == [1, {"c": -math.inf}]
    assert math.isnan(back.findings[0].evidence["array"][1])
    assert back.findings[0].evidence["yes"] is True


def test_reports_of_a_newer_minor_version_are_read():
    document = {**example().to_json(), "later": 1}
    document["tensors"] = [{**row, "later": [1]} for row in document["tensors"]]

    assert Report.from_json(document).to_json() == example().to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "precdiff.eval/1"}, r"not a report: schema is 'precdiff.eval/1', allowed is 'precdiff.report/1'"),
        (
            {"verdict": "maybe"},
            r"report\.verdict: found 'maybe', allowed is one of pass, fail, undecided, not_compared",
        ),
        ({"tensors": {}}, r"report\.tensors: found '{}', allowed is a list"),
        ({"tensors": [{}]}, r"report\.tensors\[0\]: the key 'id' is missing"),
        ({"actual": 3}, r"report\.actual: found '3', allowed is a value of type str"),
    ],
)
def test_what_is_wrong_with_a_document_is_said(change, message):
    with pytest.raises(FileError, match=message):
        Report.from_json({**example().to_json(), **change})


def test_a_number_must_be_a_number():
    document = example().to_json()
    document["tensors"][1]["max_ulp"] = "large"

    with pytest.raises(FileError, match=r"report\.tensors\[1\]\.max_ulp: found 'large', allowed is a number"):
        Report.from_json(document)


@pytest.mark.parametrize("figure", [10**400, math.nan, True, None], ids=str)
def test_a_number_must_be_one_of_fp64(figure):
    document = example().to_json()
    document["tensors"][1]["max_ulp"] = figure

    with pytest.raises(FileError, match=r"report\.tensors\[1\]\.max_ulp: found .*, allowed is a number"):
        Report.from_json(document)


@pytest.mark.parametrize("row", [[1.0], [1.0, 2, 3], "ab", [1.0, 0.5], [1.0, 2**63]], ids=str)
def test_a_histogram_row_is_an_edge_and_a_count(row):
    document = example().to_json()
    document["tensors"][1]["ulp_histogram"] = [row]

    with pytest.raises(FileError, match=r"report\.tensors\[1\]\.ulp_histogram\[0\]: found"):
        Report.from_json(document)


def test_of_fills_in_what_follows(nonfinite):
    assert (nonfinite.verdict, nonfinite.first_divergence) == ("fail", "y")
    assert nonfinite.rule == nonfinite.tensors[0].rule
    assert example().rule == "each tensor by its own rule"


def test_small_parts_may_be_mappings():
    row = example().tensors[0]
    report = Report.of(
        [row], unmatched={"actual": ["x"], "expected": []}, envelope=[{"profile": "p", "verdict": "pass"}]
    )

    assert report.unmatched.actual == ["x"]
    assert report.envelope[0].profile == "p"


def test_a_tensor_is_found_by_id_and_the_failing_row_wins():
    assert example().tensor("exp").role == "output"
    assert example().tensor("log").role == "intermediate"
    assert example().tensor("nothing") is None


@pytest.mark.parametrize(
    ("hint", "value", "encoded"),
    [
        (float, math.inf, "inf"),
        (float | None, None, None),
        (float | None, 2.0, 2.0),
        (tuple[int, ...], (1, 2), [1, 2]),
        (tuple[float, int], (0.5, 3), [0.5, 3]),
        (dict[str, float], {"a": -math.inf}, {"a": "-inf"}),
        (list[str], ["a"], ["a"]),
    ],
)
def test_values_and_their_json(hint, value, encoded):
    assert encode(value) == encoded
    assert decode(hint, encoded) == value


@pytest.mark.parametrize("format", ["e4m3fn", "fp16"])
def test_what_overflowed_as_it_must_has_no_error(format):
    large = {"e4m3fn": 20.0, "fp16": 200.0}[format]

    def cubed(x):
        return x / 3 * x * x

    def errors(values):
        run = api.run(cubed, format=format, inputs={"x": api.round_array(values, format)})
        report = api.compare(run, max_ulp=64)
        return report.verdict, next(row.errors for row in report.tensors if row.role == "output")

    assert errors([large, 1.0]) == errors([1.0])


def test_a_search_for_a_devices_bits_that_was_cut_off_says_so():
    x = np.random.default_rng(3).normal(size=(8, 64)).astype(np.float16)
    declared = api.run("softmax", inputs={"x": x})
    device = np.random.default_rng(4).permuted(declared.outputs["out"], axis=-1)
    short = api.explain(device, declared=declared, budget=1e-9)
    assert "search            cut off after its 1e-09 s: a longer one may find more" in render(short)
    unexplained = replace(short, findings=(replace(short.findings[0], cause="unexplained"),))
    assert findings.likely_cause(unexplained).startswith("not found; the search was cut off after its 1e-09 s")
    assert "search_cut_off" not in {k for k, v in api.compare(device, declared=declared).provenance.items() if v}
