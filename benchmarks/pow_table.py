"""The Pow table: five variants of exp(y ln x), four input ranges, 4,000 points each, over seeds 0, 1, 2, ...

    python benchmarks/pow_table.py [--seeds 100] [--markdown] [--json FILE]

x and y are uniform in the range, rounded to fp16; the kernel is precdiff's `pow` under profile `ieee`; errors are
against the certified reference of x^y (hi + lo with radius), made once for every seed and range. `published` is the
table that first described the case (one seed): largest relative errors, and the signal to noise ratio of the first
range. Relative errors of V1 to V3 must bracket it over the seeds; those of V4 and V5 must be, in the median, at or
below 1.2 times it, and the SNR, in the median, within 2 dB of it.

The ratios are what computing inside in a wider format gains: V1/V2 with fp16 output, V3/V4 and V3/V5 with fp32 output.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from precdiff import kernel
from precdiff.formats import carrier, format_of, ulp_error
from precdiff.generate import input_array
from precdiff.kernels import run_kernel
from precdiff.machine import RealArray, Tensor
from precdiff.ops import power
from precdiff.reference import total

POINTS = 4000
VARIANTS = ("v1", "v2", "v3", "v4", "v5")
#: (before, after): pairs of equal output format
GAINS = (("v1", "v2"), ("v3", "v4"), ("v3", "v5"))


@dataclass(frozen=True)
class Range:
    """Where x and y come from, and what was published for it, as printed: largest relative errors, SNR in dB."""

    x: tuple[float, float]
    y: tuple[float, float]
    published: Mapping[str, str]
    snr_db: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return f"x {self.x[0]:g}..{self.x[1]:g}, y {self.y[0]:g}..{self.y[1]:g}"

    def inputs(self, seed: int) -> dict[str, np.ndarray]:
        """The points of a seed."""
        specs = {
            name: f"uniform({low},{high},shape=({POINTS},))" for name, (low, high) in (("x", self.x), ("y", self.y))
        }
        return {name: input_array(name, spec, seed=seed, format="fp16") for name, spec in specs.items()}


def _row(*errors: str) -> dict[str, str]:
    return dict(zip(VARIANTS, errors, strict=True))


RANGES = (
    Range(
        (0.1, 10), (-4, 4), _row("6.7e-3", "4.8e-4", "6.8e-3", "9.1e-7", "1.4e-7"),
        dict(zip(VARIANTS, (49.6, 73.4, 49.6, 128.7, 148.1), strict=True)),
    ),
    Range((0.5, 2), (-2, 2), _row("1.05e-3", "4.8e-4", "8.9e-4", "1.3e-7", "1.2e-7")),
    Range((1, 4), (2, 7.5), _row("6.5e-3", "4.8e-4", "6.6e-3", "7.9e-7", "1.4e-7")),
    Range((0.97, 1.03), (-100, 100), _row("1.7e-3", "4.8e-4", "1.4e-3", "2.1e-7", "1.4e-7")),
)  # fmt: skip


@dataclass(frozen=True)
class Errors:
    """The errors of one run."""

    max_rel: float
    mean_rel: float
    max_ulp: float
    snr_db: float


@dataclass(frozen=True)
class Cell:
    """One variant on one range: its errors, a row a seed."""

    range: Range
    variant: str
    runs: Sequence[Errors]

    def all(self, metric: str) -> list[float]:
        """That metric of every seed."""
        return [getattr(run, metric) for run in self.runs]

    @property
    def published(self) -> float:
        """The published largest relative error."""
        return float(self.range.published[self.variant])

    @property
    def brackets(self) -> bool:
        """Whether the published maximum lies between the smallest and the largest of all seeds, to its digits."""
        digits = len(self.range.published[self.variant].split("e")[0].replace(".", ""))
        low, high = (float(f"{end(self.all('max_rel')):.{digits - 1}e}") for end in (min, max))
        return low <= self.published <= high

    @property
    def against_published(self) -> float:
        """The median over the seeds of the largest relative error, over the published one."""
        return statistics.median(self.all("max_rel")) / self.published

    @property
    def snr_off(self) -> float | None:
        """The median signal to noise ratio less the published one, in dB."""
        known = self.range.snr_db.get(self.variant)
        return None if known is None else statistics.median(self.all("snr_db")) - known

    @property
    def holds(self) -> bool:
        """V1 to V3 bracket the table, V4 and V5 are at or below 1.2 times it, and the SNR is within 2 dB of it."""
        errors = self.brackets if self.variant in ("v1", "v2", "v3") else self.against_published <= 1.2
        return errors and (self.snr_off is None or abs(self.snr_off) <= 2)


@kernel
def intended(x: Tensor, y: Tensor) -> Tensor:
    """x^y as one op: its total reference is the truth for all variants."""
    result: Tensor = power(x, y)
    return result


def truth(inputs: Mapping[str, np.ndarray]) -> RealArray:
    """The certified reference, known to 1e-13 of itself: errors of fp32 are a million times larger."""
    trace = run_kernel(intended, inputs).trace
    values = total(trace, ["power"])["power"].values
    assert np.all(values.radius <= 1e-13 * np.abs(values.hi))
    return values


def errors(actual: np.ndarray, exact: RealArray) -> Errors:
    """What one run erred; ulps are of its own output format."""
    values = np.asarray(carrier(actual), np.float64)
    error = (values - exact.hi) - exact.lo
    relative = np.abs(error) / np.abs(exact.hi)
    in_ulps = ulp_error(values, (exact.hi, exact.lo), format_of(actual))
    snr = 10 * np.log10(np.sum(exact.hi**2) / np.sum(error**2))
    return Errors(float(relative.max()), float(relative.mean()), float(in_ulps.max()), float(snr))


def measure(where: Range, seeds: Iterable[int], variants: Sequence[str] = VARIANTS) -> dict[str, Cell]:
    """The cells of a range, by variant."""
    runs: dict[str, list[Errors]] = {variant: [] for variant in variants}
    for seed in seeds:
        inputs = where.inputs(seed)
        exact = truth(inputs)
        for variant, found in runs.items():
            made = run_kernel("pow", inputs, options={"variant": variant})
            found.append(errors(made.outputs["out"], exact))
    return {variant: Cell(where, variant, found) for variant, found in runs.items()}


def gains(cells: Mapping[str, Cell]) -> Iterator[tuple[str, str, list[float]]]:
    """(pair, metric, error before / error after of every seed)."""
    for before, after in GAINS:
        for metric in ("max_rel", "mean_rel"):
            pairs = zip(cells[before].all(metric), cells[after].all(metric), strict=True)
            yield f"{before.upper()}/{after.upper()}", metric.removesuffix("_rel"), [a / b for a, b in pairs]


def number(value: float) -> str:
    """Three digits: 6.70e-3."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def spread(values: Sequence[float], text: Callable[[float], str] = number) -> str:
    """The smallest and the largest."""
    return f"{text(min(values))} .. {text(max(values))}"


