"""tune and sweep as commands."""

import csv
from pathlib import Path

import pytest


def test_tune(document, precdiff):
    made = document("tune", "softmax", "--max-ulp", "2")
    assert made["code"] == 0 and made["schema"] == "precdiff.tune/1"
    assert made["best"]["steps"] and made["best"]["max_ulp"] <= 2 and made["minimum"]
    assert made["pareto"][0]["steps"] == [] and not made["pareto"][0]["holds"]
    assert all(source.count(":") == 1 for source in made["best"]["sources"].values())
    assert "a minimum, proven" in precdiff("tune", "softmax", "--max-ulp", "2").stderr


def test_tune_where_nothing_or_everything_is_too_little(document):
    assert document("tune", "reduce_sum")["best"]["steps"] == []
    made = document("tune", "softmax", "--max-ulp", "0.4")
    assert made["code"] == 1 and made["best"] is None


@pytest.mark.parametrize("words", [("softmax", "--to", "fp33"), ("softmax", "--to", "i8"), ("softmx",)])
def test_tune_refuses(precdiff, words):
    assert precdiff("tune", *words).exit_code == 2


SWEEP = ("reduce_sum", "--input", "x=uniform(0,1,shape=(16,K))", "--set", "K=64,128,256,512")


def test_sweep(document, folder):
    made = document("sweep", *SWEEP, "--format", "bf16", "--profile", "ieee,numpy-pairwise", "--csv", "out.csv")
    assert made["schema"] == "precdiff.sweep/1" and len(made["rows"]) == 8
    laws = {row["of"]: row["exponent"] for row in made["fitted"]}
    # in order and all positive the error grows with the length; numpy's pairwise sum in fp32 has none to grow
    assert laws["bf16, ieee"] > 0.25 and abs(laws["bf16, numpy-pairwise"]) < 0.2
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["max_ulp"]) for row in rows] == [row["max_ulp"] for row in made["rows"]]
    assert [row["K"] for row in rows[::2]] == ["64", "128", "256", "512"]


def test_sweep_over_an_option(document):
    inputs = ("--input", "x=uniform(0.1,10,shape=(64,))", "--input", "y=uniform(-4,4,shape=(64,))")
    inputs = ("--input", "x=uniform(0.1,10,shape=(64,))", "--input", "y=uniform(-4,4,shape=(64,))")
    made = document("sweep", "pow", *inputs, "--set", "variant=v1,v2")
    assert [row["variant"] for row in made["rows"]] == ["v1", "v2"] and made["fitted"] == []
    assert made["rows"][0]["max_ulp"] > made["rows"][1]["max_ulp"]


def test_a_name_nobody_uses_is_refused(precdiff):
    result = precdiff("sweep", "reduce_sum", "--input", "x=uniform(0,1,shape=(4,8))", "--set", "K=3")
    assert result.exit_code == 2 and "write K in a SPEC" in result.stderr
