"""Dumps of other programs on the command line: --map, --dry-run, --repro, and what goes wrong."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from precdiff.capture import Recorder
from precdiff.cli.main import main

X, W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.linspace(0.2, 0.9, 8, dtype=np.float32).reshape(2, 4)
Y = (X.astype(np.float64) @ W.T.astype(np.float64)).astype(np.float32)


@pytest.fixture(autouse=True)
def _dumps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, y, where in (("good", Y, "head"), ("bad", Y * np.float32(1.01), "head"), ("other", Y, "tail")):
        with Recorder(f"{name}.h5") as rec:
            rec.call("Functional.linear", {"input.0": X, "input.1": W}, {"output.0": y}, layer=where)
            rec.record(f"{where}/kept", y)


def ran(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    code = ended.value.code
    found = capsys.readouterr()
    return code, found.out, found.err


def document(capsys, *words):
    code, out, _ = ran(capsys, *words, "--json")
    return code, json.loads(out)


@pytest.mark.parametrize(("dump", "code"), [("good.h5", 0), ("bad.h5", 1)])
def test_compare_needs_no_golden_run(capsys, dump, code):
    found, report = document(capsys, "compare", dump)
    assert found == code
    assert report["first_divergence"] == (None if code == 0 else "Functional.linear.0.forward.output.0")


def test_explain_names_the_factor(capsys):
    code, report = document(capsys, "explain", "bad.h5")
    assert (code, report["findings"][0]["cause"]) == (1, "wrong_formula")
    assert report["findings"][0]["counterfactual"]["change"]["value"] == pytest.approx(1.01, rel=1e-6)


def test_the_text_says_how_tensors_were_paired_and_what_to_do(capsys):
    code, _, text = ran(capsys, "compare", "bad.h5", "good.h5")
    assert code == 1
    assert "paired            4 by name" in text
    assert "Next: precdiff explain bad.h5 good.h5" in text


def test_dry_run_prints_every_pair(capsys):
    code, found = document(capsys, "compare", "good.h5", "other.h5", "--dry-run")
    assert (code, found["schema"]) == (0, "precdiff.pairing/1")
    (member,) = found["members"]
    assert {"actual": "head/kept", "expected": "tail/kept", "paired_by": "shape"} in member["pairs"]
    assert len(member["pairs"]) == 4


def test_a_map_is_followed(capsys):
    Path("rules.toml").write_text('[[rename]]\nactual = "head/*"\nexpected = "tail/*"\n', encoding="utf-8")
    code, found = document(capsys, "compare", "good.h5", "other.h5", "--map", "rules.toml", "--dry-run")
    assert code == 0
    assert {"actual": "head/kept", "expected": "tail/kept", "paired_by": "map"} in found["members"][0]["pairs"]
    assert document(capsys, "compare", "good.h5", "other.h5", "--map", "rules.toml")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "good.h5", "other.h5", "--map", "gone.toml"), "--map gone.toml: "),
        (("compare", "good.h5", "--map", "rules.toml"), "give EXPECTED"),
        (("compare", "good.h5", "--dry-run"), "the pairing is that of two dumps"),
        (("compare", "good.h5", "--layer", "nowhere"), "no layer matches 'nowhere'; there are head"),
        (("explain", "good.h5", "--repro", "linear"), "unknown step, tensor or layer 'linear'"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_said(capsys, words, said):
    Path("rules.toml").write_text('[[rename]]\nactual = "a"\nexpected = "b"\n', encoding="utf-8")
    code, _, text = ran(capsys, *words)
    assert (code, said in text) == (2, True), text


def test_repro_writes_a_dump_that_is_judged_alike(capsys):
    code, _, text = ran(capsys, "explain", "bad.h5", "--repro", "Functional.linear.0.forward")
    assert (code, "again.py npu:0" in text) == (1, True)
    folder = Path("repro-Functional.linear.0.forward")
    assert document(capsys, "compare", str(folder / "call.h5"))[0] == 1
    assert ran(capsys, "explain", "bad.h5", "--repro", "Functional.linear.0.forward")[0] == 2  # never written over


@pytest.mark.torch
def test_repro_runs_the_call_again(capsys):
    pytest.importorskip("torch")
    ran(capsys, "explain", "bad.h5", "--repro", "head")
    again = subprocess.run([sys.executable, "repro-head/again.py"], capture_output=True, text=True, check=False)
    assert (again.returncode, "cpu: pass" in again.stdout) == (0, True), again.stderr
