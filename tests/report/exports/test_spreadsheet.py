"""CSV: numbers read back to the bit, names are never formulas, a row is a row."""

import csv
import io
import math
from dataclasses import replace

import pytest
from hypothesis import given

from precdiff.report.exports import spreadsheet
from precdiff.report.printable import printable
from tests.report.example import report as example
from tests.report.exports.hostile import NAMES, names, report_on


def read(report):
    return list(csv.DictReader(io.StringIO(spreadsheet.render(report), newline="")))


def test_every_figure_reads_back_to_the_bit():
    report = example()
    for row, tensor in zip(read(report), report.tensors, strict=True):
        for name in ("max_ulp", "mean_signed_ulp", "rmse", "cosine", "snr_db", "max_rel"):
            assert float(row[name]) == getattr(tensor, name)
        assert (int(row["over_limit"]), row["verdict"]) == (tensor.over_limit, tensor.verdict)
        assert row["error_local"] == ("" if tensor.errors.local is None else repr(tensor.errors.local))
    assert (row["shape"], row["id"], row["name"]) == ("8x64", "exp", "out")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 5e-324])
def test_special_numbers(value):
    made = example()
    row = read(replace(made, tensors=(replace(made.tensors[0], snr_db=value),)))[0]["snr_db"]
    assert (math.copysign(1, float(row)) == math.copysign(1, value) and float(row) == value) or math.isnan(value)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_no_formula_and_no_second_row(name):
    rows = read(report_on(name))
    assert len(rows) == 4
    for row in rows:
        assert None not in row and None not in row.values()
        assert row["name"].removeprefix("'") == printable(name)
        assert not row["name"].lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))


@given(names)
def test_any_text_is_one_cell(name):
    text = spreadsheet.render(report_on(name))
    text.encode("utf-8")
    assert text.count("\r\n") == 5 == text.count("\n")
    for row in csv.reader(io.StringIO(text, newline="")):
        assert len(row) == len(spreadsheet.COLUMNS)


def test_a_comparison_that_could_not_be_made_has_no_row():
    text = spreadsheet.render_error("a.h5", "no such file")
    assert text.startswith(spreadsheet.MARK) and list(csv.DictReader(io.StringIO(text))) == []
