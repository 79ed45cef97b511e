"""`precdiff sweep`: a kernel's error against the length of its inputs, options, formats and profiles."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import kernel_options, replaceable_table, subcommand
from precdiff.cli.running import Request
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError, PrecDiffError

if TYPE_CHECKING:
    from precdiff.diagnose.sweeping import Measured


@subcommand
@click.argument("kernel")
@kernel_options
@click.option(
    "--csv",
    "table",
    type=click.Path(),
    callback=replaceable_table,
    metavar="FILE.csv",
    help="Write the rows there; replaces nothing but an older table of sweep.",
)
def command(terminal: Terminal, kernel: str, table: str | None, **options: Any) -> int:
    """Measure KERNEL over several values of --set, --format and --profile, separated by commas.

    A --set NAME that is no option of the kernel stands for a number in the --input SPECs, as K in: precdiff sweep
    reduce_sum --input 'x=normal(0,1,shape=(64,K))' --set K=64,256,1024 --format fp16,bf16
    """
    request = Request(**options)
    with terminal.waiting(f"sweeping {kernel}"):
        rows = [_measure(kernel, request, point) for point in _points(kernel, request)]
    laws = _laws(kernel, request, rows)
    for line in [*_lines(rows), *(f"{label}: error ~ {name}^{b:.2f}" for label, name, b in laws)]:
        terminal.say(line)
    if table is not None:
        _write(table, rows)
    fitted = [{"of": label, "against": name, "exponent": b} for label, name, b in laws]
    terminal.document(
        {"schema": "precdiff.sweep/1", "kernel": kernel, "rows": [r.to_json() for r in rows], "fitted": fitted}
    )
    return 0


def _points(kernel: str, request: Request) -> Iterator[dict[str, str]]:
    """Every combination: settings by name, `format` and `profile`."""
    axes = {name: text.split(",") for name, text in request.settings.items()}
    axes |= {"format": (request.format or "fp16").split(","), "profile": request.profile.split(",")}
    unused = [
        name for name in _placeholders(kernel, request) if not any(name in spec for spec in request.inputs.values())
    ]
    if unused:
        raise PrecDiffError(
            f"--set {unused[0]}: {kernel} has no such option, and no --input names it; write {unused[0]} in a SPEC"
        )
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _placeholders(kernel: str, request: Request) -> list[str]:
    from precdiff.kernels import get_kernel

    return [name for name in request.settings if name not in get_kernel(kernel).options]


def _measure(kernel: str, request: Request, point: Mapping[str, str]) -> Measured:
    from precdiff.diagnose.judgement import Judgement
    from precdiff.diagnose.sweeping import measured

    numbers = {name: point[name] for name in _placeholders(kernel, request)}
    inputs = {name: _filled(spec, numbers) for name, spec in request.inputs.items()}
    settings = {name: point[name] for name in request.settings if name not in numbers}
    asked = replace(request, format=point["format"], profile=point["profile"], settings=settings, inputs=inputs)
    run = asked.run(kernel)
    return measured(Judgement(run.trace, run.kernel), point)


def _filled(spec: str, numbers: Mapping[str, str]) -> str:
    """The SPEC with its names replaced by numbers, as whole words."""
    import re

    for name, value in numbers.items():
        spec = re.sub(rf"\b{re.escape(name)}\b", value, spec)
    return spec


def _laws(kernel: str, request: Request, rows: list[Measured]) -> list[tuple[str, str, float]]:
    """(of which rows, against what, exponent) for every other combination."""
    from precdiff.diagnose.sweeping import exponent

    found = []
    for name in _placeholders(kernel, request):
        groups: dict[str, list[Measured]] = {}
        for row in rows:
            others = ", ".join(value for key, value in row.settings.items() if key != name)
            groups.setdefault(others, []).append(row)
        for label, group in groups.items():
            try:
                law = exponent([float(row.settings[name]) for row in group], [row.rms_ulp for row in group])
            except ValueError:
                law = None
            found += [(label, name, law)] if law is not None else []
    return found


def _lines(rows: list[Measured]) -> list[str]:
    from precdiff.report.table import Column, Table

    titles = [*rows[0].settings, "max ULP", "RMS ULP", "of unavoidable", "verdict"]
    cells = [
        [*r.settings.values(), f"{r.max_ulp:.4g}", f"{r.rms_ulp:.4g}", f"{r.unavoidable_ratio:.3g}", r.verdict]
        for r in rows
    ]
    return Table(
        [Column(title, "left" if title in ("format", "profile", "verdict") else "right") for title in titles], cells
    ).lines(100)


def _write(path: str, rows: list[Measured]) -> None:
    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0].to_json()))
            writer.writeheader()
            writer.writerows(row.to_json() for row in rows)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error}") from None
