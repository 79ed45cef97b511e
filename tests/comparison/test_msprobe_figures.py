"""msprobe's six figures against the sheets it saved itself, row by row, to the decimals printed there."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

from precdiff.comparison.msprobe import NAMES, figures
from precdiff.diagnose.recorded.contents import Contents
from precdiff.dump import open_dump

CASES = Path(os.environ.get("PRECDIFF_CASES", Path(__file__).parents[2] / "../shared/cases")) / "msprobe"
COLUMNS = dict(zip(NAMES, (
    "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio",
), strict=True))  # fmt: skip


def printed(text):
    try:
        return float(text)
    except ValueError:  # "unsupported"
        return math.nan


@pytest.mark.skipif(not CASES.exists(), reason="real dumps: set PRECDIFF_CASES to the folder of cases")
@pytest.mark.parametrize(("name", "rows"), [("bf16", 239), ("fp32_truncate", 127)])
def test_every_row_of_a_saved_sheet(name, rows):
    actual, expected = (Contents(open_dump(CASES / side)) for side in (name, "fp32"))
    with (CASES / f"results/{name}_vs_fp32.csv").open(encoding="utf-8") as file:
        sheet = [row for row in csv.DictReader(file) if row["NPU Name"] in actual.dump.tensors]
    assert len(sheet) == rows
    for row in sheet:
        found = figures(actual.operand(row["NPU Name"]).values, expected.operand(row["Bench Name"]).values)
        for figure, column in COLUMNS.items():
            # a norm is a sum whose order is the host's: its 16th digit is not anyone's promise
            near = pytest.approx(printed(row[column]), rel=1e-14 if figure == "euclidean" else 0, abs=0, nan_ok=True)
            assert found[figure] == near, (row["NPU Name"], figure)


def test_what_is_not_finite():
    inf, nan = np.float32([1.0, np.inf]), np.float32([1.0, np.nan])
    assert figures(inf, inf)["max_abs"] == 0.0
    assert math.isnan(figures(inf, nan)["max_abs"])
    assert all(math.isnan(x) for x in figures(np.float32([]), np.float32([])).values())
    assert figures(np.float32([0.0, 0.0]), np.float32([0.0, 0.0]))["cosine"] == 1.0
