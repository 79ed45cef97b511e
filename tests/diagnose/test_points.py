"""The labelled points (open half): located, named, no false report; a slice here, all under make test-all."""

import os

import pytest

from precdiff.diagnose.points import answer
from precdiff.diagnose.proportion import Proportion
from tests.diagnose.labelled import FOLDER, located, named, rows

STEP = 1 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 25
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs shared/cases/points")


@pytest.fixture(scope="module")
def answers():
    chosen = rows()[::STEP]
    return [(row, answer(row)) for row in chosen]


def test_every_row_is_answered_and_agrees_with_the_labeller(answers):
    assert [made["error"] for _, made in answers if "error" in made] == []
    # functions are rounded correctly here, nearly always there
    other = [row["id"] for row, made in answers if abs(made["error_bits"] - row["bits"]) > 0.02]
    assert len(other) <= max(1, 0.01 * len(answers)), other


def test_the_operation_is_found(answers):
    faulty = [(row, next(iter(made["findings"]), None)) for row, made in answers if row["label"] != "ok"]
    found = Proportion(sum(located(*pair) for pair in faulty), len(faulty))
    whole = [pair for pair in faulty if pair[0]["fix_size"] < pair[0]["n_op_nodes"]]
    smaller = Proportion(sum(located(*pair) for pair in whole), len(whole))
    print(f"located {found}; without rows whose region is the whole tree {smaller}")
    assert found.hits >= 0.99 * found.cases or found.cases - found.hits <= 1
    assert smaller.hits >= 0.99 * smaller.cases or smaller.cases - smaller.hits <= 1


def test_the_cause_is_named(answers):
    faulty = [(row, next(iter(made["findings"]), None)) for row, made in answers if row["label"] != "ok"]
    found = Proportion(sum(named(*pair) for pair in faulty), len(faulty))
    print(f"named {found}")
    assert found.hits >= 0.95 * found.cases


def test_clean_rows_have_no_finding(answers):
    assert [row["id"] for row, made in answers if row["label"] == "ok" and made["findings"]] == []


def test_replays_are_few(answers):
    counts = sorted(f["replays"] for _, made in answers for f in made["findings"])
    print(f"replays: median {counts[len(counts) // 2]}, p95 {counts[int(0.95 * len(counts))]}")
    assert counts[len(counts) // 2] <= 2
    assert counts[int(0.95 * len(counts))] <= (10 if STEP == 1 else 16)
