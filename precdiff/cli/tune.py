"""`precdiff tune`: the fewest steps of a kernel to keep in a wider format so that a standard holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import LIMIT, kernel_options, subcommand
from precdiff.cli.running import Request, with_examples
from precdiff.cli.terminal import Terminal

if TYPE_CHECKING:
    from precdiff.diagnose.tuning import Trial, Tuned
    from precdiff.trace import Trace


@subcommand
@click.argument("kernel")
@kernel_options
@click.option("--max-ulp", type=LIMIT, metavar="N", help="Largest allowed ULP error of an output. [the kernel's]")
@click.option("--to", "wide", default="fp32", show_default=True, metavar="NAME", help="The wider format.")
@click.option("--budget", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop searching after it.")
def command(
    terminal: Terminal, kernel: str, max_ulp: float | None, wide: str, budget: float | None, **options: Any
) -> int:
    """Find the fewest steps of KERNEL to keep in fp32 so that its outputs keep their limit.

    Without --input the kernel's own examples are used. Of the set, no step may be left out; up to 16 steps it is proven
    that no smaller one would do. Exit 0 where a set is found, 1 where not even all steps in fp32 are enough.
    """
    from precdiff.diagnose.tuning import tune

    run = with_examples(Request(**options), kernel).run(kernel)
    with terminal.waiting(f"tuning {kernel}"):
        made = tune(run.trace, _judge(run, max_ulp), wide, float("inf") if budget is None else budget)
    for line in _lines(run.trace, made):
        terminal.say(line)
    terminal.document(document(run.trace, made))
    return 0 if made.best is not None else 1


def _judge(run: Any, max_ulp: float | None) -> Any:
    from precdiff.diagnose.judgement import Judgement
    from precdiff.diagnose.settings import Settings

    judgement = Judgement(run.trace, run.kernel, Settings(max_ulp=max_ulp))
    return judgement.judged


def document(trace: Trace, made: Tuned) -> dict[str, Any]:
    """The document precdiff.tune/1."""
    return {
        "schema": "precdiff.tune/1", "kernel": trace.kernel, "profile": trace.profile.name, "wide": made.wide,
        "candidates": list(made.candidates), "minimum": made.minimum, "replays": made.replays,
        "best": _trial(trace, made, made.best) if made.best is not None else None,
        "pareto": [_trial(trace, made, trial) for trial in made.pareto],
    }  # fmt: skip


def _trial(trace: Trace, made: Tuned, trial: Trial) -> dict[str, Any]:
    from precdiff.diagnose.tuning import operations

    sources = {id: str(trace.step(id).source) for id in trial.steps}
    counts = operations(trace, trial.steps, made.wide)
    return {
        "steps": list(trial.steps), "sources": sources, "max_ulp": trial.error, "holds": trial.holds,
        "operations": counts,
    }  # fmt: skip


def _lines(trace: Trace, made: Tuned) -> list[str]:
    from precdiff.report.table import Column, Table

    if made.best is None:
        head = f"{trace.kernel}: not even all {len(made.candidates)} steps in {made.wide} are enough"
    elif not made.best.steps:
        head = f"{trace.kernel}: keeps its limit as it is; nothing to widen"
    else:
        proven = "a minimum, proven" if made.minimum else "none of them may be left out"
        named = [f"{id} ({trace.step(id).source})" for id in made.best.steps]
        head = f"{trace.kernel}: keep in {made.wide}: {', '.join(named)}; {proven}"
    columns = [
        Column("wide steps", "right"),
        Column("max ULP", "right"),
        Column("holds"),
        Column("operations"),
        Column("which", spare=1),
    ]
    rows = [
        [str(len(t.steps)), f"{t.error:.4g}", "yes" if t.holds else "no", _counts(trace, made, t), ", ".join(t.steps)]
        for t in made.pareto
    ]
    found = f"{made.replays} replays; the best error for each number of wide steps:"
    return [head, found, *Table(columns, rows).lines(100)]


def _counts(trace: Trace, made: Tuned, trial: Trial) -> str:
    from precdiff.diagnose.tuning import operations

    return ", ".join(f"{name} {count:,}" for name, count in operations(trace, trial.steps, made.wide).items())
