"""Injected faults: where they are and what they are, from a full trace and from outputs only.

Four cells: parameters that some imitation lists or none does; every step's tensor known, or inputs and outputs only.
Faults are drawn anew each run (the seed is printed); 500 a cell under make test-all, and docs/injection.md tells them.
"""

import os
import secrets

import pytest

from tests.diagnose.injected import clean_runs, joined, scored

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"
FULL, OUTPUTS = (500, 500) if EXHAUSTIVE else (50, 8)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what faults make of numbers


@pytest.fixture(scope="module")
def runs():
    return clean_runs()


def seed():
    drawn = int(os.environ.get("PRECDIFF_SEED") or secrets.randbits(31))
    print(f"PRECDIFF_SEED={drawn}")
    return drawn


@pytest.fixture(scope="module", params=[True, False], ids=["full trace", "outputs only"])
def cells(request, runs):
    """(is the full trace known, the Score of listed parameters, that of unlisted ones)."""
    made = [scored(FULL if request.param else OUTPUTS, seed(), listed, request.param, runs) for listed in (True, False)]
    print(*(score.line() for score in made), sep="\n")
    return request.param, *made


def falls_short(proportion, aim):
    """Whether the aim is refuted: the whole Wilson interval lies below it."""
    return proportion.interval()[1] < aim


def test_located(cells):
    full, listed, unlisted = cells
    for cell in (listed, unlisted) if full else ():
        assert not falls_short(cell.rate("located"), 0.99), cell.misses


def test_named(cells):
    full, listed, unlisted = cells
    for cell in (listed, unlisted) if full else (listed, joined([listed, unlisted])):
        assert not falls_short(cell.rate("named"), 0.95 if full else 0.8), cell.misses


def test_replays(cells):
    full, listed, unlisted = cells
    assert not full or joined([listed, unlisted]).median() <= 10


def test_what_gives_the_bits_is_verified(cells):
    """Where parameters are listed, most findings of a full trace are proven, not guessed."""
    full, listed, _ = cells
    assert not full or not falls_short(listed.rate("given"), 0.95), listed.misses
