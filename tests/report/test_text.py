"""The messages, pinned: what they say of a small case counted by hand, and of a run with findings."""

import re
from dataclasses import replace

import numpy as np
import pytest

from precdiff.comparison import Identity, Limits, compare_tensor
from precdiff.report import Report, assertion, render
from tests.report.example import report as example

ULP = 2.0**-10  # of fp16 in [1, 2)


def small(**limits):
    """Eight fp16 elements: off by 0, 1, 2, 3, 8 ULP, a wrong sign, a NaN, and an infinity for the largest number."""
    expected = np.float32([1, 1, 1, 1, 1, 0.5, 2, 65504])
    actual = np.float32([1, 1 + ULP, 1 - 2 * ULP, 1 + 3 * ULP, 1 + 8 * ULP, -0.5, np.nan, np.inf])
    row = compare_tensor(actual, expected, "fp16", "ulp", Limits(**limits), Identity(name="y")).row
    return Report.of([row], standard="ulp", actual="array", expected="array")


def finite(**limits):
    expected = np.float32([[1, 1, 1], [1, 1, 1]])
    actual = expected + np.float32([[0, 1, 0], [3, 8, 5]]) * np.float32(ULP)
    row = compare_tensor(actual, expected, "fp16", "ulp", Limits(**limits), Identity(name="y")).row
    return Report.of([row], standard="ulp", actual="array", expected="array")


# 0.5 and -0.5 are 1 apart: 1 / 2^-11 = 2048 ULP; infinity stands one step above 65504
ASSERTION = """\
FAIL: y (fp16 8): worst inf ULP, abs 1, rel 2; error <= 2 ULP of fp16
  over limit    5 of 8 elements (62.5 %)
  mismatched    NaN 1, Inf 1, sign 1
  index  actual  expected   ULP    bits
  (6)       nan         2   inf  0x7e00
  (7)       inf     65504     1  0x7c00
  (5)      -0.5       0.5  2048  0xb800
  (4)    1.0078         1     8  0x3c08
  (3)    1.0029         1     3  0x3c03
  ULP           exact: 1, <= 1: 2, <= 2: 1, <= 4: 1, <= 8: 1, <= 2048: 1, inf: 1
  would pass    at no limit: non-finite values do not match
  likely cause  not looked for
  next          precdiff.explain(precdiff.run(kernel, inputs=...)): two arrays carry no steps to look at"""

FINITE = """\
FAIL: y (fp16 2x3): worst 8 ULP, abs 0.007812, rel 0.007812; error <= 2 ULP of fp16
  over limit    3 of 6 elements (50 %)
  mismatched    NaN 0, Inf 0, sign 0
  index   actual  expected  ULP    bits
  (1, 1)  1.0078         1    8  0x3c08
  (1, 2)  1.0049         1    5  0x3c05
  (1, 0)  1.0029         1    3  0x3c03
  (0, 1)   1.001         1    1  0x3c01
  ULP           exact: 2, <= 1: 1, <= 4: 1, <= 8: 2
  would pass    at a limit of 8 ULP
  likely cause  not looked for
  next          precdiff.explain(precdiff.run(kernel, inputs=...)): two arrays carry no steps to look at"""


def test_the_message_of_a_failed_assertion():
    assert assertion(small(max_ulp=2)) == ASSERTION
    assert assertion(finite(max_ulp=2)) == FINITE


def test_a_limit_that_is_said_to_pass_does():
    stated = re.search(r"at a limit of (\S+) ULP", assertion(finite(max_ulp=2)))[1]

    assert finite(max_ulp=float(stated)).verdict == "pass"


def test_excused_elements_are_counted_and_their_size_is_said():
    message = assertion(finite(max_ulp=1, atol=5 * ULP))

    assert "over limit    1 of 6 elements (16.7 %), 2 excused (largest 5 ULP)" in message
    assert message.startswith("FAIL: y (fp16 2x3): worst 8 ULP")


def test_a_pass_says_how_good_it_is():
    text = render(finite(max_ulp=8))

    assert text.startswith("PASS: y (fp16 2x3): worst 8 ULP, abs 0.007812, rel 0.007812; error <= 8 ULP of fp16\n")
    assert "Next:" not in text


def test_undecided_says_why():
    from precdiff.comparison import Expected

    kind = np.zeros(2, np.uint8)
    expected = Expected(np.ones(2), np.zeros(2), np.array([0, 9 * ULP]), kind)
    row = compare_tensor(np.ones(2, np.float32), expected, "fp16", "ulp", identity=Identity(name="y")).row
    text = render(Report.of([row]))

    assert text.startswith("UNDECIDED: y (fp16 2): worst 0 ULP")
    assert "0 of 2 elements (0 %), 1 undecided within the reference's radius" in text


