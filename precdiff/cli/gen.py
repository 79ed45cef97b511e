"""`precdiff gen`: inputs that break kernels, with what the outputs should be, as files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from precdiff.cli.options import subcommand
from precdiff.cli.running import changed_profile
from precdiff.cli.terminal import Terminal
from precdiff.errors import PrecDiffError

if TYPE_CHECKING:
    from precdiff.generate import DataCase, Hunt
    from precdiff.generate.subject import Subject

_KINDS = ("bin", "npz", "h5")


@subcommand
@click.argument("target", metavar="KERNEL|OP")
@click.option("--classes", metavar="LIST", help="typical, boundary, special, extreme. [all; none with --adversarial]")
@click.option("--format", metavar="NAME", default="fp16", show_default=True, help="Of the inputs.")
@click.option("--shape", metavar="N,N", help="Of the first input; the others follow. [as the kernel's examples]")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="An option of the kernel.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same values.")
@click.option("--adversarial", type=float, metavar="SECONDS", help="Hunt the inputs of the largest ULP error.")
@click.option("--evaluations", type=int, metavar="N", help="Hunt for so many inputs tried; the same answer each time.")
@click.option("--profile", metavar="NAME|FILE", default="ieee", show_default=True, help="The device that is hunted.")
@click.option("-o", "--output", metavar="DIR", help="A new or empty folder; without it cases are only listed.")
@click.option("--to", "kind", type=click.Choice(_KINDS), default="bin", show_default=True, help="Kind of files.")
@click.option("--force", is_flag=True, help="Replace the cases that are in DIR.")
def command(
    terminal: Terminal, target: str, settings: tuple[str, ...], format: str, shape: str | None, seed: int,
    output: str | None, kind: str, force: bool, **search: Any,
) -> int:  # fmt: skip
    """Make inputs that break kernels, each with the certified golden output.

    Each case is a folder as the Ascend samples have it: input/input_NAME.bin, output/golden.bin, case.json with format
    and shape of every file. KERNEL is a registered name or path/to/file.py:function, OP a name of `precdiff list ops`.
    """
    from precdiff.generate import check_place, write_cases

    with terminal.waiting(f"making data for {target}"):
        subject = _subject(target, settings, format, shape, seed)
        if output is not None:
            check_place(output, subject, kind, force)
        cases, found = _cases(subject, **search)
        written = [] if output is None else write_cases(output, subject, cases, kind, force)
    for case in cases:
        terminal.say(f"{case.name:28} {_shapes(case)}  {case.note}")
    if found is not None:
        terminal.say(_said(found))
    terminal.say(f"{len(cases)} cases" + ("; -o DIR writes them" if output is None else f" written to {output}"))
    terminal.document(_document(subject, cases, found, output, written))
    return 0


def _subject(target: str, settings: tuple[str, ...], format: str, shape: str | None, seed: int) -> Subject:
    from precdiff.formats import get_format
    from precdiff.generate.subject import subject_of
    from precdiff.generate.target import target_kernel

    kernel = target_kernel(target)
    set_to = {name: kernel.option(name, text) for name, text in map(_pair, settings)}
    return subject_of(kernel, get_format(format), _shape(shape), seed=seed, options=set_to)


def _cases(
    subject: Subject, classes: str | None, adversarial: float | None, evaluations: int | None, profile: str
) -> tuple[list[DataCase], Hunt | None]:
    from precdiff.generate import data_cases, hunt, hunted_cases

    how: dict[str, Any] = {
        "format": subject.common, "shape": subject.shapes, "seed": subject.seed, "options": subject.options,
    }  # fmt: skip
    hunted = adversarial is not None or evaluations is not None
    cases = [] if hunted and classes is None else data_cases(subject.kernel, classes=classes, **how)
    if not hunted:
        return cases, None
    device = changed_profile(profile, {})
    found = hunt(subject.kernel, seconds=adversarial, evaluations=evaluations, profile=device, **how)
    return [*cases, *hunted_cases(found)], found


def _pair(word: str) -> tuple[str, str]:
    name, separator, value = word.partition("=")
    if not separator:
        raise PrecDiffError(f"--set: found {word!r}; allowed is OPTION=VALUE")
    return name, value


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,12}(,\d{1,12})*", text):
        raise PrecDiffError(f"--shape: found {text!r}; allowed are whole numbers, as in 8,64")
    return tuple(int(word) for word in text.split(","))


def _shapes(case: DataCase) -> str:
    return " ".join(f"{name}:{'x'.join(map(str, a.shape)) or 'scalar'}" for name, a in case.inputs.items())


def _said(found: Hunt) -> str:
    how = "all there are" if found.exhaustive else "a search, which proves no maximum"
    wrong = f"; {found.nonfinite_count:,} with a result wrongly infinite or NaN" if found.nonfinite_count else ""
    return f"hunted {found.evaluations:,} inputs ({how}): worst {found.max_ulp:.4g} ULP{wrong}"


def _document(
    subject: Subject, cases: list[DataCase], found: Hunt | None, output: str | None, written: list[Any]
) -> dict[str, Any]:
    paths = dict(zip((case.name for case in cases), map(str, written), strict=False))
    rows = [
        {"name": c.name, "class": c.data_class, "note": c.note, "path": paths.get(c.name),
         "shapes": {n: list(a.shape) for n, a in c.inputs.items()}}
        for c in cases
    ]  # fmt: skip
    hunted = None if found is None else {
        "max_ulp": found.max_ulp, "evaluations": found.evaluations, "exhaustive": found.exhaustive,
        "nonfinite": found.nonfinite_count,
    }  # fmt: skip
    about = {"kernel": subject.kernel.name, "format": subject.common.name, "seed": subject.seed, "output": output}
    return {"schema": "precdiff.gen/1", **about, "cases": rows, "hunted": hunted}
