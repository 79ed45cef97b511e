"""The Report of a device's outputs alone: judged by the reference of its kernel, held against the emulated run.

The steps between are the emulation's. Where bits differ, explain names the configuration that gives them, or the
departure (diagnose/reproduction.py); what the kernel itself does wrong follows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.comparison import overall
from precdiff.diagnose.configurations import Configuration, configurations
from precdiff.diagnose.finding import Finding
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.noise import applies, noise_verdict
from precdiff.diagnose.reproduction import explain_device
from precdiff.diagnose.rules.nondeterminism import repeated
from precdiff.diagnose.settings import Settings
from precdiff.errors import NotComparableError
from precdiff.formats import as_array, carrier, format_of, to_bits
from precdiff.kernels import Run
from precdiff.report.judged import findings_of, judged_report
from precdiff.report.report import Report

#: seconds for the search, where none are given
BUDGET = 60.0


def bare_report(array: Any, declared: Run, settings: Settings, layer: str | None = None) -> Report:
    """Judge the array as the one output of `declared`, or a mapping of arrays as its outputs."""
    run = with_output(declared, array)
    return _of(judged_report(Judgement(run.trace, run.kernel, settings), _name(run), layer), declared, run)


def bare_explained(
    array: Any, declared: Run, settings: Settings, layer: str | None = None, budget: float | None = None,
    again: Sequence[Any] = (),
) -> Report:  # fmt: skip
    """Judge the array, and say what makes it other than the declared run; `again` are outputs of the same run repeated.

    Where those differ from each other no single departure gives the bits of all, and that comes first.
    """
    report = _explained(array, declared, settings, layer, budget)
    found = _repeated(declared, [array, *again], settings) if again else None
    return dataclasses.replace(report, findings=(found, *report.findings)) if found else report


def _repeated(declared: Run, arrays: Sequence[Any], settings: Settings) -> Finding | None:
    """The finding of runs that differ among each other."""
    if len(declared.trace.outputs) != 1:
        raise NotComparableError("runs again are compared for kernels of one output; leave `again` out")
    (id,) = declared.trace.outputs.values()
    outputs = [with_output(declared, array).trace.values[id] for array in arrays]
    return repeated(declared.trace, outputs, Judgement(declared.trace, declared.kernel, settings).totals[id].values)


def _explained(
    array: Any, declared: Run, settings: Settings, layer: str | None = None, budget: float | None = None
) -> Report:
    run, judgement = with_output(declared, array), Judgement(declared.trace, declared.kernel, settings)
    own = findings_of(judgement, budget)
    if not differing(declared, run):
        return _of(judged_report(judgement, _name(run), layer, own), declared, run)
    limit, begun = BUDGET if budget is None else budget, time.monotonic()
    actual = {id: run.trace.values[id] for id in run.trace.outputs.values()}
    others = configurations(declared.kernel, declared.trace, actual, limit / 2) if declared.kernel else []
    if others and not others[0].differing:
        other = Judgement(others[0].trace, declared.kernel, settings)
        report = judged_report(other, _name(run), layer, findings_of(other, budget))
        return _of(report, declared, run, reproduced_by=others[0].label)
    halfway = time.monotonic()
    findings = _distinct([*explain_device(declared.trace, actual, limit / 2), *own])
    longest = max(halfway - begun, time.monotonic() - halfway)
    report = judged_report(Judgement(run.trace, run.kernel, settings), _name(run), layer, findings)
    cut_off = f"{limit:g} s" if longest >= limit / 2 else ""
    return _of(report, declared, run, nearest_configuration=_said(others), search_cut_off=cut_off)


def _distinct(findings: list[Finding]) -> list[Finding]:
    """The findings without a second of the same cause at the same step."""
    return list({(made.cause, made.step): made for made in reversed(findings)}.values())[::-1]


def _said(others: list[Configuration]) -> str:
    """The nearest configuration in words."""
    if not others:
        return ""
    return f"{others[0].label}: {others[0].differing} of {others[0].elements} bit patterns differ"


def _name(run: Run) -> str:
    return f"output of {run.trace.kernel}"


def _of(report: Report, declared: Run, run: Run, **facts: str) -> Report:
    """The report of the outputs alone, with how they compare with the emulation."""
    outputs = [row for row in report.tensors if row.role == "output"]
    made = {**report.provenance, **_emulation(declared, run), **facts}
    return dataclasses.replace(
        report, tensors=outputs, provenance=made, envelope=None,
        verdict=overall(row.verdict for row in outputs), first_divergence=None,
    )  # fmt: skip


def differing(declared: Run, run: Run) -> int:
    """How many bit patterns of the outputs differ."""
    return sum(_differing(declared, run, id) for id in set(run.trace.outputs.values()))


def _differing(declared: Run, run: Run, id: str) -> int:
    one, other = (to_bits(made.trace.values[id], made.trace.formats[id]) for made in (declared, run))
    return int((one != other).sum())


def _emulation(declared: Run, run: Run) -> dict[str, Any]:
    """How the steps came about, how many elements the device gave otherwise, and whether another order explains it."""
    ids = [id for id in run.trace.outputs.values() if _differing(declared, run, id)]
    sums = [id for id in ids if applies(declared.trace.step(id))]
    return {
        "steps": f"emulated on {declared.trace.profile.name}",
        "differs_from_emulation": differing(declared, run),
        "noise": "; ".join(noise_verdict(declared.trace, id, run.trace.values[id]).line for id in sums),
    }


def with_output(run: Run, given: Any) -> Run:
    """The run with the array in place of its one output, or with the mapping's arrays in place of all its outputs."""
    outputs = run.trace.outputs
    arrays = given if isinstance(given, Mapping) else dict.fromkeys(outputs, given)
    if set(arrays) != set(outputs) or (len(outputs) != 1 and arrays is not given):
        found = f"a mapping of {', '.join(map(str, arrays)) or 'nothing'}" if arrays is given else "one array"
        raise NotComparableError(f"found {found}; the kernel gives {', '.join(outputs)}: pass a mapping of all of them")
    ids = list(outputs.values())
    if len(set(ids)) != len(ids):
        raise NotComparableError(f"of the outputs {', '.join(outputs)} two are the same tensor; return it once")
    values = {outputs[name]: _output(run, outputs[name], name, arrays[name]) for name in outputs}
    return dataclasses.replace(run, trace=dataclasses.replace(run.trace, values={**run.trace.values, **values}))


def _output(run: Run, id: str, name: str, array: Any) -> np.ndarray:
    """The array as the values of that output, whose format and shape it must have."""
    if id in run.trace.inputs.values():
        raise NotComparableError(f"nothing was computed: the kernel returns its input {id} as it came")
    given = as_array(array, "the output" if len(run.trace.outputs) == 1 else f"the output {name}")
    found, wanted = (format_of(given).name, given.shape), (run.trace.formats[id], run.trace.values[id].shape)
    if found != wanted:
        raise NotComparableError(
            f"found {found[0]} {found[1]}, the kernel gives {wanted[0]} {wanted[1]} on these inputs. "
            "Check --format, --set and the shapes."
        )
    return carrier(given)
