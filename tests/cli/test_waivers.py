"""[tool.precdiff] and the store of decisions, as `compare` and `explain` meet them in a working folder."""

import json
from pathlib import Path

import numpy as np
import pytest

from precdiff import api
from precdiff.comparison import Scope, TensorLimit
from precdiff.dump.decision import Decision
from precdiff.dump.decisions import Decisions

WAIVER = """
[[tool.precdiff.waivers]]
tensor = "out"
max_ulp = 12
reason = "exp table of the unit, NPU-123"
author = "Li Wei"
expires = 2999-12-31
"""


@pytest.fixture
def config():
    return lambda text: Path("pyproject.toml").write_text(text)


def test_a_waiver_lets_pass_and_the_failure_stays_in_every_output(precdiff, document, dump, config):
    config(WAIVER)
    report = document("compare", dump, "--junit", "r.xml", "--markdown", "r.md", "--csv", "r.csv", "--github")
    assert (report["verdict"], report["code"]) == ("pass", 0)
    row = report["tensors"][-1]
    assert (row["verdict"], row["waived"]["source"], row["waived"]["max_ulp"]) == ("fail", "pyproject.toml:2", 12.0)
    assert report["agreed"][0]["outcome"] == {"accepted": ["out"]}
    assert 'skipped="1"' in Path("r.xml").read_text() and "waived up to 12 ULP by Li Wei" in Path("r.xml").read_text()
    assert "PASS, 1 waived (does not pass)" in Path("r.md").read_text()
    assert 'Li Wei,2999-12-31,"exp table of the unit, NPU-123"' in Path("r.csv").read_text()
    told = precdiff("compare", dump, "--github").stderr
    assert "::notice title=precdiff%3A out::waived up to 12 ULP by Li Wei, until 2999-12-31" in told
    assert "::error" not in told


@pytest.mark.parametrize("command", ["compare", "explain"])
def test_without_waivers(precdiff, dump, config, command):
    config(WAIVER)
    assert precdiff(command, dump).exit_code == 0
    assert precdiff(command, dump, "--no-waivers").exit_code == 1


def test_an_expired_waiver_fails_and_says_so(precdiff, dump, config):
    config(WAIVER.replace("2999", "2020"))
    result = precdiff("compare", dump, "--github")
    assert result.exit_code == 1
    said = "pyproject.toml:2 (out, up to 12 ULP, exp table of the unit, NPU-123, Li Wei, until 2020-12-31)"
    assert f"waiver            {said}: expired, and accepts nothing: out" in result.stderr
    assert f"::warning title=precdiff%3A waiver::{said}: expired" in result.stderr


def test_a_wrong_row_ends_with_what_is_wrong(precdiff, dump, config):
    config(WAIVER.replace("reason", "reasn"))
    result = precdiff("compare", dump)
    assert result.exit_code == 2 and "pyproject.toml:2: unknown key 'reasn'. Did you mean 'reason'" in result.stderr


def test_the_file_is_found_from_below(precdiff, dump, config, monkeypatch):
    config(WAIVER)
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    assert precdiff("compare", f"../{dump}").exit_code == 0


LIMITS = '[[tool.precdiff.limits]]\nlayer = "pow"\nmax_ulp = 10\n'


def test_a_limit_of_a_layer_is_what_its_outputs_are_judged_by(document, dump, config):
    config(LIMITS)
    report = document("compare", dump)
    assert (report["verdict"], report["tensors"][-1]["rule"]) == ("pass", "error <= 10 ULP of fp16")
    config(LIMITS.replace("10", "9.3"))
    assert document("compare", dump)["tensors"][-1]["over_limit"] == 1
    config(LIMITS.replace("pow", "mlp"))
    assert document("compare", dump)["tensors"][-1]["rule"] == "error <= 4 ULP of fp16"


def test_what_the_command_line_says_wins(precdiff, dump, config):
    config(LIMITS)
    result = precdiff("compare", dump, "--max-ulp", "5")
    assert result.exit_code == 1 and "set aside, since standard or limits were given for all: out" in result.stderr


def test_the_first_limit_that_names_a_tensor_holds_and_a_standard_may_be_named(document, config):
    rng = np.random.default_rng(5)
    good = rng.uniform(1, 2, 64).astype(np.float16)
    np.save("good.npy", good)
    np.save("bad.npy", np.nextafter(good, np.float16(9)))
    assert document("compare", "bad.npy", "good.npy")["code"] == 0
    first = '[[tool.precdiff.limits]]\ntensor = "*"\nstandard = "bitwise"\n'
    config(first + '[[tool.precdiff.limits]]\ntensor = "*"\nmax_ulp = 8\n')
    report = document("compare", "bad.npy", "good.npy")
    assert report["code"] == 1 and report["tensors"][0]["over_limit"] == 64
    assert [row["outcome"] for row in report["agreed"]] == [{"judged": [report["tensors"][0]["name"]]}, {}]


def test_limits_are_part_of_the_python_interface(dump):
    limits = [TensorLimit(Scope("out"), max_ulp=10.0)]
    assert api.compare(dump).verdict == "fail"
    assert api.compare(dump, tensor_limits=limits).verdict == "pass"
    assert api.explain(dump, tensor_limits=limits).findings == ()


def accept(dump, **fields):
    row = api.compare(dump).tensors[-1]
    store = Decisions(".")
    made = {"content": row.sha256, "reason": "seen", **fields}
    return store.record(Decision("tensor", store.run_of(dump), row.name, "accept", "Ana", **made))


def test_a_reviewers_decision_holds_until_the_result_changes(precdiff, document, dump):
    accept(dump)
    report = document("compare", dump)
    assert (report["code"], report["tensors"][-1]["waived"]["source"]) == (0, "decisions.sqlite#1")
    precdiff("run", "pow", "--input", "x=uniform(0.1,10,shape=(256,))", "--input", "y=uniform(-4,4,shape=(256,))",
             "--seed", "8", "-o", dump)  # fmt: skip
    result = precdiff("compare", dump)
    assert result.exit_code == 1 and "out changed since; decide again" in result.stderr


def test_the_file_in_git_wins_over_the_store(precdiff, dump, config):
    accept(dump)
    config(WAIVER.replace("= 12", "= 5"))
    result = precdiff("compare", dump)
    assert result.exit_code == 1 and "set aside, the configuration speaks of out" in result.stderr
    assert "does not accept out" in result.stderr


def test_check_judges_numbers_and_applies_no_waiver(precdiff, dump, config):
    config(WAIVER)
    precdiff("compare", dump, "-o", "r.json")
    assert json.loads(Path("r.json").read_text())["verdict"] == "pass"
    result = precdiff("check", "r.json", "--max-ulp", "4")
    assert result.exit_code == 1 and "out was waived; check applies no waivers" in result.stderr
