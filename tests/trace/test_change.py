"""Changes as rows: every kind, its JSON, and what is refused."""

import json

import pytest

from precdiff.device.orders import Groups, Pairwise, Sequential
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.trace import KINDS, Change, Region

VALUES = {
    "exact": None, "fuse": None, "format": "fp32", "accumulator": "fp32", "order": Groups(16), "direction": "up",
    "tie_rule": "nearest-away", "exponent": "unbounded", "overflow": "saturate", "subnormals": "flush", "constant": 0.5,
    "cast": {"through": ["bf16"]}, "operands": "tf32", "approximation": None, "scale": 1.5, "drop_term": 3,
    "op": "maximum", "reads": {"input": 0, "where": [0, 4], "version": "poison"},
}  # fmt: skip


def test_the_table_names_every_kind():
    assert tuple(VALUES) == KINDS


@pytest.mark.parametrize("left", ["declared", "wide"])
@pytest.mark.parametrize("kind", KINDS)
def test_json_round_trip(kind, left):
    change = Change(kind, VALUES[kind], exit=left)
    text = json.dumps(change.to_json(), allow_nan=False)
    assert Change.from_json(json.loads(text)) == change


@pytest.mark.parametrize("order", [Sequential(), Pairwise(), Groups(8)])
def test_orders_keep_their_fields(order):
    assert Change.from_json(Change("order", order).to_json()).value == order


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Change("format", "fp32", "wide"), "format fp32 (exit wide)"),
        (Change("exact"), "exact"),
        (Change("order", Groups(16)), "order groups(k0=16)"),
        (Change("drop_term", 3), "drop_term 3"),
    ],
)
def test_text(change, text):
    assert str(change) in (text, text.replace("(k0=16)", ""))


def test_unknown_kinds_name_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown change 'exct'. Did you mean 'exact'\?"):
        Change("exct")


def test_exits_are_two():
    with pytest.raises(PrecDiffError, match="exit is 'open'; allowed are 'declared' and 'wide'"):
        Change("exact", exit="open")


def test_a_region_counts_distinct_steps():
    assert Region(("a", "b", "a")) == Region(("a", "b"))
    assert str(Region(("a", "b"))) == "{a, b}"
