"""Profiles from files: what is wrong with one is said."""

import json

import pytest
from click.testing import CliRunner

from precdiff.cli.main import main
from precdiff.device import get_profile
from precdiff.device.fields import FIELDS
from precdiff.errors import PrecDiffError


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda file, **data: (tmp_path / file).write_text(json.dumps({"name": "n", **data}))


def test_a_profile_that_extends_itself(write):
    write("a.json", extends="a.json")
    with pytest.raises(PrecDiffError, match=r"a\.json extends itself \(a\.json -> a\.json\)"):
        get_profile("a.json")


def test_a_circle(write):
    write("a.json", extends="b.json")
    write("b.json", extends="./a.json")
    with pytest.raises(PrecDiffError, match=r"\(a\.json -> b\.json -> a\.json\)"):
        get_profile("a.json")


def test_a_chain_is_none(write):
    write("a.json", extends="b.json")
    write("b.json", extends="ieee", fields={"overflow": {"value": "saturate", "source": "manual"}})
    assert get_profile("a.json").overflow.value == "saturate"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"fields": 3}, "profile fields: found 3; allowed is a table"),
        ({"fields": ["overflow"]}, "profile fields: found"),
        ({"name": 3}, "profile name: found 3; allowed is text"),
        ({"summary": []}, "profile summary: found"),
        ({"extends": 3}, "profile extends: found 3"),
        ({"fields": {"sum_accumulator": {"value": "i8", "source": "s"}}}, "found 'i8'; allowed: same, .*fp32"),
        ({"fields": {"matmul_accumulator": {"value": "bool", "source": "s"}}}, "found 'bool'; allowed: same"),
        ({"fields": {"sum_accumulator": {"value": ["fp32"], "source": "s"}}}, "allowed: same"),
        ({"fields": {"saturated_formats": {"value": 3, "source": "s"}}}, "found 3; allowed: a list"),
        ({"fields": {"overflow": {"value": "ieee", "source": 3}}}, "source is text and candidates a list"),
        ({"fields": {"overflow": {"value": "ieee", "source": "s", "candidates": 3}}}, "candidates a list"),
    ],
)
def test_what_is_wrong_is_said(write, data, message):
    write("a.json", **{"extends": "ieee", **data})
    with pytest.raises(PrecDiffError, match=message):
        get_profile("a.json")


def test_list_fields_says_what_each_holds_and_may_be():
    result = CliRunner().invoke(main, ["list", "fields", "--json"])
    rows = {row["name"]: row["line"] for row in json.loads(result.stdout)["entries"]}
    assert list(rows) == list(FIELDS)
    assert rows["overflow"].endswith(": ieee, saturate") and "i8" not in rows["sum_accumulator"]
