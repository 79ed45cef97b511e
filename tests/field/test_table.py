"""docs/field-cases.md: what is said first of every field case, made again and compared."""

from pathlib import Path

import pytest

from tests.field import test_field, test_reported

PAGE = Path(__file__).parents[2] / "docs" / "field-cases.md"


def numbers(finding):
    proof = finding.counterfactual
    if proof is None:
        return "no change to prove it"
    return f"{proof.error_before:.4g} to {proof.error_after:.4g} {finding.statistic}" + (
        ", reproduces the bits" if proof.reproduces_bits else ""
    )


def line(name):
    case = (test_field.CASES | test_reported.MADE)[name]()
    first = test_reported.findings(name)[0] if name in test_reported.MADE else case.report.findings[0]
    accepted = ", ".join([case.row["root_cause"], *case.row["root_cause_also_accepted"]])
    return f"| {name} | {case.row['verdict']} | {accepted} | {first.cause} | {first.standing} | {numbers(first)} |"


@pytest.mark.parametrize("name", sorted(test_field.CASES | test_reported.MADE))
def test_the_page_holds_the_line(name):
    assert line(name) in PAGE.read_text(encoding="utf-8").splitlines()
