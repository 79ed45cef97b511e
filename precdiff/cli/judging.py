"""What compare and explain have in common: two sides from words, and a report printed, written and made a code."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precdiff.cli.agreeing import agreements
from precdiff.cli.exporting import Exports
from precdiff.cli.running import Request
from precdiff.cli.terminal import Terminal
from precdiff.errors import FileError, NotComparableError, PrecDiffError

if TYPE_CHECKING:
    from precdiff.report import Report

_JUDGING = ("tensor_limits", "standard", "max_ulp", "rtol", "atol", "zero_atol", "op", "runs", "layer", "backend")


def judged(
    judge: Callable[..., Report], actual: str, expected: str | None, kernel: str | None, *, waivers: bool = False,
    **options: Any,
) -> Report:  # fmt: skip
    """The report of `judge`, api.compare or api.explain, on what the words stand for, waivers applied if asked to."""
    from precdiff.diagnose.settings import Settings
    from precdiff.report.agreements import with_agreements

    stated = Settings(options["standard"], *(options[name] for name in ("max_ulp", "rtol", "atol"))).stated
    agreed = dataclasses.replace(agreements(actual, waivers), stated=stated)
    report = _judged(judge, actual, expected, kernel, **options, tensor_limits=agreed.limits)
    return with_agreements(report, agreed, datetime.now(UTC).date())


def _judged(
    judge: Callable[..., Report], actual: str, expected: str | None, kernel: str | None, **options: Any
) -> Report:
    how = {name: options.pop(name) for name in _JUDGING} | {k: options.pop(k) for k in ("budget",) if k in options}
    again, peer = options.pop("again", ()), options.pop("peer", None)
    how |= {} if peer is None else {"peer": _side(peer)}
    how |= {k: v for k in ("mapping",) if (v := options.pop(k, None)) is not None}
    if again and kernel is None:
        raise PrecDiffError("--again: allowed with --kernel; ACTUAL and these are outputs of the same run of it")
    if again:
        how["again"] = [_array(word) for word in again]
    if kernel is not None:
        return _bare_output(judge, actual, expected, kernel, Request(**options), how)
    if Request(**options) != Request():
        given = " ".join(Request(**options).words())
        raise PrecDiffError(
            f"{given}: these go with --kernel, the kernel that ACTUAL is the output of. A dump knows its own"
        )
    return _two_sides(judge, actual, expected, how)


def _two_sides(judge: Callable[..., Report], actual: str, expected: str | None, how: dict[str, Any]) -> Report:
    mine = _side(actual)
    if expected is None and not isinstance(mine, str):
        raise NotComparableError(
            f"{actual}: values alone have no reference. Give EXPECTED; or --kernel and the --input they were made from."
        )
    report = judge(mine, None if expected is None else _side(expected), **how)
    report = dataclasses.replace(report, expected=expected or report.expected)
    if isinstance(mine, str):
        return report
    next_step = (
        f"precdiff compare {shlex.quote(actual)} --kernel KERNEL --input NAME=FILE   # values alone have no steps"
    )
    return dataclasses.replace(report, actual=actual, provenance={**report.provenance, "next": next_step})


def _side(text: str) -> Any:
    """A dump's path as it is; a raw or .npy file as its array, a large one as what is read piece by piece."""
    from precdiff.dump.reader import near
    from precdiff.generate.rawfile import is_raw, large_array, read_array

    large = large_array(text)
    if large is not None:
        return large
    if text.endswith(".npy") or is_raw(text):
        return read_array(text)
    if not Path(text).exists():
        raise FileError(
            f"{text}: there is no such file (working folder {Path.cwd()}).{near(Path(text))} "
            "Allowed are a dump, FILE.npy and FILE:FORMAT:SHAPE as in out.bin:fp16:64,1024."
        )
    return text


def _array(text: str) -> Any:
    """The one array of a file: raw, .npy, or any kind of file that is read as a dump (.pt, .safetensors ...)."""
    from precdiff.dump import open_dump
    from precdiff.generate.rawfile import read_array

    found = _side(text)
    if not isinstance(found, str):
        return read_array(text)
    with open_dump(found) as dump:
        if len(dump.tensors) != 1:
            raise NotComparableError(f"{text} holds {len(dump.tensors)} tensors; allowed is one, the kernel's output")
        return dump.native(next(iter(dump.tensors)))


def _bare_output(
    judge: Callable[..., Report], actual: str, expected: str | None, kernel: str, request: Request, how: dict[str, Any]
) -> Report:
    """Judge a device's output by the reference of its kernel on its inputs; the steps between are emulated ones."""
    if expected is not None:
        raise PrecDiffError("EXPECTED and --kernel were both given; with --kernel the reference is what is expected")
    declared = request.run(kernel)
    try:
        report = judge(_array(actual), declared=declared, **how)
    except NotComparableError as error:
        raise NotComparableError(f"{actual}: {error}") from None
    made = {**report.provenance, "next": _next(actual, kernel, request, report)}
    return dataclasses.replace(report, actual=actual, provenance=made)


def _next(actual: str, kernel: str, request: Request, report: Report) -> str:
    if not report.findings:
        return shlex.join(["precdiff", "explain", actual, "--kernel", kernel, *request.words()])
    words = shlex.join(["precdiff", "run", kernel, *request.words(), "-o", "run.h5"])
    return f"{words}   # every step as it was meant, for precdiff serve"


def finish(terminal: Terminal, report: Report, output: str | None, verbose: bool, exports: Exports) -> int:
    """Print the report, write it where asked to, and give the exit code of its verdict."""
    from precdiff.report import text

    exports.say(terminal, text.render(report, terminal.width, terminal.colour, verbose).rstrip("\n"))
    document = report.to_json()
    if output is not None:
        _write(output, document)
        terminal.say(f"written {output}; judge it again with `precdiff check {output} --max-ulp N`")
    exports.write(terminal, report)
    terminal.document(document)
    return exit_code(report.verdict)


def _write(path: str, document: dict[str, Any]) -> None:
    try:
        Path(path).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: the report cannot be written: {error.strerror}. Choose another place.") from None


def exit_code(verdict: str) -> int:
    """0 within the standard, 1 beyond it, 2 where that is not known."""
    return {"pass": 0, "fail": 1}.get(verdict, 2)
