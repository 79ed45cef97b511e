"""JUnit XML by the rules of the two schemas people validate with, and red exactly where the command is.

The rules are those of Windy Road's JUnit.xsd (Ant) and of junit-10.xsd (Jenkins xunit-plugin), restated in `check`:
what both allow. A file that breaks a rule on purpose shows that each is held.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from precdiff.report.exports import junit
from precdiff.report.printable import printable
from tests.report.example import report as example
from tests.report.exports.hostile import NAMES, names, report_on

NOW = datetime(2026, 12, 1, 8, 30, 5, 999, tzinfo=UTC)
SUITE = {"name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time", "package", "id"}
CHILDREN = {  # element -> its children, in order: (tag, fewest, most)
    "testsuites": [("testsuite", 0, None)],
    "testsuite": [("properties", 1, 1), ("testcase", 0, None), ("system-out", 1, 1), ("system-err", 1, 1)],
    "properties": [("property", 0, None)],
}
ATTRIBUTES = {  # element -> (required, also allowed)
    "testsuites": (set(), set()),
    "testsuite": (SUITE - {"skipped"}, {"skipped"}),
    "properties": (set(), set()),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname", "time"}, set()),
    "failure": ({"type"}, {"message"}),
    "error": ({"type"}, {"message"}),
    "skipped": (set(), {"type", "message"}),
    "system-out": (set(), set()),
    "system-err": (set(), set()),
}
COUNTS = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}


def check(document):
    """The suite, where the document keeps the rules."""
    root = ET.fromstring(document.encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        required, allowed = ATTRIBUTES[element.tag]
        assert required <= set(element.keys()) <= required | allowed, element.tag
        check_children(element)
    for suite in root:
        check_suite(suite)
    (only,) = root
    return only


def check_children(element):
    tags = " ".join(child.tag for child in element)
    if element.tag == "testcase":
        assert tags in ("", "skipped", "error", "failure")
    elif element.tag in CHILDREN:
        wanted = "".join(
            f"({tag} ){{{least},{'' if most is None else most}}}" for tag, least, most in CHILDREN[element.tag]
        )
        assert re.fullmatch(wanted, tags + " " if tags else ""), tags
        assert not (element.text or "").strip()
    else:
        assert not tags


def check_suite(suite):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    assert suite.get("name") and suite.get("hostname") and suite.get("id") == "0"
    for name, path in COUNTS.items():
        assert int(suite.get(name)) == len(suite.findall(path))
    for timed in (suite, *suite.iter("testcase")):
        assert re.fullmatch(r"\d+(\.\d+)?", timed.get("time"))
    assert all(one.get("name").strip() for one in suite.iter("property"))


def red(suite):
    return int(suite.get("failures")) + int(suite.get("errors")) > 0


def test_a_case_a_tensor_and_the_one_beyond_the_limit_fails():
    suite = check(junit.render(example(), NOW))
    assert suite.get("timestamp") == "2026-12-01T08:30:05"
    assert [case.get("name") for case in suite.findall("testcase")] == ["log", "mul", "exp", "out [exp]"]
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("type") == "precdiff.fail"
    assert failure.get("message").startswith("worst ") and "error <= 4 ULP of fp16" in failure.get("message")
    assert "over limit" in failure.text and "would pass" in failure.text
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["precdiff.verdict"] == "fail"
    assert properties["precdiff.cause"].startswith("error_amplification (verified) at exp")
    assert "Finding 1: error_amplification" in suite.findtext("system-out")


def verdicts(*words):
    made = example()
    rows = tuple(replace(made.tensors[-1], name=f"t{n}", verdict=word) for n, word in enumerate(words))
    return replace(made, tensors=rows)


@pytest.mark.parametrize(
    ("words", "verdict", "counts"),
    [
        (("pass", "pass"), "pass", (0, 0, 0)),
        (("pass", "fail"), "fail", (1, 0, 0)),
        (("pass", "undecided"), "undecided", (0, 1, 0)),
        (("pass", "not_compared"), "undecided", (0, 1, 0)),
        (("pass", "pass"), "undecided", (0, 1, 0)),
        (("pass", "pass"), "fail", (1, 0, 0)),
    ],
)
def test_red_where_the_exit_code_is_not_0(words, verdict, counts):
    suite = check(junit.render(replace(verdicts(*words), verdict=verdict)))
    assert tuple(int(suite.get(name)) for name in ("failures", "errors", "skipped")) == counts
    assert red(suite) is (verdict != "pass")


def test_a_step_with_nothing_to_compare_is_skipped():
    made = verdicts("pass", "not_compared")
    step = replace(made.tensors[1], role="intermediate")
    suite = check(junit.render(replace(made, tensors=(made.tensors[0], step), verdict="pass")))
    assert suite.get("skipped") == "1" and not red(suite)


def test_a_comparison_that_could_not_be_made_is_an_error():
    suite = check(junit.render_error("a\0.h5", "no <such> file"))
    assert suite.find("testcase/error").get("message") == "no <such> file" and red(suite)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_any_name_is_text(name):
    suite = check(junit.render(report_on(name)))
    assert {case.get("name") for case in suite.findall("testcase")} == {printable(name)}


@given(names)
def test_any_text_keeps_the_structure(name):
    check(junit.render(report_on(name)))


BROKEN = {
    "no classname": (' classname="precdiff.pow"', ""),
    "a count": ('failures="1"', 'failures="2"'),
    "time of a zone": ('timestamp="2026-12-01T08:30:05"', 'timestamp="2026-12-01T08:30:05Z"'),
    "order": ("<properties>", "<system-err /><properties>"),
    "unknown attribute": ("<testsuites>", '<testsuites version="1">'),
    "two outcomes": ("<failure", '<skipped /><failure type="x"'),
}


@pytest.mark.parametrize(("old", "new"), BROKEN.values(), ids=BROKEN)
def test_the_rules_can_be_broken(old, new):
    document = junit.render(example(), NOW)
    assert old in document
    with pytest.raises((AssertionError, ET.ParseError)):
        check(document.replace(old, new, 1))
