"""Options that several commands share, and the three every command has: --json, --debug, --color.

Values are checked where they are used, by the code that knows what is allowed; here they are only taken apart.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Size(click.FloatRange):
    """A number of at least 0; NaN, which click's range lets through, is none, and a tolerance is finite."""

    def __init__(self, infinite: bool = False) -> None:
        super().__init__(min=0)
        self._infinite = infinite

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or why it is none."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number) or (math.isinf(number) and not self._infinite):
            allowed = "a number" if self._infinite else "a finite number"
            self.fail(f"found {value}; allowed is {allowed} of at least 0", param, ctx)
        return number


_SIZE, LIMIT = Size(), Size(infinite=True)


def global_options() -> list[click.Parameter]:
    """The options every command has, before or after its name; made anew because click's parameters keep state."""
    colour = "Colour the text; by default on a terminal, and as NO_COLOR and FORCE_COLOR say."
    return [
        _global("json", "--json", False, "Print one JSON document on stdout."),
        _global("debug", "--debug", False, "Show the traceback of an error."),
        _global("color", "--color/--no-color", None, colour),
    ]


def _global(name: str, words: str, default: bool | None, line: str) -> click.Option:
    def keep(context: click.Context, parameter: click.Parameter, value: bool | None) -> None:
        if value != default:
            setattr(context.obj, name, value)

    return click.Option([words], is_flag=True, default=default, expose_value=False, callback=keep, help=line)


class _Command(click.Command):
    """A command with the global options; its terminal is the context's object."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *global_options()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with the way out for an argument that looks like an option."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            word = next((w for w in given if w.startswith("-") and not w.startswith("--")), None)
            if word is not None and "--" not in given:
                advice = f"{error.message} Where {word!r} is an argument, put -- before it, after all options."
                raise click.NoSuchOption(error.option_name, advice, error.possibilities, error.ctx) from None
            raise


def subcommand(function: Callable[..., int | None]) -> click.Command:
    """Make a function a command called like its file; its first argument is the Terminal, its result the exit code."""
    name = function.__module__.rpartition(".")[2].replace("_", "-")

    @functools.wraps(function)
    def run(terminal: Any, *args: Any, **kwargs: Any) -> int | None:
        terminal.stdout = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):  # a kernel may print; stdout is for the document
            return function(terminal, *args, **kwargs)

    return click.command(name, cls=_Command)(click.pass_obj(run))


def stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several option decorators as one, in reading order."""

    def apply(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


def pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE words as a mapping."""
    found: dict[str, str] = {}
    for word in values:
        name, separator, value = word.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(f"found {word!r}; allowed is NAME=VALUE", context, parameter)
        if name.strip() in found:
            raise click.BadParameter(f"{name.strip()} is given twice; give it once", context, parameter)
        found[name.strip()] = value.strip()
    return found


def replaceable(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """Refuse a FILE.json that exists and is no report, before any work is done."""
    from precdiff.cli.replacing import check_replaceable

    if path is not None:
        check_replaceable(path)
    return path


def replaceable_table(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """Refuse a FILE.csv that exists and is no table of sweep, before any work is done."""
    if path is not None and Path(path).is_file():
        with Path(path).open("rb") as file:
            first = file.readline(2000).rstrip()
        if first and not first.endswith(b"max_ulp,rms_ulp,unavoidable_ratio,verdict"):
            allowed = "is no table of sweep; choose another name, or delete it first"
            raise click.BadParameter(f"{path} exists and {allowed}", context, parameter)
    return path


def many(words: str, name: str, metavar: str, line: str) -> Callable[[F], F]:
    """An option of NAME=VALUE words that may be given several times."""
    return click.option(words, name, multiple=True, callback=pairs, metavar=metavar, help=line)


def profile_options(function: F) -> F:
    """--profile and --profile-set."""
    return stack(
        click.option("--profile", default="ieee", show_default=True, metavar="NAME|FILE", help="The emulated device."),
        many("--profile-set", "profile_fields", "FIELD=VALUE", "Change one field of the profile."),
    )(function)


def iterations_option(function: F) -> F:
    """--max-iterations."""
    limit = click.IntRange(min=1)
    return click.option("--max-iterations", type=limit, metavar="N", help="Of a while_loop. [10000]")(function)


def kernel_options(function: F) -> F:
    """What running a kernel takes, beside its name."""
    line = "Round all inputs to it; SPECs without it are fp16."
    return stack(click.option("--format", "format", metavar="NAME", help=line), run_options)(function)


def run_options(function: F) -> F:
    """The same without the inputs' format."""
    inputs = "FILE.npy, FILE:FORMAT:SHAPE, a number, or a SPEC as in 'x=uniform(0.1,10,shape=(4096,))'."
    seed = click.IntRange(min=0)
    return stack(
        profile_options,
        many("--set", "settings", "OPTION=VALUE", "An option of the kernel."),
        many("--input", "inputs", "NAME=FILE|SPEC", inputs),
        click.option(
            "--seed", type=seed, default=0, show_default=True, help="Of the SPECs and of stochastic rounding."
        ),
        iterations_option,
    )(function)


def judging_options(function: F) -> F:
    """What compare and explain take: the two sides, the standard, and the kernel where ACTUAL is its bare output."""
    return stack(
        click.argument("actual"),
        click.argument("expected", required=False),
        click.option("--standard", default="auto", show_default=True, metavar="NAME", help="See list standards."),
        click.option("--max-ulp", type=LIMIT, metavar="N", help="Largest allowed ULP error of an output."),
        click.option("--rtol", type=_SIZE, metavar="X", help="Relative tolerance."),
        click.option("--atol", type=_SIZE, metavar="X", help="Absolute tolerance."),
        click.option("--zero-atol", type=_SIZE, default=0.0, metavar="X", help="Tolerance where 0 is expected."),
        click.option("--peer", metavar="FILE", help="What another device gave: for standards that compare with it."),
        click.option("--runs", is_flag=True, help="The first axis counts runs of one case: for cann-dual."),
        click.option("--op", default="", metavar="NAME", help="The function: for standards with a limit for each."),
        click.option("--layer", metavar="GLOB", help="Only layers of that name."),
        click.option("--map", "mapping", metavar="FILE.toml", help="How tensors of two dumps belong together."),
        click.option(
            "--backend", default="auto", show_default=True, metavar="NAME", help="auto, or mpmath: slow, plain."
        ),
        click.option(
            "-o", "--output", type=click.Path(), callback=replaceable, metavar="FILE.json",
            help="Write the report, for check; replaces nothing but an older report.",
        ),
        click.option("--verbose", "-v", is_flag=True, help="All facts of all tensors."),
        click.option("--kernel", metavar="KERNEL", help="ACTUAL is this kernel's output on the --input given."),
        kernel_options,
    )(function)  # fmt: skip
