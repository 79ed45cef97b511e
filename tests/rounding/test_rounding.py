"""The row: names resolve, wrong names are told apart, equal rows are equal keys."""

import dataclasses

import pytest

from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import get_format
from precdiff.rounding import DIRECTIONS, Rounding


def test_directions_are_those_of_the_design():
    words = "nearest-even nearest-away toward-zero up down to-odd stochastic"
    assert words.split() == list(DIRECTIONS)


def test_a_format_goes_by_name_or_row():
    assert Rounding("fp16") == Rounding(get_format("fp16"))
    assert len({Rounding("fp16"), Rounding("fp16"), Rounding("fp16", "up")}) == 2


def test_a_row_changes_by_replace():
    row = dataclasses.replace(Rounding("fp16", "up"), overflow="saturate")
    assert row == Rounding("fp16", "up", "saturate")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.direction = "down"


def test_only_nearest_directions_are_nearest():
    nearest = {direction for direction in DIRECTIONS if Rounding("fp16", direction).is_nearest}
    assert nearest == {"nearest-even", "nearest-away"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"format": "fp17"}, "unknown format 'fp17'"),
        ({"direction": "nearest"}, r"unknown direction 'nearest'\. Did you mean 'nearest-"),
        ({"overflow": "clip"}, "unknown overflow 'clip'.* Known: ieee, saturate"),
        ({"subnormals": "ftz"}, "unknown subnormals 'ftz'.* Known: flush, keep"),
        ({"nan": "max"}, "unknown nan 'max'.* Known: keep, zero"),
    ],
)
def test_an_unknown_choice_is_refused_by_name(wrong, message):
    with pytest.raises(UnknownNameError, match=message):
        Rounding(**{"format": "fp16", **wrong})


def test_nan_becomes_zero_only_where_overflow_saturates():
    with pytest.raises(PrecDiffError, match="nan='zero' goes with overflow='saturate' only; found overflow='ieee'"):
        Rounding("fp16", nan="zero")
