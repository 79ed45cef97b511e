"""The functions a user meets (DESIGN 6): thin, typed, and the only place that joins all the parts.

They take names or objects, arrays or paths, and give Runs and Reports. Commands, assertions and pages call these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from precdiff import formats, rounding
from precdiff.device import DeviceProfile
from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.recorded.repro import write_repro
from precdiff.diagnose.rules.input_quantisation import quantised
from precdiff.diagnose.settings import Settings
from precdiff.diagnose.survey import StepEvidence
from precdiff.diagnose.survey import survey as _survey
from precdiff.dump import Dump, DumpWriter
from precdiff.dump import open_dump as _open_dump
from precdiff.errors import FileError, NotComparableError, PrecDiffError, UnknownNameError
from precdiff.formats import Format
from precdiff.kernels import Run, run_kernel
from precdiff.ops.decisions import MAX_ITERATIONS
from precdiff.report.bare import bare_explained, bare_report
from precdiff.report.evaluation import Evaluation, evaluation
from precdiff.report.judged import expectation_findings, findings_of, judged_report, versions
from precdiff.report.members import members, pairing_document, recorded_sides
from precdiff.report.recorded import recorded_report
from precdiff.report.report import Report
from precdiff.report.sources import incomplete, opened, peers, traced
from precdiff.report.values import values_report
from precdiff.trace import Change, Region, Trace
from precdiff.trace import replay as _replay

__all__ = [
    "Evaluation",
    "compare",
    "evaluate",
    "explain",
    "open_dump",
    "pairing",
    "replay",
    "repro",
    "round_array",
    "run",
    "ulp_distance",
    "ulp_error",
    "versions",
]


def run(  # noqa: PLR0913 - the keywords of DESIGN 6
    kernel: Any,
    *,
    profile: str | DeviceProfile = "ieee",
    format: str | Format | None = None,
    inputs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dump: str | Path | None = None,
    max_iterations: int = MAX_ITERATIONS,
    **more: Any,
) -> Run:
    """Run a kernel on an emulated device.

    `kernel` is a registered name, `file.py:function` or a function; `inputs` map its arguments to arrays; keyword
    options go to the kernel. `dump` writes every step's tensor to an HDF5 file while it runs.

    >>> import numpy as np
    >>> run("softmax", format="fp16", inputs={"x": np.zeros((1, 4), np.float16)}).outputs["out"].tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    how: dict[str, Any] = {
        "profile": profile,
        "format": format,
        "options": {**(options or {}), **more},
        "seed": seed,
        "max_iterations": max_iterations,
    }
    if dump is None:
        return run_kernel(kernel, inputs or {}, **how)
    with DumpWriter(dump) as writer:
        made = run_kernel(kernel, inputs or {}, **how, sink=writer.sink)
        writer.finish(made.trace)
    return made


def compare(
    actual: Any, expected: Any = None, *, declared: Run | None = None, layer: str | None = None,
    mapping: str | Path | None = None, **settings: Any,
) -> Report:  # fmt: skip
    """Judge `actual`: a Run or dump against the certified reference, or against `expected` (Run, dump, arrays).

    Settings: `standard` (`precdiff list standards`), `max_ulp`, `rtol`, `atol`, `zero_atol`, `allow_fraction`, `op`,
    `peer` (what a peer gave in place of `actual`), `runs`, `backend` auto | mpmath, `tensor_limits`
    (TensorLimit rows). `layer` is a glob on layer names.
    With `declared`, a Run, `actual` is what a device gave for its output, or a mapping of its outputs.
    Dumps of other programs are judged call by call, `expected` or not; `mapping` is a file of rules (docs/dumps.md).

    >>> import numpy as np
    >>> compare(np.float16([1.0]), np.float16([1.01])).tensors[0].max_ulp
    10.0
    """
    chosen = settings_of(settings)
    if declared is not None:
        _one_side(expected)
        return bare_report(actual, declared, chosen, layer)
    with recorded_sides(actual, expected, mapping) as sides:
        if sides is not None:
            return recorded_report(sides, chosen, layer)
    if expected is not None:
        return values_report(actual, expected, chosen, layer)
    judgement, name, reason = _judgement(actual, chosen)
    return judged_report(judgement, name, layer, incomplete=reason)


def explain(  # noqa: PLR0913 - each says one more thing that is known of `actual`
    actual: Any, expected: Any = None, *, declared: Run | None = None, budget: float | None = None,
    layer: str | None = None, unrounded: Mapping[str, Any] | None = None, again: Sequence[Any] = (),
    mapping: str | Path | None = None, **settings: Any,
) -> Report:  # fmt: skip
    """Judge as `compare` does, and say why: findings with proof. `budget` limits the proofs, in seconds a problem.

    `unrounded` maps inputs to the fp64 values they were rounded from: where those account for the error, no step does.
    With `declared`, a Run, `actual` is what a device gave for its output: what gives its bits is sought; `again` are
    its outputs when it ran again on the same inputs.
    """
    chosen = settings_of(settings)
    if again and declared is None:
        raise PrecDiffError("again goes with declared, the run whose output `actual` and `again` are")
    if declared is not None:
        _one_side(expected)
        return bare_explained(actual, declared, chosen, layer, budget, again)
    with recorded_sides(actual, expected, mapping) as sides:
        if sides is not None:
            return recorded_report(sides, chosen, layer, budget=60.0 if budget is None else budget, explain=True)
    if expected is not None:
        report = values_report(actual, expected, chosen, layer)
        return dataclasses.replace(report, findings=tuple(expectation_findings(actual, expected)))
    judgement, name, reason = _judgement(actual, chosen)
    blamed = quantised(judgement.trace, unrounded, judgement.limit.size) if unrounded else []
    return judged_report(judgement, name, layer, [*blamed, *findings_of(judgement, budget)], reason)


