"""`precdiff run`: a kernel on the emulated device, every step written to a dump."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import kernel_options, subcommand
from precdiff.cli.running import Request
from precdiff.cli.terminal import Terminal

if TYPE_CHECKING:
    from precdiff.kernels import Run


@subcommand
@click.argument("kernel")
@kernel_options
@click.option("-o", "--output", type=click.Path(), metavar="FILE.h5", help="Write every step's tensor there.")
def command(terminal: Terminal, kernel: str, output: str | None, **options: Any) -> int:
    """Run KERNEL on the emulated device.

    With -o every step is written to a dump. KERNEL is a registered name (see list kernels) or path/to/file.py:function.
    """
    started = time.monotonic()
    with terminal.waiting(f"running {kernel}"):
        run = Request(**options).run(kernel, output)
    document = described(run, output, options["seed"])
    for line in _lines(document, time.monotonic() - started):
        terminal.say(line)
    terminal.document(document)
    return 0


def described(run: Run, output: str | None, seed: int) -> dict[str, Any]:
    """The document precdiff.run/1."""
    trace = run.trace
    return {
        "schema": "precdiff.run/1", "kernel": trace.kernel, "profile": trace.profile.name, "options": trace.options,
        "seed": seed, "steps": len(trace.steps), "dump": output,
        "inputs": [_tensor(run, name, id) for name, id in trace.inputs.items()],
        "outputs": [_tensor(run, name, id) for name, id in trace.outputs.items()],
    }  # fmt: skip


def _tensor(run: Run, name: str, id: str) -> dict[str, Any]:
    import numpy as np

    values = np.asarray(run.trace.values[id], np.float64)
    finite = values[np.isfinite(values)]
    ends = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    return {
        "name": name, "id": id, "format": run.trace.formats[id], "shape": list(values.shape), "min": ends[0],
        "max": ends[1], "nan_count": int(np.isnan(values).sum()), "inf_count": int(np.isinf(values).sum()),
    }  # fmt: skip


def _lines(document: dict[str, Any], seconds: float) -> list[str]:
    options = ", ".join(f"{k}={v}" for k, v in document["options"].items() if v != "")
    where = f"{document['kernel']}{f' ({options})' if options else ''} on {document['profile']}"
    lines = [f"{where}, seed {document['seed']}: {_steps(document)} in {seconds:.2g} s"]
    lines += [_row("input", row) for row in document["inputs"]] + [_row("output", row) for row in document["outputs"]]
    path = document["dump"]
    if path is None:
        return [*lines, "Next: add -o run.h5 to keep every step, then `precdiff explain run.h5`"]
    return [*lines, f"  written {path} ({Path(path).stat().st_size:,} bytes)", f"Next: precdiff explain {path}"]


def _steps(document: dict[str, Any]) -> str:
    return f"{document['steps']} step{'' if document['steps'] == 1 else 's'}"


def _row(role: str, row: dict[str, Any]) -> str:
    from precdiff.report import numbers

    shape = "x".join(map(str, row["shape"])) or "scalar"
    ends = [numbers.value(row[key], row["format"]) for key in ("min", "max") if row[key] is not None]
    ends = [" ... ".join(ends)] if ends else []
    special = [f"{row[key]} {word}" for key, word in (("nan_count", "NaN"), ("inf_count", "inf")) if row[key]]
    return f"  {role:<7} {row['name']:<6} {row['format']:<5} {shape:<10} {', '.join([*ends, *special])}"
