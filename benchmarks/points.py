"""The labelled points: how often the operation and the cause are found, beside heuristics and a condition detector.

    python benchmarks/points.py [--every 1]

Prints docs/points.md's tables. The heuristics' figures are the labels' own flags; the detector calls a row erroneous
where an operation's condition number exceeds 64 on values of the format, or its result over- or underflows (the rule of
ExplaniFloat, roughly). Time is that of this process, one core.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from precdiff.diagnose import points
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.proportion import Proportion
from precdiff.formats import get_format
from precdiff.kernels import run_kernel
from precdiff.kernels.fpcore import parse
from precdiff.reference import total
from tests.diagnose.labelled import located, named, rows

HEURISTICS = {"largest local error": "maxlocal_same", "first deviating op": "firstdev_same",
              "largest deviation": "maxdev_same"}  # fmt: skip
CONDITION = 64.0
#: a proof that removes less than this of (before - floor) is not counted in the strict line
STRICT = 0.9


def suspicious(row: Mapping[str, Any]) -> bool:
    """What the condition-number detector says of a row."""
    core, format = parse(row["fpcore"], row["vars"]), get_format(row["fmt"])
    trace = run_kernel(core.kernel, points.inputs(core, row["point"], format), format=format).trace
    problem = points.problem_of(trace, total(trace), 0.0)
    evidence = Evidence(problem)
    for step in evidence.steps:
        values = evidence.values(step.id)
        size = float(np.abs(values))
        if step.inputs and format.is_float and evidence.format(step.id).is_float:
            beyond = not np.isfinite(size) or (
                size < format.min_normal and float(np.abs(evidence.exact(step.id).hi)) > 0
            )
            if beyond or float(np.max(evidence.condition(step), initial=0.0)) > CONDITION:
                return True
    return False


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    chosen = rows()[:: parser.parse_args().every]
    start = time.perf_counter()
    answers = [(row, points.answer(row)) for row in chosen]
    seconds = time.perf_counter() - start
    faulty = [(row, next(iter(made["findings"]), None)) for row, made in answers if row["label"] != "ok"]
    proper = [pair for pair in faulty if pair[0]["fix_size"] < pair[0]["n_op_nodes"]]
    strict = [located(row, f) and (row["bits"] - f["error_bits_after"]) >= STRICT * row["bits"] for row, f in faulty]
    clean = [made for row, made in answers if row["label"] == "ok"]
    print(f"| measure | of {len(chosen):,} rows |\n|---|---|")
    print(f"| operation found | {_rate(located, faulty)} |")
    print(f"| the same without rows whose region is the whole tree | {_rate(located, proper)} |")
    print(f"| the same, only proofs that remove 0.9 of the error | {Proportion(sum(strict), len(strict))} |")
    for name, flag in HEURISTICS.items():
        print(f"| {name} (heuristic) | {Proportion(sum(row[flag] for row, _ in faulty), len(faulty))} |")
    print(f"| cause named | {_rate(named, faulty)} |")
    print(f"| findings on clean rows | {Proportion(sum(bool(m['findings']) for m in clean), len(clean))} |")
    counts = sorted(f["replays"] for _, f in faulty if f)
    print(f"| replays a faulty row | median {counts[len(counts) // 2]}, p95 {counts[int(0.95 * len(counts))]} |")
    print(f"| rows a minute | {60 * len(chosen) / seconds:,.0f} |")
    flags = [(suspicious(row), row["label"] != "ok") for row in chosen]
    hits = sum(a and b for a, b in flags)
    print(f"| condition detector, precision | {Proportion(hits, sum(a for a, _ in flags))} |")
    print(f"| condition detector, recall | {Proportion(hits, sum(b for _, b in flags))} |")
    confusion = collections.Counter((row["label"].partition(":")[0], f["cause"] if f else "none") for row, f in faulty)
    print("\n| label | named | rows |\n|---|---|---|")
    for (label, cause), count in sorted(confusion.items()):
        print(f"| {label} | {cause} | {count} |")
    return 0


def _rate(right: Callable[..., bool], pairs: Sequence[Any]) -> Proportion:
    return Proportion(sum(right(*pair) for pair in pairs), len(pairs))


if __name__ == "__main__":
    raise SystemExit(main())
