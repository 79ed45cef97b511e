"""Injected faults: where they are and what they are, from a full trace and from outputs only.

Four cells: parameters that some imitation lists or none does; every step's tensor known, or inputs and outputs only.
Faults are drawn anew each run (the seed is printed); 500 a cell under make test-all, and docs/injection.md tells them.
"""

import os
import secrets

import pytest

from tests.diagnose.injected import clean_runs, scored

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"
FULL, OUTPUTS = (500, 500) if EXHAUSTIVE else (60, 16)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what faults make of numbers


@pytest.fixture(scope="module")
def runs():
    return clean_runs()


def seed():
    drawn = int(os.environ.get("PRECDIFF_SEED") or secrets.randbits(31))
    print(f"PRECDIFF_SEED={drawn}")
    return drawn


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "unlisted"])
def test_from_a_full_trace(runs, listed):
    score = scored(FULL, seed(), listed, True, runs)
    print(score.line())
    assert score.located >= 0.99 * score.cases or score.cases - score.located <= 1
    # aim 95 % of both cells together; a slice of 60 may miss three more
    assert score.named >= (0.92 if EXHAUSTIVE else 0.85) * score.cases, score.misses


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "unlisted"])
def test_from_outputs_only(runs, listed):
    score = scored(OUTPUTS, seed(), listed, False, runs)
    print(score.line())
    # aim 80 % of both cells together
    least = (0.9 if EXHAUSTIVE else 0.75) if listed else (0.6 if EXHAUSTIVE else 0.3)
    assert score.named >= least * score.cases, score.misses
