"""The labelled points of shared/cases/points: rows joined with their expressions, and how an answer is scored.

An answer is right if it is the labelled subtree, or one as small or smaller that passes the same proof (the README
there). Classes map to causes as it says.
"""

import gzip
import json
import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("PRECDIFF_CASES", ROOT.parent / "shared" / "cases")) / "points"

CAUSES = {
    "overflow": {"overflow"}, "underflow": {"underflow_ftz"}, "underflow->div0": {"underflow_ftz"},
    "cancellation": {"cancellation"}, "amplification": {"error_amplification"},
    "rounding_accumulation": {"accumulated_rounding"}, "invalid_nan": {"domain_error", "nan_propagation", "overflow"},
}  # fmt: skip


def rows():
    """The labelled rows with `fpcore` and `vars`."""
    with (FOLDER / "fpcore_cases.jsonl").open(encoding="utf-8") as file:
        cases = {case["id"]: case for case in map(json.loads, file)}
    with gzip.open(FOLDER / "points_open.jsonl.gz", "rt", encoding="utf-8") as file:
        return [{**{k: cases[row["id"]][k] for k in ("fpcore", "vars")}, **row} for row in map(json.loads, file)]


def located(row, finding):
    """Whether the finding's region is the labelled one, or one as small."""
    return finding is not None and (row["fix_path"] in finding["paths"] or finding["size"] <= row["fix_size"])


def named(row, finding):
    """Whether the finding's cause is the label's."""
    return finding is not None and finding["cause"] in CAUSES[row["label"].partition(":")[0]]
