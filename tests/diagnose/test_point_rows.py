"""Rows of a batch that have no ordinary answer."""

import pytest

from precdiff.diagnose.points import answer


def row(fpcore, fmt="fp16", **point):
    return {
        "id": 1,
        "fpcore": fpcore,
        "vars": list(point),
        "fmt": fmt,
        "point": {k: float(v).hex() for k, v in point.items()},
    }


def test_a_result_that_is_an_input():
    made = answer(row("x", x=3))
    assert (made["got"], made["reference"], made["error_bits"], made["findings"]) == (
        "0x1.8000000000000p+1", "0x1.8000000000000p+1", 0.0, [],
    )  # fmt: skip


def test_an_expression_without_inputs():
    assert answer(row("(+ 1 1)"))["got"] == "0x1.0000000000000p+1"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (row("(array x x)", x=1), "the expression has 2 results; allowed is one"),
        (row("(while TRUE ([y x (+ y 1)]) y)", x=1), "still running after 200 iterations"),
        (row("(+ x", x=1), "this parenthesis is not closed"),
        ({**row("x", x=1), "fmt": "fp12"}, "format 'fp12'"),
        ({**row("x", x=1), "point": {"x": "one"}}, "x is 'one'; allowed are hex floats"),
        ({**row("x", x=1), "vars": "x"}, "vars is 'x'"),
    ],
)
def test_it_is_answered_by_what_is_wrong(asked, message):
    made = answer(asked)
    assert message in made["error"] and made["id"] == 1


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "fp64"])
def test_a_nan_and_an_overflow(fmt):
    assert answer(row("(sqrt (- x))", fmt, x=4))["error_bits"] == 0  # NaN in exact arithmetic as well
    made = answer(row("(/ (* x x) x)", fmt, x=2.0**15 if fmt == "fp16" else 2.0**100 if fmt != "fp64" else 2.0**1000))
    assert made["findings"][0]["cause"] == "overflow" and made["findings"][0]["error_bits_after"] == 0
