"""Seven public bug reports: the right value, the wrong value, and what the diagnosis says of it.

Stepwise emulations use NumPy's fp32 exp/log; another libm may differ by an ulp.
"""

from fractions import Fraction

import numpy as np
import pytest

from precdiff import Change, replay
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.settings import Settings
from precdiff.formats import get_format, to_bits, ulp_distance
from precdiff.rounding import Rounding
from tests.field import kernels
from tests.field.case import rebuilt
from tests.rounding.edges import same


def _parts(case, at):
    return np.array([case.input(name)[at] for name in ("z_small", "z_large")])


CASES = {
    "002-nemo-mask": rebuilt(
        "002-nemo-mask", kernels.masked_softmax, lambda c: {"s": c.input("s"), "plane": c.input("mask_plane")}
    ),
    "003-ort-ln": rebuilt("003-ort-ln", kernels.narrow_variance_layernorm, lambda c: {"x": c.input("x")}),
    "009-llvm-cabs": rebuilt(
        "009-llvm-cabs", kernels.complex_abs, lambda c: {"re": _parts(c, 0), "im": _parts(c, 1)}
    ),
    "011-cdist": rebuilt("011-cdist", kernels.distance_by_product, lambda c: {n: c.input(n) for n in ("a", "b")}),
    "018-raf-nll": rebuilt("018-raf-nll", kernels.mean_loss, lambda c: {"loss": c.input("loss")}),
    "027-nnpi-pow": rebuilt("027-nnpi-pow", kernels.stepwise_pow, lambda c: {n: c.input(n) for n in ("x", "p")}),
    "050-cann-slope": rebuilt(
        "050-cann-slope", kernels.sloped_softmax,
        lambda c: {"s": c.input("s"), "dist": c.input("dist"), "exponent": np.float32(-3.5)},
    ),
}  # fmt: skip

#: ulps by which another exp may change the faulty result
LIBM = {"050-cann-slope": 1}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


@pytest.fixture
def named(request):
    return CASES[request.param]()


def only(name):
    return pytest.mark.parametrize("named", [name], indirect=True)


def made(case, **settings):
    """(reference of the output, its format)"""
    trace = case.run.trace
    judged = Judgement(trace, case.run.kernel, Settings(**settings))
    tensor = trace.outputs["out"]
    return judged.intended[tensor], get_format(trace.formats[tensor])


def fractions(values):
    return [Fraction(float(hi)) + Fraction(float(lo)) for hi, lo in zip(values.hi.flat, values.lo.flat, strict=True)]


def test_the_certified_reference_rounded_once_is_the_right_value(case):
    reference, format = made(case)
    rounded, decided = reference.values.rounded(Rounding(format))
    assert (reference.status, bool(decided.all())) == ("certified", True)
    assert format.name == case.expected["correctly_rounded"]["dtype"]
    assert to_bits(rounded, format).ravel().tolist() == case.rounded_bits


def test_the_reference_is_the_exact_value(case):
    values = made(case)[0].values
    for found, radius, exact in zip(fractions(values), values.radius.flat, case.exact, strict=True):
        assert abs(found - exact) <= Fraction(float(radius)) + abs(exact) / 10**39


def test_mpmath_gives_the_exact_value_to_the_digits_a_pair_holds(case):
    for found, exact in zip(fractions(made(case, backend="mpmath")[0].values), case.exact, strict=True):
        # hi + lo holds 106 bits; lo of a number near 1e-300 is subnormal
        assert abs(found - exact) <= abs(exact) / 2**104 + Fraction(5, 10**324)


def test_the_wrong_value_is_reproduced(case):
    name = case.row["id"].removeprefix("field-")
    apart = ulp_distance(case.output, np.array(case.wrong), case.report.tensors[-1].format)
    if name in LIBM:
        assert np.max(apart) <= LIBM[name]
    else:
        assert same(case.output, case.wrong).all()


def test_the_first_cause_is_the_root_cause(case):
    assert case.report.verdict == "fail"
    first = case.report.findings[0]
    assert (first.cause in case.accepted, first.standing) == (True, "verified"), first
    assert first.counterfactual.error_after <= max(first.limit / 2, 1.1 * first.counterfactual.floor)


@only("002-nemo-mask")
def test_the_mask_addition_is_the_first_to_leave_the_numbers(named):
    mask = named.named("mask")
    first = named.report.findings[0]
    assert named.run.trace.values[mask.id].tolist() == [float(named.row["observed_wrong"]["mask_sum"])] * 4
    assert named.report.first_divergence == mask.id == first.evidence["first"] == first.born_at[0]
    assert [s.op for s in named.run.trace.steps[:1]] == ["add"]


