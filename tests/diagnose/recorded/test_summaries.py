"""Tensors whose values were not kept: equal checksums, statistics, and what grew beyond the format."""

import dataclasses
import math
import zlib

import numpy as np
import pytest

from precdiff.diagnose.recorded.contents import Contents
from precdiff.diagnose.recorded.judging import Recording, not_compared
from precdiff.diagnose.recorded.summaries import by_summary, grew, overflowed_by_itself
from precdiff.dump import Statistics
from precdiff.dump.statistics import UNCOUNTED
from tests.diagnose.recorded.memory import recorded

X = np.float16([1.5, -2.0, 3.25])
ID = "Functional.f.0.forward.output.0"


def side(values=X, **row):
    """A dump of one tensor; `row` says what was kept of it."""
    dump = recorded(("Functional.f.0.forward", "Functional.f", {"input.0": values}, {"output.0": values}))
    dump.tensors[ID] = dataclasses.replace(dump.tensors[ID], **row)
    return Recording(dump)


def compared(one, other):
    row = not_compared(one, one.dump.steps[0], ID, "its values were not kept").row
    return by_summary(row, one.contents, ID, other.contents, ID)


def crc(x):
    return f"crc32:{zlib.crc32(x.tobytes()):08x}"


def numbers(low, high, mean, l2):
    return Statistics(low, high, mean, l2, UNCOUNTED, UNCOUNTED)


@pytest.mark.parametrize("kept", [{"data": "checksum", "checksum": crc(X)}, {}], ids=["both checksums", "values here"])
def test_checksums(kept):
    right = compared(side(data="checksum", checksum=crc(X)), side(**kept))
    assert (right.verdict, right.rule, right.max_ulp) == ("pass", "equal crc32 checksums", 0.0)
    wrong = compared(side(data="checksum", checksum=crc(X + X)), side(**kept))
    assert (wrong.verdict, math.isnan(wrong.max_ulp)) == ("fail", True)
    assert "crc32 checksums differ" in wrong.rule


def test_statistics_that_agree_pass_and_others_say_by_how_much():
    mine = side(data="stats", statistics=numbers(-2.0, 3.25, 0.9167, 4.1))
    assert compared(mine, side(data="stats", statistics=numbers(-2.0, 3.25, 0.917, 4.1))).verdict == "pass"
    other = compared(mine, side(data="stats", statistics=numbers(-2.0, 6.5, 0.917, 4.1)))
    assert (other.verdict, "max 3.25 against 6.5, 0.5 relative" in other.rule) == ("not_compared", True)
    infinite = compared(side(data="stats", statistics=numbers(-2.0, math.inf, math.inf, math.inf)), mine)
    assert (infinite.verdict, infinite.rule) == ("fail", "statistics: one side is not finite, the other is")


def test_shapes_that_differ():
    assert compared(side(), side(np.float16([1.0, 2.0]))).rule == "shapes: [3] against [2]"


def test_what_grew_is_told_from_statistics():
    whole = side(data="stats", statistics=numbers(-2.0, math.inf, math.inf, math.inf))
    said = grew(whole.contents, ["Functional.f.0.forward.input.0"], ID)
    assert said == "not finite, made from finite inputs of at most 3.25; the largest float16 is 65504".replace(
        "float16", "fp16"
    )
    assert grew(side().contents, ["Functional.f.0.forward.input.0"], ID) == ""
    assert grew(whole.contents, [], ID) == ""


def test_statistics_that_overflowed_by_themselves():
    big = side(data="stats", statistics=numbers(-2e4, 2e4, 300.0, math.inf)).dump.tensors[ID]
    assert overflowed_by_itself(big) == ["l2"]
    really = side(data="stats", statistics=numbers(-2e4, math.inf, math.inf, math.inf)).dump.tensors[ID]
    assert overflowed_by_itself(really) == []
    assert isinstance(side().contents, Contents)
