"""Known faults and the cause each must be given: one table. And what every finding must bear out: its own proof."""

from typing import NamedTuple

import numpy as np
import pytest

from precdiff import Change, explain, replay, run
from precdiff.diagnose.judgement import Judgement
from precdiff.generate import input_array
from precdiff.kernels.expression import expression_kernel
from precdiff.trace import Region

X10, Y4 = "uniform(0.1,10,shape=(512,))", "uniform(-4,4,shape=(512,))"
ROW = {"gamma": "normal(1,0.1,shape=(64,))", "beta": "normal(0,0.1,shape=(64,))"}


class Fault(NamedTuple):
    """A kernel (a name, or an expression with brackets), its inputs as SPECs, and the first finding expected."""

    kernel: str
    inputs: dict[str, str]
    format: str
    cause: str
    step: str
    born_at: list[str]
    standing: str = "verified"
    group: str = "finite"
    variant: str | None = None


def layernorm_at(mean):
    return {"x": f"normal({mean},1,shape=(4,64))", **ROW}


FAULTS = [
    # exp magnifies what log and the product lost
    Fault("pow", {"x": X10, "y": Y4}, "fp16", "error_amplification", "exp", ["log", "mul"]),
    Fault("pow", {"x": X10, "y": Y4}, "bf16", "error_amplification", "exp", ["log", "mul"]),
    Fault("pow", {"x": X10, "y": Y4}, "fp32", "error_amplification", "exp", ["log", "mul"]),
    Fault("(exp(x*y))", {"x": "3.3", "y": "3.1"}, "fp16", "error_amplification", "exp", ["mul"]),
    Fault("(log(1+x)/x)", {"x": "0.002"}, "fp16", "error_amplification", "log", ["add"]),
    # 1 + 1e-25 is 1 in fp64 as well: errors far below the reference's radius matter, and only the exact sum helps
    Fault("log(1+x)", {"x": "1e-25"}, "fp32", "error_amplification", "log", ["add"]),
    # fp16 inside, fp32 out: first of all the inside is too narrow
    Fault(
        "pow", {"x": X10, "y": Y4}, "fp16", "intermediate_too_narrow", "cast", ["log", "mul"], variant="v3"
    ),
    Fault(
        "softmax_naive", {"x": "normal(0,4,shape=(8,64))"}, "fp16", "overflow", "div", ["exp"], group="nonfinite"
    ),
    Fault(
        "softmax_naive", {"x": "normal(0,60,shape=(4,64))"}, "fp32", "overflow", "div", ["exp"], group="nonfinite"
    ),
    Fault("(sqrt(x*x+y*y))", {"x": "300", "y": "400"}, "fp16", "overflow", "sqrt", ["mul"], group="nonfinite"),
    Fault("(sqrt(x*x+y*y))", {"x": "1e200", "y": "1"}, "fp64", "overflow", "sqrt", ["mul"], group="nonfinite"),
    # once the square is finite, its format still loses what the difference needs: the infinity is the root all the same
    Fault("sqrt(x*x+y)-x", {"x": "20000", "y": "8000"}, "fp16", "overflow", "sub", ["mul"], group="nonfinite"),
    Fault("(sqrt(x*x+y*y))", {"x": "1e-5", "y": "1e-5"}, "fp16", "underflow_ftz", "sqrt", ["mul", "mul#2"]),
    Fault("(sqrt(x*x+y*y))", {"x": "1e-200", "y": "2e-200"}, "fp64", "underflow_ftz", "sqrt", ["mul", "mul#2"]),
    # the sum in bf16 costs more than half the limit once nothing underflows: the cause is sure, the proof not complete
    Fault(
        "softmax_naive", {"x": "normal(-100,1,shape=(4,64))"}, "bf16", "underflow_ftz", "div", ["exp"], "candidate",
        group="nonfinite",
    ),
    Fault("(x+1)-x", {"x": "4096"}, "fp16", "cancellation", "sub", ["add"]),
    Fault("(x+1)-x", {"x": "512"}, "bf16", "cancellation", "sub", ["add"]),
    Fault("(x+1)-x", {"x": "33554432"}, "fp32", "cancellation", "sub", ["add"]),
    Fault("(exp(x)-1)/x", {"x": "0.001"}, "fp16", "cancellation", "sub", ["exp"]),
    Fault("exp(x)-1", {"x": "1e-26"}, "fp32", "cancellation", "sub", ["exp"]),
    # condition number 21: five bits of eleven
    Fault("(x+1)*(x+1)-1", {"x": "0.02396"}, "fp16", "cancellation", "sub", ["add", "add#2", "mul"]),
    Fault("x-sqrt(x*x-1)", {"x": "50"}, "fp16", "cancellation", "sub#2", ["sub"]),
    Fault("layernorm_one_pass", layernorm_at(100), "bf16", "cancellation", "sub", ["sum"]),
    Fault("layernorm_one_pass", layernorm_at(1000), "fp32", "cancellation", "sub", ["sum", "sum#2"]),
    # the variance came out negative: NaN is only the consequence
    Fault(
        "layernorm_one_pass", layernorm_at(1e4), "fp32", "cancellation", "sub", ["div#2", "mul#2"], group="nonfinite"
    ),
    Fault("reduce_sum", {"x": "constant(1,shape=(4096,))"}, "fp16", "stagnation", "sum", ["sum"]),
    Fault("reduce_sum", {"x": "uniform(0,1,shape=(2,8192))"}, "fp16", "stagnation", "sum", ["sum"]),
    Fault("reduce_sum", {"x": "uniform(0,1,shape=(2,2048))"}, "bf16", "stagnation", "sum", ["sum"]),
    # an accumulator of eleven bits for 1,024 terms that do not stagnate
    Fault("softmax", {"x": "normal(0,0.5,shape=(8,1024))"}, "fp16", "intermediate_too_narrow", "sum", ["sum"]),
    # no wider format to prove it by: exactly, then
    Fault("log(1+exp(x))", {"x": "-20"}, "fp64", "error_amplification", "log", ["add"]),
]  # fmt: skip