def test_nothing_compared():
    row = compare_tensor(np.zeros(0, np.float32), np.zeros(0, np.float32), "fp32", identity=Identity(name="y")).row

    assert render(Report.of([row])).startswith("NOT COMPARED: y (fp32 0): nothing to compare")
    nan = np.float32([np.nan])
    row = compare_tensor(nan, nan, "fp32", identity=Identity(name="y")).row
    assert render(Report.of([row])).startswith("NOT COMPARED: y (fp32 1): nothing but NaN on both sides")
    assert assertion(Report.of([])) == "NOT COMPARED: no tensor was compared"


def test_nan_on_both_sides_is_counted_and_said():
    values = np.float32([np.nan, 1.0])
    row = compare_tensor(values, values, "fp32", identity=Identity(name="y")).row

    assert "0 of 2 elements (0 %), 1 NaN on both sides (no error)" in render(Report.of([row]))


# what a reviewer looks for, in this order
RENDERED = [
    r"FAIL: 1 of 4 tensors; out \(fp16 8x64\): worst 6\.\d+ ULP, abs 3\.\d+, rel 0\.0039\d+; error <= 4 ULP of fp16",
    r"  actual            pow\.h5",
    r"  first divergence  log \(kernels/pow\.py:12\), layer pow: no step breaks its bound; .* born here",
    r"  envelope          ieee fail, ieee-exact fail",
    r"tensor +step +layer +verdict +max ULP +p99 ULP +over limit +local +inherited +error / unavoidable",
    r"log +- +pow +pass +0\.49\d+ +0\.49\d+ +0 +0\.49\d+ +- +0\.99\d+",
    r"out +exp +pow +fail +6\.5\d+ +4\.36\d +9 +- +- +4\.58\d",
    r"Finding 1: error_amplification \(verified\) at exp \(kernels/pow\.py:13\)",
    r"  born at             log, mul",
    r"  chain               log -> mul -> exp",
    r"  proof +format fp32 at log, mul \(exit wide\): 1\.3\d+ -> 0\.28\d+ RMS ULP \(factor 4.*; limit 4, floor .*\)",
    r"  share of the error  97\.5 %",
    r"  remedy              keep log\(x\) and y \* log\(x\) in fp32",
    r"  rejected            cancellation: its change leaves 1\.3\d+ RMS ULP",
    r"out \(fp16 8x64\)",
    r"  over limit  9 of 512 elements \(1\.76 %\)",
    r"  ULP +<= 1/2: 261, <= 1: 93, <= 2: 95, <= 4: 54, <= 8: 9",
    r"  index +actual +expected +ULP +bits",
    r"  \(7, 61\) +206\.88 +207\.69822 +6\.5\d+ +0x5a77",
    r"Next: precdiff serve",
]


def test_a_run_with_findings():
    lines = iter(render(example()).splitlines())

    for pattern in RENDERED:
        assert any(re.fullmatch(pattern, line) for line in lines), pattern


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_tables_keep_to_the_width(width):
    text = render(example(), width)
    tables = [line for line in text.splitlines() if line.startswith(("tensor", "log ", "mul ", "exp ", "out "))]
    rows = [line for line in tables if "(" not in line]

    assert rows and all(len(line) <= width for line in rows)
    assert all("max ULP" in line or re.search(r"\d", line) for line in rows)


def test_colour_is_only_added():
    coloured = render(example(), colour=True)

    assert re.sub(r"\x1b\[\d*m", "", coloured) == render(example())
    assert coloured.startswith("\x1b[31mFAIL\x1b[0m")
    assert coloured.count("\x1b[32mpass\x1b[0m") == 3


def test_verbose_adds_every_tensor_and_all_evidence():
    text = render(example(), verbose=True)

    assert "condition number 8.9" in text
    assert text.count("error / unavoidable ") == 4
    assert text.count("ULP up to") == 4


def test_of_many_tensors_those_with_something_to_say_are_shown():
    many = [replace(example().tensors[0], id=f"s{i}", name=f"s{i}") for i in range(50)]
    report = replace(example(), tensors=[*many, *example().tensors])
    text = render(report)

    assert "and 50 more that pass" in text
    assert "s7" not in text and "log " in text
    assert render(report, verbose=True).count("\ns7 ") == 2
