"""FPCore: what is read, what it computes, where its operations lie in the unfolded tree, what is refused."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from precdiff.errors import PrecDiffError
from precdiff.kernels import run_kernel
from precdiff.kernels.fpcore import parse, read_core
from precdiff.kernels.symbolic import CONSTANTS


def value(text, fmt="fp64", **point):
    core = parse(text, list(point))
    inputs = {core.parameters[n]: np.float64(v) for n, v in point.items()} or {"_": np.float64(0)}
    made = run_kernel(core.kernel, inputs, format=fmt)
    return [float(np.asarray(v, np.float64)) for v in made.outputs.values()]


@pytest.mark.parametrize(
    ("text", "point", "expected"),
    [
        ("(+ x y 1)", {"x": 2, "y": 3}, 6.0),
        ("(- x)", {"x": 2}, -2.0),
        ("(- x y)", {"x": 2, "y": 5}, -3.0),
        ("(* 1/2 x x)", {"x": 3}, 4.5),
        ("(let ([a (+ x 1)] [b x]) (* a b))", {"x": 3}, 12.0),
        ("(let ([x 1] [y x]) (+ x y))", {"x": 3}, 4.0),
        ("(let* ([x 1] [y x]) (+ x y))", {"x": 3}, 2.0),
        ("(if (< x 0) (- x) x)", {"x": -3}, 3.0),
        ("(if (and (< 0 x) (not (== x 1))) 10 20)", {"x": 2}, 10.0),
        ("(if (< 0 x 5) 10 20)", {"x": 7}, 20.0),
        ("(while (< i 4) ([i 0 (+ i 1)] [s x (* s 2)]) s)", {"x": 3}, 48.0),
        ("(while* (< i 4) ([i 0 (+ i 1)] [s 0 (+ s i)]) s)", {"x": 3}, 10.0),
        ("(while (< i 4) ([i 0 (+ i 1)] [s 0 (+ s i)]) s)", {"x": 3}, 6.0),
        ("(pow x 3)", {"x": 2}, 8.0),
        ("(fmax x (fabs y))", {"x": 2, "y": -9}, 9.0),
        ("(fma x x 1)", {"x": 2}, 5.0),
        ("(+ PI 0)", {}, float(np.pi)),
        ("(* x INFINITY)", {"x": 1}, float("inf")),
    ],
)
def test_it_computes(text, point, expected):
    assert value(text, **point) == [expected]


def test_an_array_is_several_outputs():
    assert value("(array x (* 2 x))", x=3) == [3.0, 6.0]


def test_numbers_are_exact_in_the_reference_and_rounded_once_on_the_device():
    assert value("(+ x 1/3)", "fp16", x=0) == [float(np.float16(1 / 3))]
    with mpmath.workdps(460):
        assert abs(mpmath.mpf(CONSTANTS["PI"]) - mpmath.pi) < mpmath.mpf(10) ** -440
        assert abs(mpmath.mpf(CONSTANTS["LOG10E"]) * mpmath.ln(10) - 1) < mpmath.mpf(10) ** -440
    assert Fraction(CONSTANTS["SQRT1_2"]) ** 2 < Fraction(1, 2) + Fraction(1, 10**440)


def test_paths_are_those_of_the_unfolded_tree():
    core = parse("(let ([t (* x x)]) (+ t (sqrt t) 1))", ["x"])
    assert {node.op: paths for node, paths in core.paths.items() if node.op != "+"} == {
        "*": [(0, 0), (0, 1, 0)], "sqrt": [(0, 1)],
    }  # fmt: skip
    assert sorted(p for node, paths in core.paths.items() if node.op == "+" for p in paths) == [(), (0,)]


def test_names_that_are_no_identifiers():
    assert value("(+ B^2 lambda)", **{"B^2": 2, "lambda": 3}) == [5.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(+ x", "character 1: this parenthesis is not closed"),
        ("x)", "a closing parenthesis that opens nowhere"),
        ("(gamma x)", "unknown operation 'gamma'"),
        ("(sqrt x x)", "sqrt has 2 arguments; it takes 1"),
        ("(+ x z)", "unknown name 'z'; known are x"),
        ("(! :precision binary32 x)", "found '!'; allowed are scalars"),
        ("(tensor ([i 3]) x)", "found 'tensor'"),
        ("(let ([a]) a)", "a binding of another form"),
        ("x x", "found 2 expressions"),
        ("(" * 5000 + "x" + ")" * 5000, "unknown|nested"),
        ("(- " * 300 + "x" + ")" * 300, "nested too deeply; allowed are 200 levels"),
        ("(+ x 1/0)", "unknown name '1/0'"),
    ],
)
def test_it_is_refused(text, message):
    with pytest.raises(PrecDiffError, match=message):
        value(text, x=1)


def test_a_file_of_several(tmp_path):
    path = tmp_path / "a.fpcore"
    path.write_text('; two\n(FPCore one (x)\n :pre (< 0 x)\n (+ x\n   1))\n(FPCore (x y) :name "other" (* x y))\n')
    with pytest.raises(PrecDiffError, match=r"holds 2 expressions \(one, other\); name one"):
        read_core(str(path))
    core = read_core(f"{path}:one")
    trace = run_kernel(core.kernel, {"x": np.float16(1)}).trace
    core.place(trace)
    assert [(s.op, s.source.line) for s in trace.steps] == [("constant", 5), ("add", 4)]
    assert read_core(f"{path}:other").inputs == ("x", "y")
