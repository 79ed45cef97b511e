"""`precdiff demo`: the Pow case from defect to remedy. Every number is computed here and now.

pow(x, y) = exp(y ln x) with all steps in fp16 is right at every step and wrong in the end: a relative error u of y ln x
is a relative error |y ln x| u of the result. What a remedy gains depends on the output's format: the demo says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal

if TYPE_CHECKING:
    from precdiff.comparison import TensorComparison
    from precdiff.report import Report

X, Y, SEED = "uniform(0.1,10,shape=(4096,))", "uniform(-4,4,shape=(4096,))", 0
RANGE = "x in 0.1 ... 10, y in -4 ... 4, 4096 points"
#: the figure published for a Pow operator on Ascend, without metric, formats or ranges
PUBLISHED_GAIN = 5700

VARIANTS = {"v1": "every step in fp16", "v2": "fp32 inside, cast to fp16", "v4": "fp32 inside and out"}
FLOOR = "the exact result, rounded once"


@subcommand
def command(terminal: Terminal) -> int:
    """The Pow case, from defect to remedy."""
    from precdiff import api

    terminal.say(f"pow(x, y) as exp(y ln x), every step in fp16; {RANGE}. The same as:\n")
    terminal.say(
        f"$ precdiff run pow --set variant=v1 --input 'x={X}' --input 'y={Y}' -o pow.h5\n$ precdiff explain pow.h5\n"
    )
    with terminal.waiting("running and explaining pow"):
        inputs = _inputs()
        report = api.explain(api.run("pow", format="fp16", inputs=inputs, seed=SEED, variant="v1"))
    terminal.say(_shown(report, terminal))
    with terminal.waiting("measuring the remedies"):
        measured = {name: _output("pow", inputs, variant=name) for name in VARIANTS}
        measured["floor"] = _output(_rounded_once, inputs)
    for line in [*_table(measured), "", *_sentences(measured, terminal.width)]:
        terminal.say(line)
    terminal.document(_document(report, measured))
    return 0


def _inputs() -> dict[str, Any]:
    from precdiff.generate import input_array

    return {name: input_array(name, text, seed=SEED, format="fp16") for name, text in (("x", X), ("y", Y))}


def _rounded_once(x: Any, y: Any) -> Any:
    """What no fp16 output can beat: the correctly rounded power."""
    from precdiff.ops import power

    return power(x, y)


def _output(kernel: Any, inputs: Mapping[str, Any], **options: Any) -> TensorComparison:
    """The output's comparison with the reference, which is x^y for all variants."""
    from precdiff import api

    report = api.compare(api.run(kernel, format="fp16", inputs=inputs, seed=SEED, **options))
    return next(row for row in report.tensors if row.role == "output")


def _shown(report: Report, terminal: Terminal) -> str:
    from precdiff.report import text

    return text.render(report, terminal.width, terminal.colour)


def _table(measured: Mapping[str, TensorComparison]) -> list[str]:
    from precdiff.report import numbers
    from precdiff.report.table import Column, Table

    titles = ("variant", "output", "max rel error", "max ULP", "SNR dB", "v1 / this")
    columns = [Column(title, "right" if i > 1 else "left") for i, title in enumerate(titles)]
    rows = [
        [
            f"{name}  {VARIANTS.get(name, FLOOR)}", row.format, numbers.error(row.max_rel), numbers.error(row.max_ulp),
            numbers.error(row.snr_db), f"{numbers.error(_gain(measured, name))}x",
        ]
        for name, row in measured.items()
    ]  # fmt: skip
    head = f"The remedy, measured; fp16 inputs, {RANGE}; one reference, x^y, for all."
    return [
        head,
        "ULP is of the output's own format; v1 / this is the ratio of max rel errors.",
        "",
        *Table(columns, rows).lines(),
    ]


def _gain(measured: Mapping[str, TensorComparison], name: str) -> float:
    return measured["v1"].max_rel / measured[name].max_rel


def _sentences(measured: Mapping[str, TensorComparison], width: int) -> list[str]:
    """What the ratios mean: metric, formats and range named, and the floor."""
    floor, wide = measured["floor"].max_rel, _gain(measured, "v4")
    narrow, best = _gain(measured, "v2"), _gain(measured, "floor")
    text = (
        f"v2, fp16 -> fp32 intermediates, fp16 output: the max rel error is {narrow:.3g}x smaller on this range. "
        f"The floor of an fp16 output is {floor:.3g}, the exact result rounded once: no more than {best:.3g}x.\n"
        f"v4, fp16 -> fp32 intermediates, fp32 output: the max rel error is {wide:.4g}x smaller on this range.\n"
        f"A gain of {PUBLISHED_GAIN}x, as published for such a Pow, can only be fp16 -> fp32 intermediates with fp32 "
        f"output. With fp16 output it would need {PUBLISHED_GAIN * floor:.0%} max rel error before: a broken kernel."
    )
    return [line for sentence in text.splitlines() for line in textwrap.wrap(sentence, width)]


def _document(report: Report, measured: Mapping[str, TensorComparison]) -> dict[str, Any]:
    rows = [
        {
            "variant": name, "what": VARIANTS.get(name, FLOOR), "output": row.format, "max_rel": row.max_rel,
            "max_ulp": row.max_ulp, "snr_db": row.snr_db, "gain_max_rel": _gain(measured, name),
        }
        for name, row in measured.items()
    ]  # fmt: skip
    inputs = {"x": X, "y": Y, "format": "fp16", "seed": SEED}
    return {"schema": "precdiff.demo/1", "inputs": inputs, "variants": rows, "report": report.to_json()}
