"""What a report says where a standard is about the whole tensor, or has no limit."""

import numpy as np

import precdiff
from precdiff.comparison import Expected, Limits, compare_tensor
from precdiff.report import rows, text
from precdiff.report.limits import would_pass

ONES = np.ones(200, np.float16)


def off(count, by):
    made = ONES.copy()
    made[:count] += np.float16(by)
    return made


def test_a_rule_about_the_whole_tensor_is_quoted_with_its_figures():
    report = precdiff.compare(off(5, 0.05), ONES, standard="cann-mixed")

    assert report.verdict == "fail"
    assert "2.5000% miss the first, 0 the second" in text.render(report)
    assert "at no single factor: the rule is about the whole tensor" in text.assertion(report)


def test_a_factor_is_said_where_one_is_known():
    report = precdiff.compare(off(1, 0.02), ONES, standard="cann-threshold")
    (row,) = report.tensors
    needed = row.extra["needed_factor"]  # of T = 2^-10: the largest error decides, 10 T

    assert needed == row.max_abs / (1.0 + 1e-7) / 10 * 2**10
    assert "times the limit" in would_pass(row)


def test_what_has_no_limit_is_said_to_have_none():
    row = compare_tensor(ONES, Expected.reals(np.ones(200)), "fp16", "cuda-math", Limits(op="exp")).row

    assert (row.verdict, rows.largest(row)) == ("not_compared", "no limit")


def test_a_standard_that_passes_names_no_element():
    report = precdiff.compare(off(2, 0.05), ONES, standard="cann-mixed")

    assert report.verdict == "pass"
    assert rows.over_limit(report.tensors[0]).startswith("0 of 200 elements")
    assert would_pass(report.tensors[0]) == "at every limit"
