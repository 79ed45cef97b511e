"""Expressions as kernels: what they compute and where, and what is said of a text that is not one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.errors import KernelError, PrecDiffError
from precdiff.kernels import run_kernel
from precdiff.kernels.expression import expression_kernel, functions, pieces
from precdiff.machine import BallMachine
from precdiff.trace import evaluate


def run(text, format="fp16", **inputs):
    return run_kernel(expression_kernel(text), {n: np.float64(v) for n, v in inputs.items()}, format=format)


def value(text, format="fp16", **inputs):
    return float(run(text, format, **inputs).outputs["out"])


def steps(text, **inputs):
    return [(s.op, str(s.source)) for s in run(text, **inputs).trace.steps]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y * 2", 0.75 + 2.5 * 2),
        ("(x + y) * 2", (0.75 + 2.5) * 2),
        ("x - y - 1", 0.75 - 2.5 - 1),
        ("-x ** 2", -0.5625),
        ("(-x) ** 2", 0.5625),
        ("x / 0.5", 1.5),
        ("max(x, y) - min(x, y)", 1.75),
        ("abs(-y)", 2.5),
        ("fma(x, y, -1)", 0.75 * 2.5 - 1),
        ("pow(y, 2)", 6.25),
        ("sqrt(y * y)", 2.5),
        ("x", 0.75),
        ("y\n+ x", 3.25),
    ],
)
def test_it_computes_what_python_would(text, expected):
    # every value here is exact in fp16, so Python's binary64 is the oracle
    inputs = {name: n for name, n in {"x": 0.75, "y": 2.5}.items() if name in expression_kernel(text).inputs}
    assert value(text, **inputs) == expected


def test_every_operation_is_rounded():
    # 2049 is no fp16: numpy's float16 arithmetic rounds each step as well
    x = np.float16(2048)
    assert value("x + 1 - x", x=2048) == float(x + np.float16(1) - x) == 0


def test_steps_say_the_column_they_are_written_at():
    assert steps("exp(y * log(x)) + 0.5", x=2, y=3) == [
        ("log", "expression:9"),
        ("mul", "expression:7"),
        ("exp", "expression:1"),
        ("constant", "expression:19"),
        ("add", "expression:17"),
    ]
    assert steps("-x - -y", x=1, y=1)[-1] == ("sub", "expression:4")


def test_pieces_are_the_text_at_those_columns():
    text = "(x + 1) * (x - -2)"
    found = pieces(text)
    assert {column: found[column] for _, place in steps(text, x=1) for column in [int(place.split(":")[1])]} == found
    assert found[9] == text and found[4] == "x + 1" and found[16] == "-2"


def test_numbers_reach_the_reference_as_exact_decimals():
    trace = run("x * 0.1", x=1).trace
    constant = next(s for s in trace.steps if s.op == "constant")
    assert constant.params["text"] == "0.1"
    machine = BallMachine(200)
    ideal = machine.reals(evaluate(trace, machine)[constant.id])
    lower, upper = Fraction(float(ideal.lo)), Fraction(float(ideal.hi))
    assert lower <= Fraction(1, 10) <= upper and Fraction(0.1) != Fraction(1, 10)


def test_negative_literals_are_numbers_of_their_own():
    assert [s.op for s in run("x * -2.5", x=1).trace.steps] == ["constant", "mul"]


def test_inputs_are_in_order_of_appearance():
    assert list(expression_kernel("b + exp(a) * b + c").inputs) == ["b", "a", "c"]


@pytest.mark.parametrize("name", sorted(functions()))
def test_every_function_runs(name):
    operands = ", ".join(["x"] * (3 if name in THREE else 2 if name in TWO else 1))
    assert np.isfinite(value(f"{name}({operands})", "fp32", x=1.5 if name == "acosh" else 0.5))


TWO = set("add sub mul div minimum maximum min max pow power hypot atan2 fmod remainder copysign fmin fmax".split())
THREE = {"fma", "clip"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends too early at column 1"),
        ("x +", "ends too early at column 4; allowed are numbers, names"),
        ("(x", "was never closed at column 1"),
        ("x y", "cannot be read at column 3"),
        ("3", "found no input; give a number a name"),
        ("x ^ y", r"found 'x \^ y' at column 1; .*for a power write \*\*"),
        ("x < y", "found 'x < y' at column 1; .*comparisons need a kernel"),
        ("x if y else z", "choices need a kernel"),
        ("x // y", r"write floor\(a / b\)"),
        ("x @ y", "write a kernel for matrices"),
        ("1 + x.real", "found 'x.real' at column 5"),
        ("x[0]", "inputs are used whole"),
        ("lgo(x)", r"unknown function 'lgo' at column 1; did you mean 'log'\? known are add, "),
        ("__import__('os')", "unknown function '__import__'"),
        ("(lambda: x)()", "found a call of 'lambda: x'"),
        ("exp(x, y)", "exp has 2 arguments at column 1; it takes 1"),
        ("exp(x=1)", "named or starred"),
        ("exp(*x)", "named or starred"),
        ("exp * 2", r"'exp' is a function at column 1; call it, as in exp\(x\)"),
        ("x + 'a'", "found 'a' at column 5; allowed are plain decimals"),
        ("x + 1j", "found 1j"),
        ("x + True", "found True"),
        ("x + 0x10", "found 0x10 at column 5; allowed are plain decimals"),
        ("x + 1_000", "found 1_000"),
        ("x + 1e999", "found 1e999 at column 5; allowed are 0 and magnitudes"),
        ("x + 1e-999", "found 1e-999"),
        ("x + 1" + "0" * 500, "up to 400 characters"),
        ("x × 2", "found '×' at column 3; allowed are ASCII"),
        ("-" * 300 + "x", "nested too deeply"),
        ("-" * 9000 + "x", "nested too deeply"),
        ("x" * 10_001, "10,001 characters; allowed are 10,000"),
        ("x := 3", "cannot be read"),
        ("[x for x in y]", "found"),
        ("f'{x}'", "found"),
        ("x and y", "found 'x and y'"),
        ("+x", r"found '\+x'"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(text, message):
    with pytest.raises(KernelError, match=message):
        expression_kernel(text)


@given(st.text(max_size=30) | st.text("xy+-*/()., 019e_'[]{}:", max_size=30))
def test_no_text_does_more_than_refuse(text):
    try:
        kernel = expression_kernel(text)
    except PrecDiffError:
        return
    assert all(name.isidentifier() for name in kernel.inputs)