def pairing(actual: Any, expected: Any, mapping: str | Path | None = None) -> dict[str, Any]:
    """Which tensors of two dumps of other programs `compare` would pair, and how: the document of `--dry-run`."""
    with recorded_sides(actual, expected, mapping) as sides:
        if sides is None or sides.expected is None:
            raise NotComparableError("the pairing is that of two dumps, one of them of another program")
        return pairing_document(members(sides), sides.names)


def repro(actual: Any, name: str, folder: str | Path) -> Path:
    """Write one call of a dump of another program into `folder`, with a script that runs it again (docs/dumps.md).

    `name` is a step, a tensor it made or read, or a layer, whose last call it is then.
    """
    with recorded_sides(actual, None) as sides:
        if sides is None:
            raise NotComparableError("repro goes with a dump of another program; a run of PrecDiff replays by itself")
        return write_repro(members(sides).members[0].actual, name, folder)


def survey(actual: Any, **settings: Any) -> list[StepEvidence]:
    """The evidence of every step of a Run or a dump: errors, share, condition number, range margins, grid.

    >>> import numpy as np
    >>> made = run("pow", format="fp16", inputs={"x": np.array([3.0]), "y": np.array([2.5])})
    >>> [row.op for row in survey(made) if row.local][:3]
    ['log', 'mul', 'exp']
    """
    judgement, _, _ = _judgement(actual, settings_of(settings))
    return list(_survey(judgement))


def evaluate(
    expression: str,
    values: Mapping[str, str | float],
    *,
    format: str = "fp16",
    profile: str | DeviceProfile = "ieee",
    max_iterations: int | None = None,
    **settings: Any,
) -> Evaluation:
    """Evaluate arithmetic at a point, step by step; inputs are decimals or hex floats, rounded once to `format`.

    >>> evaluate("(x+1)-x", {"x": "4096"}, format="fp16").rows[-1].exact
    '1.0'
    """
    chosen, limit = formats.get_format(format), max_iterations or MAX_ITERATIONS
    return evaluation(expression, values, chosen, profile, settings_of(settings), limit)


def open_dump(path: str | Path) -> Dump:
    """Open a dump with whatever reader knows it."""
    if not isinstance(path, str | Path):
        raise FileError(f"open_dump: found {type(path).__name__}; allowed is the path of a dump")
    return _open_dump(path)


def replay(trace: Trace, changes: Mapping[str | Region, Change]) -> Run:
    """Run a trace again with some steps changed, and everything downstream."""
    return Run(_replay(trace, changes))


def round_array(
    x: Any, format: str, direction: str = "nearest-even", overflow: str = "ieee", subnormals: str = "keep"
) -> np.ndarray:
    """x (float32 or float64) rounded once to `format`, in the ecosystem's dtype.

    >>> round_array([65520.0], "fp16").tolist()
    [inf]
    """
    chosen = rounding.Rounding(format, direction, overflow, subnormals)  # type: ignore[arg-type]  # checked there
    return np.asarray(formats.native(rounding.round_array(formats.as_array(x, "x"), chosen), format))


def ulp_error(actual: Any, reference: Any, format: str) -> np.ndarray:
    """|actual - reference| in ulps of `format` at the reference (docs/definitions), which may be a pair (hi, lo).

    >>> ulp_error([1.0], [1.0 + 2.0**-11], "fp16").tolist()
    [0.5]
    """
    exact = reference if isinstance(reference, tuple) else formats.as_array(reference, "reference")
    return np.asarray(formats.ulp_error(formats.as_array(actual, "actual"), exact, format))


def ulp_distance(a: Any, b: Any, format: str) -> np.ndarray:
    """How many floats of `format` lie between a and b.

    >>> ulp_distance([1.0], [1.0009765625], "fp16").tolist()
    [1]
    """
    return np.asarray(formats.ulp_distance(formats.as_array(a, "a"), formats.as_array(b, "b"), format))


def _judgement(actual: Any, settings: Settings) -> tuple[Judgement, str, str]:
    """The judgement, how to call what is judged, and why it is incomplete."""
    with opened(actual) as source:
        trace, kernel, name = traced(source)
        reason = incomplete(source)
    return Judgement(trace, kernel, settings), name, reason


def _one_side(expected: Any) -> None:
    if expected is not None:
        raise PrecDiffError("expected and declared were both given; the reference of declared is what is expected")


def settings_of(given: Mapping[str, Any]) -> Settings:
    """The settings of `compare` and `explain` from keywords; an unknown one is an error that names the known."""
    known = {"peer", *(field.name for field in dataclasses.fields(Settings))} - {"peers"}
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise UnknownNameError("setting", unknown, [*sorted(known), "layer"])
    own = {name: value for name, value in given.items() if name != "peer"}
    return Settings(**own, peers=peers(given["peer"]) if given.get("peer") is not None else {})
