"""[tool.precdiff]: what may be written, where it is looked for, and what a wrong row is told."""

from datetime import date

import pytest

from precdiff.comparison import Scope
from precdiff.errors import FileError
from precdiff.report.configuration import Configuration, configuration

LIMIT = '[[tool.precdiff.limits]]\nlayer = "blocks.*"\nmax_ulp = 8\n'
WAIVER = (
    '[[tool.precdiff.waivers]]\ntensor = "out"\nmax_ulp = 12\nreason = "NPU-1"\nauthor = "Li Wei"\n'
    "expires = 2027-03-31\n"
)


@pytest.fixture
def read(tmp_path):
    def of(text):
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        return configuration(tmp_path)

    return of


def test_a_limit_and_a_waiver_with_the_lines_they_stand_at(read):
    found = read(f"[project]\nname = 'x'\n{LIMIT}\n{WAIVER}{WAIVER}")
    (limit,), waivers = found.limits, found.waivers
    assert (limit.scope, limit.max_ulp, limit.standard) == (Scope(layer="blocks.*"), 8.0, None)
    assert limit.source == "pyproject.toml:3"
    assert [waiver.source for waiver in waivers] == ["pyproject.toml:7", "pyproject.toml:13"]
    assert waivers[0].expires == date(2027, 3, 31)
    assert (waivers[0].scope, waivers[0].max_ulp, waivers[0].reason) == (Scope(tensor="out"), 12.0, "NPU-1")


def test_a_day_may_be_a_text_and_a_limit_infinite(read):
    found = read(WAIVER.replace("2027-03-31", '"2027-03-31"').replace("12", "inf"))
    assert (found.waivers[0].expires, found.waivers[0].max_ulp) == (date(2027, 3, 31), float("inf"))


def test_rows_on_one_line_are_told_by_number(read):
    text = 'tensor = "a", max_ulp = 1'
    found = read(f"[tool.precdiff]\nlimits = [{{{text}}}, {{{text}}}]\n")
    assert [row.source for row in found.limits] == ["pyproject.toml limits[0]", "pyproject.toml limits[1]"]


def test_the_nearest_file_with_the_table_holds(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(LIMIT)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert len(configuration(inner).limits) == 1
    (inner / "pyproject.toml").write_text("[tool.precdiff]\n")
    assert configuration(inner) == Configuration()


WRONG = {
    "no TOML": ("[tool", "no TOML: "),
    "no text": ("\udcff", "no TOML: "),
    "no table": ("tool.precdiff = 3", "found 3; allowed is a table with limits and waivers"),
    "unknown table": ("[tool.precdiff]\nwaiver = []", "Did you mean 'waivers'"),
    "no list": ("[tool.precdiff.waivers]\nreason = 'x'", r"each under \[\[tool.precdiff.waivers\]\]"),
    "unknown key": (WAIVER + 'expire = "x"\n', "pyproject.toml:1: unknown key 'expire'. Did you mean 'expires'"),
    "nothing named": (WAIVER.replace('tensor = "out"\n', ""), "names no tensor; state tensor, layer, or both"),
    "empty name": (WAIVER.replace('"out"', '""'), "tensor: found ''"),
    "no reason": (WAIVER.replace('reason = "NPU-1"\n', ""), "missing: reason"),
    "empty reason": (WAIVER.replace("NPU-1", ""), "missing: reason"),
    "blank author": (WAIVER.replace("Li Wei", " "), "author: found ' '; allowed is a text"),
    "no expiry": (WAIVER.replace("expires = 2027-03-31\n", ""), "missing: expires"),
    "no limit": (WAIVER.replace("max_ulp = 12\n", ""), "missing: max_ulp"),
    "several": ('[[tool.precdiff.waivers]]\ntensor = "a"\n', "missing: reason, author, expires, max_ulp"),
    "negative": (WAIVER.replace("12", "-1"), "max_ulp: found -1; allowed is a number of at least 0"),
    "nan": (WAIVER.replace("12", "nan"), "max_ulp: found nan"),
    "true": (WAIVER.replace("12", "true"), "max_ulp: found True"),
    "text for a number": (WAIVER.replace("12", '"12"'), "max_ulp: found '12'"),
    "no day": (WAIVER.replace("2027-03-31", '"soon"'), "expires: found 'soon'; allowed is a day as in 2027-03-31"),
    "a time": (WAIVER.replace("2027-03-31", "2027-03-31T10:00:00"), "expires: found datetime"),
    "a limit of nothing": ('[[tool.precdiff.limits]]\ntensor = "a"\n', "states max_ulp, standard, or both"),
    "unknown standard": (
        LIMIT.replace("max_ulp = 8", 'standard = "ulpp"'),
        "pyproject.toml:1: unknown standard 'ulpp'",
    ),
    "limit not read": (LIMIT + 'standard = "torch"\n', "pyproject.toml:1: .*torch"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path, text, told):
    (tmp_path / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=told):
        configuration(tmp_path)
