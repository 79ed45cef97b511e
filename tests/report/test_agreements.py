"""Waivers and decisions on a report: a table of what each says, and that no tensor's own verdict ever changes."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.comparison import Scope, TensorLimit, overall, worst_ulp
from precdiff.dump.decision import Decision
from precdiff.report import Report, render
from precdiff.report.agreements import Agreements, key_of, with_agreements
from precdiff.report.configuration import Waiver
from precdiff.report.report import Beyond, Candidate
from tests.report.example import report as example

TODAY = date(2026, 12, 1)


def waiver(tensor="out", layer=None, limit=1000.0, expires=TODAY, source="pyproject.toml:1"):
    return Waiver(Scope(tensor, layer), limit, "NPU-123", "Li Wei", expires, source)


def decision(verdict="accept", **fields):
    (output,) = [row for row in example().tensors if row.role == "output"]
    return Decision("tensor", "pow.h5", "out", verdict, "Ana", **{"content": output.sha256, "number": 7, **fields})


def judged(*waivers, decisions=(), report=None, limits=(), stated=False):
    made = replace(example(), envelope=None) if report is None else report
    agreed = Agreements(limits, waivers, {row.name: row for row in decisions}, "decisions.sqlite", stated)
    return with_agreements(made, agreed, TODAY)


def error():
    return worst_ulp(example().tensors[-1])


WAIVERS = {
    "accepted": (waiver(), "pass", {"accepted": ("out",)}),
    "by id": (waiver("exp"), "pass", {"accepted": ("out",), "unneeded": ("exp",)}),
    "by glob and layer": (waiver("o*", "p?w"), "pass", {"accepted": ("out",)}),
    "exactly at its limit": (waiver(limit=error()), "pass", {"accepted": ("out",)}),
    "beyond its limit": (waiver(limit=error() * (1 - 2**-52)), "fail", {"exceeded": ("out",)}),
    "last day": (waiver(expires=TODAY), "pass", {"accepted": ("out",)}),
    "expired": (waiver(expires=TODAY - timedelta(1)), "fail", {"expired": ("out",)}),
    "another tensor": (waiver("log"), "fail", {"unneeded": ("log",)}),
    "capitals differ": (waiver("OUT"), "fail", {}),
    "another layer": (waiver(layer="mlp"), "fail", {}),
}


@pytest.mark.parametrize(("row", "verdict", "outcome"), WAIVERS.values(), ids=WAIVERS)
def test_what_a_waiver_does(row, verdict, outcome):
    made = judged(row)
    assert (made.verdict, made.agreed[0].outcome) == (verdict, outcome)
    assert [one.verdict for one in made.tensors] == [one.verdict for one in example().tensors]
    assert bool(made.tensors[-1].waived) is (verdict == "pass")


def test_a_waived_failure_stays_visible():
    text = render(judged(waiver()))
    assert text.startswith("PASS, 1 waived (does not pass): 1 of 4 tensors; out (fp16 8x64): worst ")
    assert (
        "waiver            pyproject.toml:1 (out, up to 1000 ULP, NPU-123, Li Wei, until 2026-12-01): accepts out"
        in text
    )
    assert "fail, waived" in text


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (waiver(expires=date(2026, 1, 31)), "until 2026-01-31): expired, and accepts nothing: out"),
        (waiver("nosuch"), "(nosuch, up to 1000 ULP, NPU-123, Li Wei, until 2026-12-01): names no tensor"),
        (waiver("log"), "not needed, log within the standard; delete it"),
        (waiver(limit=1.0), "does not accept out: beyond its limit"),
    ],
    ids=["expired", "names nothing", "unneeded", "exceeded"],
)
def test_a_waiver_that_does_nothing_is_said(row, told):
    text = render(judged(row))
    assert text.startswith("FAIL") and told in text


def test_the_first_waiver_that_accepts_is_named():
    made = judged(waiver(limit=1.0), waiver(source="pyproject.toml:9"), waiver(source="pyproject.toml:17"))
    assert made.tensors[-1].waived.source == "pyproject.toml:9"
    assert [row.outcome for row in made.agreed] == [{"exceeded": ("out",)}, {"accepted": ("out",)}, {}]


DECISIONS = {
    "accepted": (decision(), "pass", "accepted"),
    "to a limit": (decision(max_ulp=1000.0), "pass", "accepted"),
    "beyond it": (decision(max_ulp=1.0), "fail", "exceeded"),
    "changed since": (decision(content="other"), "fail", "reopened"),
    "expired": (decision(expires="2026-11-30"), "fail", "expired"),
    "last day": (decision(expires="2026-12-01"), "pass", "accepted"),
    "rejected": (decision("reject"), "fail", "reject"),
    "needs work": (decision("needs_work"), "fail", "needs_work"),
    "rejected, of other values": (decision("reject", content="other"), "fail", "reopened"),
}


@pytest.mark.parametrize(("row", "verdict", "said"), DECISIONS.values(), ids=DECISIONS)
def test_what_a_decision_does(row, verdict, said):
    made = judged(decisions=[row])
    assert (made.verdict, made.agreed[0].outcome) == (verdict, {said: ("out",)})
    assert made.agreed[0].source == "decisions.sqlite#7"


@pytest.mark.parametrize(
    ("row", "given", "verdict", "said"),
    [
        (waiver(), decision("reject"), "pass", "accepted"),
        (waiver(limit=1.0), decision(), "fail", "exceeded"),
        (waiver(expires=date(2026, 1, 1)), decision(), "fail", "expired"),
    ],
    ids=["accepts what the store rejects", "exceeded, the store accepts", "expired, the store accepts"],
)
def test_where_both_speak_the_file_wins_and_that_is_said(row, given, verdict, said):
    made = judged(row, decisions=[given])
    assert made.verdict == verdict
    assert [one.outcome for one in made.agreed] == [{said: ("out",)}, {"overruled": ("out",)}]
    assert "set aside, the configuration speaks of out" in render(made)


def test_a_waiver_accepts_what_is_undecided_and_never_what_was_not_compared():
    made = replace(example(), envelope=None)
    for verdict, expected in (("undecided", "pass"), ("not_compared", "undecided")):
        row = replace(made.tensors[-1], verdict=verdict)
        report = replace(made, tensors=(*made.tensors[:-1], row), verdict="undecided")
        assert judged(waiver(limit=float("inf")), report=report).verdict == expected


def test_an_infinite_error_needs_an_infinite_limit():
    made = replace(example(), envelope=None)
    row = replace(made.tensors[-1], max_ulp=float("inf"), excused=0)
    report = replace(made, tensors=(*made.tensors[:-1], row))
    assert judged(waiver(limit=1e300), report=report).verdict == "fail"
    assert judged(waiver(limit=float("inf")), report=report).verdict == "pass"


def test_an_incomplete_dump_stays_undecided():
    made = replace(example(), envelope=None, provenance={"incomplete": True, "incomplete_because": "killed"})
    assert judged(waiver(), report=made).verdict == "undecided"


def candidates(*errors):
    rows = [Candidate(f"p{n}", "fail", (Beyond("exp", "out", "pow", "fail", e),)) for n, e in enumerate(errors)]
    return replace(example(), envelope=(*rows, Candidate("good", "pass")))


@pytest.mark.parametrize(
    ("errors", "verdict"), [((), "pass"), ((9.0, 999.0), "pass"), ((9.0, 1001.0), "undecided")], ids=str
)
def test_a_waiver_holds_over_the_envelope_where_it_accepts_every_candidate(errors, verdict):
    assert judged(waiver(), report=candidates(*errors)).verdict == verdict


def test_a_decision_of_the_store_is_about_these_values_not_a_candidates():
    assert judged(decisions=[decision()], report=candidates(9.0)).verdict == "undecided"


def test_limits_say_what_they_judge():
    rows = [TensorLimit(Scope("out"), 4.0, None, "a:1"), TensorLimit(Scope("*"), 9.0, None, "a:2")]
    rows += [TensorLimit(Scope(layer="no"), 9.0, None, "a:3")]
    assert [row.outcome for row in judged(limits=rows).agreed] == [{"judged": ("out",)}, {}, {}]
    assert judged(limits=rows, stated=True).agreed[0].outcome == {"set aside": ("out",)}
    text = render(judged(limits=rows))
    assert "a:1" not in text and "a:3 (any tensor, layer no, up to 9 ULP): names no tensor that was compared" in text


def test_what_was_agreed_is_part_of_the_document():
    made = judged(waiver(), decisions=[decision()])
    back = Report.from_json(made.to_json())
    assert back.to_json() == made.to_json() and render(back, verbose=True) == render(made, verbose=True)


scopes = st.builds(Scope, st.sampled_from(["out", "exp", "*", "l*", "none"]), st.sampled_from([None, "pow", "x"]))
waivers = st.builds(
    Waiver, scopes, st.sampled_from([0.0, 5.0, 1000.0]), st.just("why"), st.just("who"),
    st.sampled_from([TODAY - timedelta(1), TODAY]), st.just("f:1"),
)  # fmt: skip


@given(st.lists(waivers, max_size=4), st.lists(st.sampled_from(["pass", "fail", "undecided"]), min_size=4, max_size=4))
def test_the_verdict_follows_from_what_is_left(rows, verdicts):
    made = example()
    tensors = tuple(replace(row, verdict=word) for row, word in zip(made.tensors, verdicts, strict=True))
    report = judged(*rows, report=Report.of(tensors))
    left = [row.verdict for row in report.tensors if row.waived is None]
    assert report.verdict == overall([*left, "pass"])
    for row, word in zip(report.tensors, verdicts, strict=True):
        assert row.verdict == word
        spoken = [w for w in rows if w.scope.matches(row.id, row.name, row.layer)]
        fits = any(w.max_ulp >= worst_ulp(row) and w.expires >= TODAY for w in spoken)
        assert bool(row.waived) is (fits and word != "pass"), key_of(row)
