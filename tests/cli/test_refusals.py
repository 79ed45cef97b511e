"""What the command line does not do: write over other files, take NaN for a limit, mix prints into its document."""

import json
from pathlib import Path

import pytest

KERNELS = """
print("while it is read")

def loud(x):
    print("while it runs")
    return x + x

def quits(x):
    raise SystemExit(0)
"""


@pytest.fixture
def kernels():
    Path("k.py").write_text(KERNELS)


@pytest.mark.parametrize("command", ["compare", "explain"])
@pytest.mark.parametrize("target", ["run.h5", "k.py", "other.json", "list.json"])
def test_a_report_replaces_nothing_but_a_report(precdiff, kernels, dump, command, target):
    Path("other.json").write_text('{"schema": "precdiff.run/1"}')
    Path("list.json").write_text("[1]")
    before = Path(target).read_bytes()
    result = precdiff(command, dump, "-o", target)

    assert result.exit_code == 2 and f"{target} exists and is no report of PrecDiff" in result.stderr
    assert Path(target).read_bytes() == before


def test_a_report_replaces_a_report_and_an_empty_file(precdiff, dump):
    Path("r.json").touch()
    for limit in ("1000", "4"):
        precdiff("compare", dump, "--max-ulp", limit, "-o", "r.json")
    assert json.loads(Path("r.json").read_text())["verdict"] == "fail"


@pytest.mark.parametrize(
    "words",
    [
        *(
            ("compare", "run.h5", option, value)
            for option in ("--max-ulp", "--rtol", "--atol")
            for value in ("nan", "-1")
        ),
        ("compare", "run.h5", "--zero-atol", "inf"),
        ("check", "run.h5", "--max-ulp", "nan"),
        ("eval", "x", "x=1", "--max-ulp", "nan"),
    ],
    ids=" ".join,
)
def test_what_is_no_limit_is_refused(precdiff, words):
    result = precdiff(*words)

    assert result.exit_code == 2 and "Invalid value for" in result.stderr


def test_what_a_kernel_prints_goes_to_stderr(precdiff, kernels):
    result = precdiff("run", "k.py:loud", "--input", "x=1", "--json")

    assert json.loads(result.stdout)["kernel"] == "k.py:loud"
    assert "while it is read" in result.stderr and "while it runs" in result.stderr


def test_a_kernel_that_leaves_is_no_success(process, kernels):
    result = process("run", "k.py:quits", "--input", "x=1", "--json")

    assert (result.returncode, result.stdout) == (2, "")
    assert "ended the program: SystemExit(0)" in result.stderr


def test_documents_are_json_whatever_they_hold(precdiff, document, dump):
    precdiff("compare", dump, "-o", "r.json")
    assert document("check", "r.json", "--max-ulp", "inf")["max_ulp"] == "inf"


def test_an_expression_that_starts_with_minus(precdiff):
    refused, meant = precdiff("eval", "-x", "x=1"), precdiff("eval", "--", "-x", "x=1")

    assert refused.exit_code == 2 and "put -- before it" in refused.stderr
    assert meant.exit_code == 0
