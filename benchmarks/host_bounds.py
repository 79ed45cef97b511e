"""How far the host's fp64 functions are from the truth, against what each row of ops/ declares.

    python benchmarks/host_bounds.py [--points 1000000] [--seed 1] [--jobs 1] [ROW ...]

Every elementwise row with a bound, at every edge and at random points of the operands it is tested with
(tests/ops/points.py), against balls of 160 bits. The unit is the spacing of fp64 at the host's result. Prints a table;
docs/host-bounds.md holds one of a million points. The last column is the ratio that must not exceed 1.
"""

from __future__ import annotations

import argparse
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.ops.points import NUMERIC, ROWS, edge_operands, random_operands
from tests.ops.test_host_functions import errors

CHUNK = 100_000


class Line(NamedTuple):
    """One row of the table."""

    name: str
    bound: float
    worst: float
    at: tuple[float, ...]
    points: int


def measure(name: str, count: int, seed: int) -> Line:
    """The largest error of one row."""
    rng = np.random.default_rng(seed)
    parts = [edge_operands(name)]
    worst, at, points = 0.0, tuple(float(a[0]) for a in parts[0]), 0
    while points < count:
        arrays = parts.pop() if parts else random_operands(name, min(CHUNK, count - points), rng)
        found = errors(ROWS[name], arrays)
        top = int(np.argmax(found))
        if found[top] > worst:
            worst, at = float(found[top]), tuple(float(a[top]) for a in arrays)
        points += found.size
    return Line(name, ROWS[name].bound, worst, at, points)


def features() -> str:
    """Whether numpy may use the vector instructions that make the difference."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return f"numpy {np.__version__}, {platform.machine()}, {found[-1] if found else 'no vector extensions'}"


def main() -> int:
    """Print the table; 1 where a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all rows with a bound by default")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    names = options.rows or [name for name in NUMERIC if np.isfinite(ROWS[name].bound)]
    print(f"{features()}, Python {platform.python_version()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}\n")
    print("| row | declared bound | worst seen | at | points | worst / bound |\n|---|---|---|---|---|---|", flush=True)
    held = True
    with ProcessPoolExecutor(options.jobs) as pool:
        rest = [options.points] * len(names), [options.seed] * len(names)
        for line in pool.map(measure, names, *rest):
            place = ", ".join(f"{a:.17g}" for a in line.at) if line.worst else ""
            ratio = f"{line.worst / line.bound:.2f}" if line.bound else "exact"
            print(
                f"| {line.name} | {line.bound:g} | {line.worst:.3f} | {place} | {line.points:,} | {ratio} |", flush=True
            )
            held &= line.worst <= line.bound + 2.0**-40
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
