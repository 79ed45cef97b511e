"""`compare` and `explain` for other programs: the files say what the terminal says, and never something older."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

FILES = ("--junit", "r.xml", "--markdown", "r.md", "--csv", "r.csv")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def suite():
    return ET.parse("r.xml").getroot()[0]


def test_the_files_say_what_the_terminal_says(document, dump):
    report = document("explain", dump, *FILES)
    rows = list(csv.DictReader(io.StringIO(Path("r.csv").read_bytes().decode("utf-8"), newline="")))
    assert [(row["name"], row["verdict"]) for row in rows] == [(t["name"], t["verdict"]) for t in report["tensors"]]
    assert [float(row["max_ulp"]) for row in rows] == [t["max_ulp"] for t in report["tensors"]]
    assert (suite().get("tests"), suite().get("failures")) == (str(len(rows)), "1")
    text = Path("r.md").read_text(encoding="utf-8")
    assert "### FAIL: 1 of 40 tensors; out" in text and "Finding 1: error\\_amplification" in text
    assert report["code"] == 1


def test_what_passes_is_green_and_the_next_run_replaces_it(precdiff, dump):
    assert precdiff("compare", dump, *FILES, "--max-ulp", "1000").exit_code == 0
    assert suite().get("failures") == suite().get("errors") == "0"
    assert precdiff("compare", dump, *FILES).exit_code == 1
    assert suite().get("failures") == "1"


def test_where_nothing_could_be_compared_no_older_answer_stays(precdiff, dump):
    precdiff("compare", dump, *FILES, "--max-ulp", "1000")
    result = precdiff("compare", "gone.h5", *FILES, "--github")
    assert result.exit_code == 2 and "\n::error title=precdiff%3A gone.h5::" in f"\n{result.stderr}"
    assert "there is no such file" in suite().find("testcase/error").get("message")
    assert "### ERROR: gone.h5" in Path("r.md").read_text()
    assert len(Path("r.csv").read_text().splitlines()) == 1


def test_annotations_go_with_the_text_and_leave_stdout_to_the_document(precdiff, document, dump):
    result = precdiff("compare", dump, "--github")
    stop, *_, error = result.stderr.splitlines()
    assert stop.startswith("::stop-commands::") and result.stdout == ""
    assert f"\n::{stop.removeprefix('::stop-commands::')}::\n" in result.stderr
    assert error.startswith("::error title=precdiff%3A out::worst 9.378 ULP")
    assert document("compare", dump, "--github")["verdict"] == "fail"


def test_a_kernel_of_the_repository_is_pointed_at(precdiff):
    Path("k.py").write_text("def square(x):\n    y = x * x\n    return y * y - y\n")
    precdiff("run", "k.py:square", "--input", "x=uniform(0.9,1.1,shape=(64,),as=fp16)", "-o", "k.h5")
    result = precdiff("compare", "k.h5", "--github", "--max-ulp", "0.1")
    assert "::error file=k.py,line=3,title=precdiff%3A out::" in result.stderr


def test_a_jobs_summary_is_added_to(precdiff, dump, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    for _ in range(2):
        precdiff("compare", dump, "--markdown", "summary.md")
    text = Path("summary.md").read_text()
    assert text.startswith("before\n") and text.count("### FAIL") == 2


@pytest.mark.parametrize("option", ["--junit", "--markdown", "--csv"])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("run.h5", "run.h5 exists and is no such file of PrecDiff; choose another name"),
        ("no/r.out", "there is no folder no; make it first"),
        (".", "exists and is no such file"),
    ],
)
def test_a_file_that_is_not_ours_is_never_replaced(precdiff, dump, option, path, told):
    before = Path("run.h5").read_bytes()
    result = precdiff("compare", dump, option, path)
    assert result.exit_code == 2 and told in result.stderr
    assert Path("run.h5").read_bytes() == before


def test_two_formats_do_not_share_a_file(precdiff, dump):
    result = precdiff("compare", dump, "--junit", "one", "--csv", "./one")
    assert result.exit_code == 2 and "--junit, --csv: give each a file of its own" in result.stderr
    assert not Path("one").exists()


def test_an_empty_file_may_be_filled(precdiff, dump):
    Path("r.xml").touch()
    assert precdiff("compare", dump, "--junit", "r.xml").exit_code == 1
    assert suite().get("tests") == "40"


def test_names_out_of_a_file_do_no_harm(precdiff):
    name = "=1|<b>\n::error::x"
    Path("k.py").write_text(f"def k(x):\n    return {{{name!r}: x + x}}\n")
    precdiff("run", "k.py:k", "--input", "x=0.1", "-o", "k.h5")
    result = precdiff("compare", "k.h5", *FILES, "--github")
    assert result.exit_code == 0, result.stderr
    assert "'=1|<b>\\n::error::x" in Path("r.csv").read_text()
    assert "=1&#124;&lt;b&gt;\\\\n::error::x" in Path("r.md").read_text()
    assert not any(line.startswith("::error") for line in result.stderr.splitlines())
