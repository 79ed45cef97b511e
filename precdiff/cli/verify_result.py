"""`precdiff verify-result`: what verify_result.py of the Ascend operator samples does, so that it can take its place.

Two raw files, output and golden, and a verdict on stdout: `test pass` (exit 0) or `[ERROR] result error` (exit 1). The
rule is the standard `ascend-sample`. What PrecDiff has to say goes to stderr, on request.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.judging import exit_code
from precdiff.cli.options import Size, run_options, subcommand
from precdiff.cli.running import Request
from precdiff.cli.terminal import Terminal
from precdiff.errors import NotComparableError, PrecDiffError

if TYPE_CHECKING:
    import numpy as np

    from precdiff.comparison import TensorComparison
    from precdiff.report import Report

#: error_tol of the samples; their fp32 scripts have rtol, atol and this at 1e-4, `--standard ascend-sample` too
ERROR_TOL = 1e-3


@subcommand
@click.argument("output", metavar="OUT.bin")
@click.argument("golden", metavar="GOLDEN.bin")
@click.option("--format", metavar="NAME", help="Of both files, and of the kernel's inputs: fp16, bf16, fp32, i32 ...")
@click.option("--rtol", type=Size(), metavar="X", help="Relative tolerance. [the samples', by format]")
@click.option("--atol", type=Size(), metavar="X", help="Absolute tolerance. [the samples', by format]")
@click.option("--error-tol", type=Size(), metavar="X", help="Share that may be beyond both. [0.001, integers 0]")
@click.option("--golden-format", metavar="NAME", help="Of GOLDEN.bin, where it is another.")
@click.option("--explain", is_flag=True, help="Say what PrecDiff makes of it; more with --kernel and --input.")
@click.option("--kernel", metavar="KERNEL", help="What was computed: OUT.bin is explained from the --input given.")
@run_options
def command(
    terminal: Terminal, output: str, golden: str, rtol: float | None, atol: float | None, error_tol: float | None,
    golden_format: str | None, explain: bool, kernel: str | None, **options: Any,
) -> int:  # fmt: skip
    """Check a device's output as verify_result.py of the Ascend samples does.

    Two raw files, or .npy. Prints `test pass` or `[ERROR] result error`; exit 0 or 1. In fp16 an element misses where
    |error| > 1e-5 + 1e-3 |golden|, and at most a share of 1e-3 may.
    """
    from precdiff.report import text

    request = Request(**options)
    actual, wanted = _read(output, request.format), _read(golden, golden_format or request.format)
    report = _judged(actual, wanted, rtol, atol, error_tol)
    (row,) = report.tensors
    if not terminal.json:
        _print(terminal, row, report)
    answer = _explained(actual, wanted, kernel, request) if explain or kernel else None
    if answer is not None:
        answer = _named(answer, output, golden, kernel)
        terminal.say(text.render(answer, terminal.width, terminal.colour).rstrip("\n"))
    terminal.document(_document(row, report, answer))
    return exit_code(report.verdict)


def _read(path: str, format: str | None) -> np.ndarray:
    """The values of a raw file as one row; .npy and files with a sidecar as they are."""
    from precdiff.generate.rawfile import is_raw, read_array, read_row

    if path.endswith(".npy") or is_raw(path):
        return read_array(path).ravel()
    if format is None:
        raise PrecDiffError(f"{path}: found raw bytes; --format says what they are, as in --format fp16")
    return read_row(path, format)


def _judged(actual: Any, wanted: Any, rtol: float | None, atol: float | None, share: float | None) -> Report:
    from precdiff import api
    from precdiff.formats import format_of

    if actual.size != wanted.size:
        raise NotComparableError(
            f"the output holds {actual.size:,} values, golden {wanted.size:,}; both must be as many. Check --format"
        )
    given: dict[str, Any] = {name: value for name, value in (("rtol", rtol), ("atol", atol)) if value is not None}
    least = ERROR_TOL if format_of(actual).is_float else 0.0
    return api.compare(
        actual, wanted, standard="ascend-sample", allow_fraction=least if share is None else share, **given
    )


def _print(terminal: Terminal, row: TensorComparison, report: Report) -> None:
    """What the script prints, with the worst elements in place of the first hundred."""
    for worst in row.worst[: row.over_limit]:
        rdiff = abs(worst.actual - worst.expected) / abs(worst.expected) if worst.expected else float("inf")
        terminal.out(
            f"data index: {worst.index[0]:06d}, expected: {worst.expected:-.9f}, actual: {worst.actual:-.9f}, "
            f"rdiff: {rdiff:-.6f}"
        )
    terminal.out(f"error ratio: {_ratio(row):.4f}, {row.rule}")
    terminal.out("test pass" if report.verdict == "pass" else "[ERROR] result error")


def _ratio(row: TensorComparison) -> float:
    return row.over_limit / row.compared if row.compared else 0.0


def _explained(actual: Any, wanted: Any, kernel: str | None, request: Request) -> Report:
    """PrecDiff's own answer: from the kernel's reference where that is known, else from golden."""
    from precdiff import api

    if kernel is None:
        return api.compare(actual, wanted)
    declared = request.run(kernel)
    shapes = {declared.trace.values[id].shape for id in declared.trace.outputs.values()}
    shape = next(iter(shapes)) if len(shapes) == 1 else actual.shape
    return api.explain(actual.reshape(shape) if math.prod(shape) == actual.size else actual, declared=declared)


def _named(report: Report, output: str, golden: str, kernel: str | None) -> Report:
    """The report with the files' names, and what to do next."""
    if kernel is not None:
        return dataclasses.replace(report, actual=output)
    words = shlex.join(["precdiff", "verify-result", output, golden, "--kernel"])
    next_step = f"{words} KERNEL --input NAME=FILE   # values alone have no steps"
    return dataclasses.replace(
        report, actual=output, expected=golden, provenance={**report.provenance, "next": next_step}
    )


def _document(row: TensorComparison, report: Report, answer: Report | None) -> dict[str, Any]:
    return {
        "schema": "precdiff.verify-result/1",
        "verdict": report.verdict,
        "rule": row.rule,
        "compared": row.compared,
        "missed": row.over_limit,
        "error_ratio": _ratio(row),
        "report": None if answer is None else answer.to_json(),
    }
