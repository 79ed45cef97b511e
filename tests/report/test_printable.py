"""Any text as one line of what can be seen; and no text of a file reaches a terminal otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.report import assertion, render
from precdiff.report.printable import printable, printable_lines
from tests.report.exports.hostile import NAMES, report_on


@given(st.text())
def test_it_can_be_seen_and_written(text):
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


def test_line_ends_stay_where_lines_are_meant():
    assert printable_lines("a\nb\x07") == "a\nb\\x07"


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_messages_hold_nothing_else(name, verbose):
    report, plain = report_on(name), report_on("plain")
    for text, like in (
        (render(report, verbose=verbose), render(plain, verbose=verbose)),
        (assertion(report), assertion(plain)),
    ):
        assert all(line.isprintable() for line in text.split("\n"))
        assert text.count("\n") == like.count("\n")
