"""Injected faults in four cells: writes docs/injection.md.

python benchmarks/injection.py [--faults 500] [--seed N] [--output docs/injection.md]
"""

from __future__ import annotations

import argparse
import secrets
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from precdiff.diagnose.faults import KINDS  # noqa: E402 - behind the path
from tests.diagnose.injected import Score, clean_runs, joined, scored  # noqa: E402 - behind the path

CELLS = {
    "full trace, listed": (True, True), "full trace, unlisted": (False, True),
    "outputs only, listed": (True, False), "outputs only, unlisted": (False, False),
}  # fmt: skip
HEAD = """# Injected faults

Written by `python benchmarks/injection.py --faults {count} --seed {seed}`. Each fault is one Change of a clean run of a
built-in kernel in fp16, bf16 or fp32 ({runs} runs), drawn at random, kept where it moves the outputs by more than the
mean + 5 sigma of 29 legal orders of all sums. *listed*: parameters some imitation lists (an fp16 accumulator, a bf16
table, one tile back); *unlisted*: parameters none does (a 14-bit accumulator, a 5-bit table, a tile of 37 elements).
*full trace*: every step's recorded tensor is known; *outputs only*: inputs and final outputs. Located: the first
finding names the very step that was changed. Named: its cause is one the kind of fault may be called. Bits given: its
change, replayed, gives every bit of that step (full trace) or of the outputs (outputs only): where it is another step
than the one that was changed, nobody could tell the two apart from these outputs. Intervals are Wilson's at 95 %.

| cell | located | named | bits given | replays, median |
|---|---|---|---|---|
"""


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "injection.md")
    given = parser.parse_args()
    with ProcessPoolExecutor(2) as workers:
        made = workers.map(_scored, CELLS.values(), repeat(given.faults), repeat(given.seed))
        scores = dict(zip(CELLS, made, strict=True))
    lines = [_row(cell, score) for cell, score in scores.items()]
    for kind in ("full trace", "outputs only"):
        both = joined([s for cell, s in scores.items() if cell.startswith(kind)])
        lines = [*lines, _row(f"{kind}, both", both)]
    text = HEAD.format(count=given.faults, seed=given.seed, runs=len(clean_runs())) + "\n".join(lines)
    for cell, score in scores.items():
        text += f"\n\n## {cell}\n\n| fault | may be called | first finding: count |\n|---|---|---|\n" + _confusion(
            score
        )
    given.output.write_text(text + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


def _scored(how: tuple[bool, bool], count: int, seed: int) -> Score:
    """The Score of one cell, without the runs themselves."""
    warnings.simplefilter("ignore")
    return replace(scored(count, seed, *how), misses=[])


def _row(cell: str, score: Score) -> str:
    rates = (score.rate(what) for what in ("located", "named", "given"))
    return f"| {cell} | {' | '.join(map(str, rates))} | {score.median()} |"


def _confusion(score: Score) -> str:
    causes: Mapping[str, tuple[str, ...]] = {kind.name: kind.causes for kind in KINDS}
    rows = []
    for kind in causes:
        found = sorted(((n, cause) for (name, cause), n in score.confusion.items() if name == kind), reverse=True)
        if found:
            rows.append(f"| {kind} | {', '.join(causes[kind])} | {', '.join(f'{cause}: {n}' for n, cause in found)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
