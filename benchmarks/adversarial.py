"""Adversarial search against random points: writes docs/adversarial.md.

python benchmarks/adversarial.py [--random 10000000] [--evaluations 500000] [--seeds 3] [--output docs/adversarial.md]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from precdiff import ops  # noqa: E402 - behind the path
from precdiff.formats import get_format  # noqa: E402 - behind the path
from precdiff.generate import hunt  # noqa: E402 - behind the path
from precdiff.generate.mutation import Space  # noqa: E402 - behind the path
from precdiff.generate.scoring import scorer_of, typical_points  # noqa: E402 - behind the path
from precdiff.generate.subject import subject_of  # noqa: E402 - behind the path
from precdiff.generate.target import target_kernel  # noqa: E402 - behind the path
from precdiff.kernels import kernel  # noqa: E402 - behind the path


@kernel(name="log_of_1_plus_x")
def log_of_one_plus(x: Any) -> Any:
    """log(1 + x), the sum rounded."""
    return ops.log(x + 1.0)


#: target, format, shape of the first input
CASES: tuple[tuple[str | Callable[..., Any], str, tuple[int, ...]], ...] = (
    ("pow", "fp16", (64,)), ("softmax_naive", "fp16", (64, 8)), ("layernorm_one_pass", "fp16", (64, 8)),
    (log_of_one_plus, "fp32", (64,)),
)  # fmt: skip
HEAD = """# Adversarial search against random points

Written by `python benchmarks/adversarial.py --random {random} --evaluations {evaluations} --seeds {seeds}`.
Largest error in ULP of finite results: of random points, half of random bits and half as the kernel's examples have
them, and of `hunt` with far fewer evaluations, for several seeds. Random points are scored by the same certain lower
bound that the search climbs.

| kernel | format | random | their worst | search | its worst, a seed each | seconds, random : search |
|---|---|---|---|---|---|---|
"""


def random_worst(target: Any, format: str, shape: tuple[int, ...], count: int) -> float:
    """The largest error of `count` random points."""
    subject = subject_of(target_kernel(target), get_format(format), shape, seed=1)
    scorer = scorer_of(subject)
    space = Space(scorer.shapes, subject.formats)
    rng, worst, done = np.random.default_rng(2), 0.0, 0
    size = 32_768 // max(space.width, 1) * 2
    while done < count:
        bits = space.values(space.random(size // 2, rng))
        drawn = typical_points(subject, scorer.shapes, size - size // 2, f"random/{done}")
        both = {name: np.concatenate([bits[name], drawn[name]]) for name in space.shapes}
        worst, done = max(worst, float(scorer(both).ulp.max())), done + size
    return worst


def row(case: tuple[Any, str, tuple[int, ...]], random: int, evaluations: int, seeds: int) -> str:
    """A line of the table."""
    target, format, shape = case
    start = time.perf_counter()
    worst = random_worst(target, format, shape, random)
    middle = time.perf_counter()
    how = {"format": format, "shape": shape, "evaluations": evaluations}
    found = [hunt(target, seed=seed, **how).max_ulp for seed in range(seeds)]
    ratio = (middle - start) / ((time.perf_counter() - middle) / seeds)
    each = ", ".join(f"{ulp:,.5g}" for ulp in found)
    name = target_kernel(target).name
    return f"| {name} | {format} | {random:,} | {worst:,.5g} | {evaluations:,} | {each} | {ratio:.1f} : 1 |"


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=10_000_000)
    parser.add_argument("--evaluations", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "adversarial.md")
    given = parser.parse_args()
    lines = []
    for case in CASES:
        lines.append(row(case, given.random, given.evaluations, given.seeds))
        print(lines[-1], flush=True)
    head = HEAD.format(random=given.random, evaluations=given.evaluations, seeds=given.seeds)
    given.output.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
