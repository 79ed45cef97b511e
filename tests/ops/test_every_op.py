"""Every op of the registry on every machine against mpmath, counted: tests/ops/every_op.py, docs/ops-table.md."""

import os
import re
from pathlib import Path

import pytest

from precdiff.ops import OPS, Elementwise
from tests.ops.every_op import CASES, OF_INTEGERS, count

#: cases a format of an elementwise op; docs/ops-table.md has the full number
POINTS = 400 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 24
TABLE = Path(__file__).parents[2] / "docs" / "ops-table.md"

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")  # infinities among the operands


def test_no_op_is_without_a_case():
    assert set(OPS) == {name for name, op in OPS.items() if isinstance(op, Elementwise)} | {*CASES} | {*OF_INTEGERS}


@pytest.mark.parametrize("name", list(OPS))
def test_every_machine(name):
    found = count(name, POINTS)
    print(", ".join(f"{machine}: {made.cases} cases, {made.wrong} wrong" for machine, made in found.items()))
    assert {machine: made.first for machine, made in found.items() if made.wrong} == {}
    assert all(made.cases for made in found.values())


def test_the_table_names_every_op():
    rows = re.findall(r"^\| (\w+) \|", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows[1:] == list(OPS)