def label(fault):
    return f"{fault.kernel}-{fault.format}-{fault.cause}-{'-'.join(fault.inputs.values())}"


def kernel_of(text):
    return expression_kernel(text) if set(text) & set("()+-") else text


def run_of(fault):
    inputs = {name: input_array(name, spec, seed=0, format=fault.format) for name, spec in fault.inputs.items()}
    return run(kernel_of(fault.kernel), inputs=inputs, options={"variant": fault.variant} if fault.variant else None)


@pytest.mark.parametrize("fault", FAULTS, ids=label)
def test_the_first_finding(fault):
    report = explain(run_of(fault))
    first = report.findings[0]
    found = first.cause, first.step, list(first.born_at), first.standing, first.group
    assert found == (fault.cause, fault.step, fault.born_at, fault.standing, fault.group)
    assert report.verdict == "fail"


def changes_of(row):
    """The changes a finding's proof names, from its JSON."""
    return {Region(tuple(part["steps"])): Change.from_json(part) for part in row.get("changes", [row])}


@pytest.mark.parametrize("fault", FAULTS, ids=label)
def test_the_proof_can_be_replayed_from_what_is_written(fault):
    made = run_of(fault)
    judgement = Judgement(made.trace, made.kernel)
    problem = judgement.problems[0]
    proof = explain(made).findings[0].counterfactual
    replayed = replay(made.trace, changes_of(proof.change)).trace
    assert problem.statistic(replayed.values[problem.tensor]) == proof.error_after
    assert problem.statistic(made.trace.values[problem.tensor]) == proof.error_before


def test_the_pow_kernel_by_fp32_log_and_product_read_unrounded():
    first = explain(run_of(FAULTS[0])).findings[0]
    assert first.counterfactual.change == {"steps": ["log", "mul"], "kind": "format", "value": "fp32", "exit": "wide"}
    assert first.counterfactual.error_after <= 1.1 * first.counterfactual.floor
    assert sum(first.evidence["shares"].values()) == pytest.approx(1, abs=0.05)
    # |y ln x|, on the elements beyond 4 ulp
    assert 2 < first.evidence["condition_median"] <= first.evidence["condition_max"] < 4 * np.log(10)


def test_the_narrow_inside_of_pow_is_also_amplified():
    report = explain(run_of(next(f for f in FAULTS if f.variant == "v3")))
    assert report.findings[0].also == ["error_amplification"]


def test_squares_that_overflow_are_the_root_even_where_the_variance_would_cancel():
    inputs = {n: input_array(n, s, seed=0, format="fp16") for n, s in layernorm_at(100).items()}
    made = run("layernorm_one_pass", inputs=inputs)
    report = explain(made)
    first = report.findings[0]
    assert (first.cause, first.standing) == ("overflow", "verified")
    assert report.first_divergence == first.evidence["first"]
    assert np.isinf(made.trace.values[first.evidence["first"]]).all()


def test_the_maximum_subtracted_from_itself_is_no_cancellation():
    # x - max is 0 at the maximum, condition infinite, and right
    x = np.float16([[0.1, 3.3, 7.7, 9.9]])
    report = explain(run("softmax", inputs={"x": x}), max_ulp=0.5)
    assert "cancellation" not in {c for f in report.findings for c in (f.cause, *f.also)}


def test_a_pole_is_no_overflow():
    report = explain(run(expression_kernel("x + 1/(y*y)"), inputs={"x": np.float64(1), "y": np.float64(0)}))
    assert (report.verdict, report.findings) == ("pass", ())


def test_a_logarithm_of_one_is_no_underflow():
    from precdiff.diagnose.evidence import Evidence
    from precdiff.diagnose.rules.underflow_ftz import underflow_ftz

    made = run(expression_kernel("log(x) + (y + 1000 - 1000)"), inputs={"x": np.float32(1), "y": np.float32(1e-6)})
    problem = Judgement(made.trace, made.kernel).problems[0]
    assert list(underflow_ftz.find(Evidence(problem))) == []
