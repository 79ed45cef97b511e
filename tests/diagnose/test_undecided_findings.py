"""What no precision decides is named with its evidence, and blames nobody who is not to blame."""

import numpy as np
import pytest

import precdiff
from precdiff.ops import acos, log, sqrt, sub, sum_


def angle(x, y):
    return acos(sum_(x * y, axis=-1) / (sqrt(sum_(x * x, axis=-1)) * sqrt(sum_(y * y, axis=-1))))


def distance(x, y):
    return sqrt(sub(sum_(x * x, axis=-1), sqrt(sum_(x * x, axis=-1)) * sqrt(sum_(y * y, axis=-1))))


VECTORS = np.random.default_rng(0).normal(size=(256, 3)).astype(np.float32)


@pytest.mark.parametrize(("kernel", "op"), [(angle, "acos"), (distance, "sqrt")], ids=["acos of 1", "sqrt of 0"])
def test_the_edge_of_a_domain(kernel, op):
    """A vector with itself: the operand is exactly 1, or 0, and rounding takes some beyond."""
    made = precdiff.run(kernel, inputs={"x": VECTORS, "y": VECTORS})
    (finding,) = precdiff.explain(made).findings
    nans = np.isnan(made.outputs["out"])
    assert (finding.cause, finding.standing, made.trace.step(finding.step).op) == ("domain_error", "candidate", op)
    assert finding.elements == finding.evidence["invalid"] == np.count_nonzero(nans) > 0
    assert finding.evidence["first_at"] == [int(np.argmax(nans))]
    ((low, high),), (recorded,) = finding.evidence["exact_operands_within"], finding.evidence["operands"]
    edge = {"acos": 1.0, "sqrt": 0.0}[op]
    assert edge - 1e-12 < low <= edge <= high < edge + 1e-12
    assert recorded > edge if op == "acos" else recorded < edge


def test_within_the_domain_nothing_is_said():
    """One vector with itself whose rounded quotient is 1 or less: undecided, and no NaN to explain."""
    made = precdiff.run(angle, inputs={"x": VECTORS, "y": VECTORS})
    fine = VECTORS[~np.isnan(made.outputs["out"])]
    report = precdiff.explain(precdiff.run(angle, inputs={"x": fine, "y": fine}))
    assert (report.verdict, list(report.findings)) == ("undecided", [])


def test_beyond_the_domain_for_certain_is_no_edge():
    def lost(x):
        return log(x - x - 1)

    report = precdiff.explain(precdiff.run(lost, inputs={"x": VECTORS}))
    assert all(finding.cause != "domain_error" for finding in report.findings)
