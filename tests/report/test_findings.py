"""How changes, proofs and their bars are put into words."""

import math
from dataclasses import replace

import pytest

from precdiff.report import findings, numbers, pictures
from precdiff.report.table import Column, Table
from tests.report.example import finding, report


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"kind": "exact", "value": None, "exit": "declared"}, "exact"),
        ({"kind": "format", "value": "fp32", "exit": "wide"}, "format fp32 (exit wide)"),
        ({"kind": "exact", "value": None, "steps": ["log", "mul"]}, "exact at log, mul"),
        ({"kind": "cast", "value": {"through": ["fp32"]}, "step": "cast"}, "cast through fp32 at cast"),
        ({"kind": "scale", "value": 0.125, "note": "per tile"}, "scale 0.125 (note per tile)"),
    ],
)
def test_changes(row, words):
    assert findings.change(row) == words


def test_bars_share_one_logarithmic_scale():
    proof = replace(finding().counterfactual, error_before=64.0, error_after=1.0, floor=0.5)
    bars = {bar.label: bar for bar in pictures.proof_bars(replace(finding(), counterfactual=proof, limit=8.0))}

    assert [bars[label].text for label in ("before", "after", "limit", "floor")] == ["64", "1", "8", "0.5"]
    assert [bars[label].length for label in ("before", "after", "limit", "floor")] == [1.0, 2 / 8, 5 / 8, 1 / 8]


def test_bars_of_zero_and_infinity():
    proof = replace(finding().counterfactual, error_before=math.inf, error_after=0.0, floor=0.0)
    bars = pictures.proof_bars(replace(finding(), counterfactual=proof, limit=4.0))

    assert [bar.length for bar in bars] == [1.0, 0.0, 1.0, 0.0]


def test_without_a_replay_there_is_no_proof():
    bare = replace(finding(), counterfactual=None, standing="insufficient")

    assert pictures.proof_bars(bare) == []
    assert dict(findings.finding_facts(bare))["proof"] == "none: evidence only"
    assert findings.likely_cause(replace(report(), findings=(bare,))).endswith("no replay")


@pytest.mark.parametrize(
    ("rejected", "lines"),
    [
        ({"cancellation": "error stays 4"}, ["cancellation: error stays 4"]),
        ([{"cause": "overflow", "error_after": 4.0}], ["overflow: its change leaves 4 RMS ULP"]),
        (
            [{"cause": "cancellation", "step": "sub", "error_after": None}],
            ["cancellation at sub: no replay to prove it"],
        ),
        (["overflow: no exponent near the limit"], ["overflow: no exponent near the limit"]),
        (None, []),
    ],
)
def test_rejected_hypotheses(rejected, lines):
    assert findings.rejected_lines(replace(finding(), evidence={"rejected": rejected})) == lines


@pytest.mark.parametrize(
    ("actual", "provenance", "found", "command"),
    [
        ("run.h5", {"next": "precdiff explain x"}, True, "precdiff explain x"),
        ("run.h5", {}, True, "precdiff serve"),
        ("run.h5", {}, False, "precdiff explain run.h5"),
        ("run of pow", {"kernel": "pow"}, True, 'keep the run with dump="run.h5", then precdiff serve'),
        ("run of pow", {"kernel": "pow"}, False, "precdiff.explain(run)"),
    ],
)
def test_the_next_step_fits_what_there_is(actual, provenance, found, command):
    given = replace(report(), actual=actual, provenance=provenance, findings=(finding(),) if found else ())

    assert findings.next_command(given) == command


@pytest.mark.parametrize(("x", "text"), [(412.301, "412.4"), (4.0, "4"), (1e-7, "1e-07"), (16777217.0, "1.678e+07")])
def test_limits_are_rounded_up(x, text):
    assert numbers.at_least(x) == text
    assert float(text) >= x


@pytest.mark.parametrize(
    ("format", "text"),
    [("fp16", "0.33333"), ("bf16", "0.3333"), ("fp32", "0.333333333"), ("fp64", "0.33333333333333331")],
)
def test_values_have_the_digits_of_their_format(format, text):
    assert numbers.value(1 / 3, format) == text


def test_a_table_leaves_out_empty_columns_and_then_the_least_important():
    columns = (Column("a"), Column("empty", spare=1), Column("wide", spare=2), Column("b", "right", spare=1))
    table = Table(columns, [["x", "-", "w" * 10, "1"], ["y", "", "w", "22"]])

    assert table.lines(100) == ["a  wide         b", "x  wwwwwwwwww   1", "y  w           22"]
    assert table.lines(10) == ["a   b", "x   1", "y  22"]
    assert table.lines(1) == ["a", "x", "y"]


def test_a_timeline_has_one_mark_a_tensor_in_order():
    marks = pictures.timeline(report(), report().tensors)

    assert [mark.name for mark in marks] == ["log", "mul", "exp", "out"]
    assert (marks[3].verdict, marks[3].own.length) == ("fail", 1.0)
    assert marks[2].inherited.text == marks[3].own.text
    assert marks[0].inherited.length == 0.0


def test_a_timeline_marks_the_first_divergence():
    run = report()

    assert [mark.first for mark in pictures.timeline(run, run.tensors)] == [True, False, False, False]
