"""GitHub's workflow commands, read back as a runner reads them: ten at most, the worst first, and only ours.

`commands` follows actions/runner, src/Runner.Common/ActionCommand.cs: a line that begins with `::` after white space;
properties up to the next `::`, parted by commas; the escapes undone; stop-commands turns all off until its word.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given

from precdiff.report import render
from precdiff.report.exports import github
from precdiff.report.printable import printable
from tests.report.example import report as example
from tests.report.exports.hostile import NAMES, names, report_on

ESCAPES = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")]


def undone(text, escapes):
    for code, character in escapes:
        text = text.replace(code, character)
    return text


def commands(text):
    found, stopped = [], None
    for line in map(str.lstrip, text.splitlines()):
        if not line.startswith("::") or "::" not in line[2:]:
            continue
        head, _, message = line[2:].partition("::")
        kind, _, listed = head.partition(" ")
        if stopped is not None:
            stopped = None if kind == stopped else stopped
        elif kind == "stop-commands":
            stopped = message
        else:
            properties = dict(item.split("=", 1) for item in listed.split(",") if item)
            values = {name: undone(value, ESCAPES) for name, value in properties.items()}
            found.append((kind, values, undone(message, [*ESCAPES[:2], ESCAPES[-1]])))
    return found


def annotations(report, folder):
    return commands("\n".join(github.lines(report, folder)))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "pow.py").touch()
    return tmp_path


def test_an_output_beyond_its_limit(folder):
    ((kind, properties, message),) = annotations(example(), folder)
    assert (kind, properties) == ("error", {"file": "kernels/pow.py", "line": "13", "title": "precdiff: out"})
    assert message.startswith("worst ") and message.endswith("error <= 4 ULP of fp16")
    assert "%)" in message  # the share; a bare % would start an escape


@pytest.mark.parametrize(
    "source",
    [
        "",
        "elsewhere.py:3",
        "x" * 300 + ":3",
        "x/" * 3000 + ":3",
        "/etc/passwd:3",
        "../x.py:1",
        "kernels/pow.py",
        "kernels:1",
    ],
)
def test_only_files_of_the_repository_are_pointed_at(folder, source):
    (folder.parent / "x.py").touch()
    made = example()
    ((_, properties, _),) = annotations(replace(made, tensors=(replace(made.tensors[-1], source=source),)), folder)
    assert properties == {"title": "precdiff: out"}


def test_a_whole_path_inside_is_made_relative(folder):
    made = example()
    row = replace(made.tensors[-1], source=f"{folder}/kernels/pow.py:7")
    ((_, properties, _),) = annotations(replace(made, tensors=(row,)), folder)
    assert (properties["file"], properties["line"]) == ("kernels/pow.py", "7")


def failing(*errors, verdict="fail"):
    made = example()
    rows = [
        replace(made.tensors[-1], name=f"t{n}", max_ulp=error, excused=0, verdict=verdict)
        for n, error in enumerate(errors)
    ]
    return replace(made, tensors=tuple(rows))


def test_ten_at_most_the_worst_first_and_the_rest_counted(folder):
    report = failing(*range(1, 13), math.inf, math.nan)
    titles = [properties["title"] for _, properties, _ in annotations(report, folder)]
    assert titles[:2] in (["precdiff: t12", "precdiff: t13"], ["precdiff: t13", "precdiff: t12"])
    assert titles[2:] == [f"precdiff: t{n}" for n in range(11, 3, -1)] and len(titles) == 10
    assert github.lines(report, folder)[-1].startswith("and 4 more tensors do not pass")


def test_what_fails_comes_before_what_is_undecided(folder):
    report = replace(failing(3), tensors=(*failing(9, verdict="undecided").tensors, *failing(3).tensors))
    assert [p["title"] for _, p, _ in annotations(report, folder)] == ["precdiff: t0", "precdiff: t0 UNDECIDED"]


def test_a_verdict_no_tensor_shows_is_annotated(folder):
    report = replace(failing(1, verdict="pass"), verdict="undecided")
    assert [kind for kind, *_ in annotations(report, folder)] == ["error"]
    assert annotations(replace(report, verdict="pass"), folder) == []


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_part_of_one_annotation(folder, name):
    ((kind, properties, _),) = annotations(report_on(name), folder)
    assert (kind, properties) == ("error", {"title": f"precdiff: {printable(name)}"})


@given(names)
def test_no_text_is_obeyed(name):
    report = report_on(name)
    assert commands(github.quoted(render(report))) == []
    assert len(commands(github.render_error(name, name))) == 1


def test_without_quotes_it_would_be_obeyed():
    """The check above can fail."""
    assert commands(render(report_on("::error::x"))) or commands("\n::error::x")


def test_text_after_the_quoted_is_obeyed_again():
    assert len(commands(f"{github.quoted('::error::a')}\n::error::b")) == 1