@only("003-ort-ln")
def test_the_variance_overflows_in_a_format_too_narrow_for_it(named):
    variance = named.named("variance")
    first = named.report.findings[0]
    assert (first.evidence["first"], named.report.first_divergence) == (variance.id, variance.id)
    assert first.evidence["largest_exact"] == float(named.row["observed_wrong"]["exact_variance"])
    assert named.run.trace.values[variance.id].tolist() == [float("inf")]
    assert "intermediate_too_narrow" in first.also
    assert "underflow_ftz" not in {cause for f in named.report.findings for cause in (f.cause, *f.also)}


@only("009-llvm-cabs")
def test_the_squares_leave_the_range_at_both_ends(named):
    causes = {f.cause: f for f in named.report.findings}
    squares = [s.id for s in named.run.trace.steps if s.op == "mul"]
    assert set(causes) == {"overflow", "underflow_ftz"}
    assert all(f.evidence["first"] in squares and f.standing == "verified" for f in causes.values())


@only("011-cdist")
def test_the_subtraction_that_cancels_and_its_condition_number(named):
    first = named.report.findings[0]
    a, b = (Fraction(float(named.inputs[name][0])) for name in ("a", "b"))
    trace = named.run.trace
    assert trace.step(first.step).op == "sub"
    assert first.evidence["operands"] == [named.named("squares").id, named.named("product").id]
    # the larger operand over the result: about 4e7
    assert first.evidence["condition_number"] == pytest.approx(float((a * a + b * b) / (a - b) ** 2))
    assert 4e7 < first.evidence["condition_number"] < 5e7
    assert first.counterfactual.error_after == 0


@only("018-raf-nll")
def test_the_sum_stops_and_does_not_overflow(named):
    total, last = np.float16(0), -1
    for i, loss in enumerate(named.inputs["loss"]):
        if total + loss != total:
            total, last = total + loss, i
    first = named.report.findings[0]
    assert (first.cause, named.run.trace.step(first.step).op) == ("stagnation", "sum")
    assert (first.evidence["stops_at_index"], first.evidence["stopped_value"]) == (last, float(total))
    assert float(total) == named.row["observed_wrong"]["pinned_sum"]
    assert "overflow" not in {cause for f in named.report.findings for cause in (f.cause, *f.also)}


@only("027-nnpi-pow")
def test_an_integer_power_comes_out_exact_once_log_and_product_are_wide(named):
    first = named.report.findings[0]
    trace = named.run.trace
    assert (first.cause, trace.step(first.step).op) == ("error_amplification", "exp")
    assert ([trace.step(id).op for id in first.region], [trace.step(id).op for id in first.born_at]) == (
        ["log", "mul"], ["log"],
    )  # fmt: skip
    fixed = replay(trace, {id: Change("format", "fp32", "wide") for id in first.region})
    assert fixed.outputs["out"][0] == 256
    assert first.evidence["condition_max"] == pytest.approx(8 * np.log(2))


@only("050-cann-slope")
def test_the_error_grows_with_the_distance_and_only_the_stored_slope_is_narrow(named):
    trace, first = named.run.trace, named.report.findings[0]
    stored = named.named("stored")
    assert (first.cause, first.region, first.evidence["needed"]) == ("intermediate_too_narrow", [stored.id], "fp32")
    assert {trace.formats[id] for id in (*trace.inputs.values(), *trace.outputs.values())} == {"fp32"}
    bias = next(s for s in trace.steps if s.op == "mul")
    exact = [Fraction(float(d)) * Fraction(2**-3.5) for d in named.inputs["dist"]]
    off = [float(Fraction(float(v)) - e) for v, e in zip(trace.values[bias.id], exact, strict=True)]
    assert np.array(off[1:]) / named.inputs["dist"][1:] == pytest.approx(off[-1] / 2000, rel=1e-2)


@only("050-cann-slope")
def test_an_fp32_slope_gives_what_the_fix_gave(named):
    fixed = replay(named.run.trace, {named.named("stored").id: Change("format", "fp32", "wide")})
    wanted = np.array(named.row["observed_wrong"]["with_fp32_slope"], np.float32)
    assert np.max(ulp_distance(fixed.outputs["out"], wanted, "fp32")) <= 1


@only("050-cann-slope")
def test_by_the_default_limit_the_slope_is_still_named_first(named):
    from precdiff import explain

    first = explain(named.run, max_ulp=4).findings[0]
    assert (first.cause, first.standing) == ("intermediate_too_narrow", "candidate")
    assert first.share > 0.99
