"""Every op on every machine against mpmath: writes docs/ops-table.md.

    python benchmarks/ops_table.py [--points 400]

`points` cases a float format of an elementwise op, half of them edges; the rest as tests/ops/every_op.py says.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from precdiff.ops import OPS  # noqa: E402 - behind the path
from tests.ops.every_op import FLOATS, INTEGERS, count  # noqa: E402 - behind the path

HEAD = """# Every op on every machine

Written by `python benchmarks/ops_table.py --points {points}`. Each op at special, boundary and random values of
{floats} (ops of integers: {integers}), against mpmath at 1,200 bits:
*device* counts results that are the exact value rounded once, sign of zero included (ieee-exact; prod, cumsum at every
step), the reference machines results whose radius contains it. `tests/ops/test_every_op.py` holds all of them with
fewer points; every code of the 16-bit formats is held by `tests/ops/test_functions.py`.

| op | device | interval | double-double | ball | wrong |
|---|---|---|---|---|---|
"""


def main() -> int:
    """Write the table; exit code 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=400)
    points = parser.parse_args().points
    warnings.simplefilter("ignore")
    lines, totals, wrong = [], [0] * 4, 0
    for name in OPS:
        found = count(name, points)
        cases = [found[machine].cases for machine in ("device", "interval", "double-double", "ball")]
        bad = sum(made.wrong for made in found.values())
        lines.append(f"| {name} | {' | '.join(f'{n:,}' for n in cases)} | {bad} |")
        totals, wrong = [a + b for a, b in zip(totals, cases, strict=True)], wrong + bad
    head = HEAD.format(points=points, floats=", ".join(FLOATS), integers=", ".join(INTEGERS))
    end = f"\nTogether {' + '.join(f'{n:,}' for n in totals)} cases, {wrong} wrong.\n"
    (ROOT / "docs" / "ops-table.md").write_text(head + "\n".join(lines) + "\n" + end, encoding="utf-8")
    print(end)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