HEADINGS = ("range", "variant", "published max", "max relative", "mean relative", "max ULP", "SNR dB", "holds")
GAIN_HEADINGS = ("range", "gain", "of the", "smallest .. largest", "median")


def error_rows(table: Sequence[Mapping[str, Cell]]) -> Iterator[tuple[str, ...]]:
    """One row a cell."""
    for cell in (cell for cells in table for cell in cells.values()):
        snr = cell.range.snr_db.get(cell.variant)
        yield (
            str(cell.range), cell.variant.upper(), cell.range.published[cell.variant], spread(cell.all("max_rel")),
            spread(cell.all("mean_rel")), spread(cell.all("max_ulp"), "{:.3g}".format),
            spread(cell.all("snr_db"), "{:.1f}".format) + (f" (published {snr})" if snr else ""),
            "yes" if cell.holds else "NO",
        )  # fmt: skip


def gain_rows(table: Sequence[Mapping[str, Cell]]) -> Iterator[tuple[str, ...]]:
    """One row a range, pair and metric."""
    for cells in table:
        where = str(next(iter(cells.values())).range)
        for pair, metric, ratios in gains(cells):
            text = "{:,.1f}".format if max(ratios) < 100 else "{:,.0f}".format
            yield where, pair, f"{metric} error", spread(ratios, text), text(statistics.median(ratios))


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a page."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def aligned(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a terminal."""
    lines = [headings, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def document(table: Sequence[Mapping[str, Cell]], seeds: int) -> dict[str, object]:
    """Everything measured, as JSON."""
    cells = [dataclasses.asdict(cell) | {"holds": cell.holds} for row in table for cell in row.values()]
    found = [
        {"range": str(next(iter(row.values())).range), "gain": pair, "of": metric, "ratios": ratios}
        for row in table
        for pair, metric, ratios in gains(row)
    ]
    return {"schema": "precdiff.pow-table/1", "points": POINTS, "seeds": seeds, "cells": cells, "gains": found}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description="Measure the Pow table again.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--markdown", action="store_true", help="tables for a page")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    given = parser.parse_args()
    table = [measure(row, range(given.seeds)) for row in RANGES]
    show = markdown if given.markdown else aligned
    print(show(HEADINGS, list(error_rows(table))), end="\n\n")
    print(show(GAIN_HEADINGS, list(gain_rows(table))))
    if given.json:
        given.json.write_text(json.dumps(document(table, given.seeds), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
