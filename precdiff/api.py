"""The functions a user meets (DESIGN 6): thin, typed, and the only place that joins all the parts.

They take names or objects, arrays or paths, and give Runs and Reports. Commands, assertions and pages call these.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from precdiff import formats, rounding
from precdiff.comparison import Expected, Identity, compare_tensor, pair, require_compared
from precdiff.device import DeviceProfile
from precdiff.diagnose import Finding, diagnose
from precdiff.diagnose.evaluation import EvaluatedStep, evaluated_steps
from precdiff.diagnose.judgement import Judgement, Settings
from precdiff.dump import Dump, DumpWriter, open_dump
from precdiff.errors import NotComparableError, PrecDiffError, UnknownNameError
from precdiff.formats import Format, format_of
from precdiff.kernels import Kernel, Run, get_kernel, run_kernel
from precdiff.kernels.expression import expression_kernel
from precdiff.report import Report
from precdiff.report.report import Candidate, Unmatched
from precdiff.trace import Change, Region, Trace
from precdiff.trace import replay as replay_trace

Source = Run | Trace | Dump | str | Path


def run(  # noqa: PLR0913 - the keywords of DESIGN 6
    kernel: Any, *, profile: str | DeviceProfile = "ieee", format: str | Format | None = None,
    inputs: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None,
    dump: str | Path | None = None, **more: Any,
) -> Run:  # fmt: skip
    """Run a kernel on an emulated device.

    `kernel` is a registered name, `file.py:function` or a function; `inputs` map its arguments to arrays; keyword
    options go to the kernel. `dump` writes every step's tensor to an HDF5 file while it runs.

    >>> import numpy as np
    >>> run("softmax", format="fp16", inputs={"x": np.zeros((1, 4), np.float16)}).outputs["out"].tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    settings = {**(options or {}), **more}
    if dump is None:
        return run_kernel(kernel, inputs or {}, profile=profile, format=format, options=settings, seed=seed)
    with DumpWriter(dump) as writer:
        made = run_kernel(
            kernel, inputs or {}, profile=profile, format=format, options=settings, seed=seed, sink=writer.sink
        )
        writer.finish(made.trace)
    return made


def compare(  # noqa: PLR0913 - the keywords of DESIGN 5
    actual: Any, expected: Any = None, *, standard: str = "auto", max_ulp: float | None = None,
    rtol: float | None = None, atol: float | None = None, zero_atol: float = 0.0, layer: str | None = None,
    backend: str = "auto",
) -> Report:  # fmt: skip
    """Judge `actual`: a Run or dump against the certified reference, or against `expected` (Run, dump, array).

    `standard` auto | ulp | allclose | bitwise; `layer` is a glob on layer names; `backend` mpmath forces mpmath.
    """
    settings = Settings(standard, max_ulp, rtol, atol, zero_atol, backend)
    if expected is not None:
        return _against(actual, expected, settings, layer)
    judgement, name = _judgement(actual, settings)
    return _report(judgement, name, layer)


def explain(
    actual: Any, expected: Any = None, *, budget: float | None = None, layer: str | None = None, **settings: Any
) -> Report:
    """As `compare` without `expected`, and why: findings with proof. `budget` limits the proofs, in seconds."""
    if expected is not None:
        return compare(actual, expected, layer=layer, **settings)
    judgement, name = _judgement(actual, Settings(**settings))
    findings = _findings(judgement, budget)
    return _report(judgement, name, layer, findings)


def _findings(judgement: Judgement, budget: float | None = None) -> list[Finding]:
    """The findings of every problem, the first problem's first."""
    limit = float("inf") if budget is None else budget
    return [
        finding
        for problem in judgement.problems
        for finding in diagnose(problem, *_references(judgement, problem.trace), budget=limit)
    ]


def _references(judgement: Judgement, trace: Trace) -> tuple[Any, Any]:
    return (judgement.totals, judgement.locals_) if trace is judgement.trace else (None, None)


@dataclass(frozen=True)
class Evaluation:
    """An expression at a point: its steps, its result, and the Report with the cause."""

    expression: str
    inputs: Mapping[str, float]
    format: str
    rows: Sequence[EvaluatedStep]
    report: Report

    def to_json(self) -> dict[str, Any]:
        """The document `precdiff.eval/1`."""
        return {
            "schema": "precdiff.eval/1",
            "expression": self.expression,
            "format": self.format,
            "inputs": dict(self.inputs),
            "steps": [row.to_json() for row in self.rows],
            "report": self.report.to_json(),
        }


def evaluate(
    expression: str, values: Mapping[str, str | float], *, format: str = "fp16", profile: str | DeviceProfile = "ieee",
    **settings: Any,
) -> Evaluation:  # fmt: skip
    """Evaluate arithmetic at a point, step by step; inputs are decimals or hex floats, rounded once to `format`.

    >>> evaluate("(x+1)-x", {"x": "4096"}, format="fp16").rows[-1].exact
    '1.0'
    """
    kernel = expression_kernel(expression)
    row = formats.get_format(format)
    inputs = {name: np.asarray(_number(name, value, row), row.carrier) for name, value in values.items()}
    made = run_kernel(kernel, inputs, profile=profile, format=row)
    judgement = Judgement(made.trace, kernel, Settings(**settings))
    report = _report(judgement, expression, None, _findings(judgement))
    return Evaluation(
        expression, {n: float(v) for n, v in inputs.items()}, row.name, evaluated_steps(judgement), report
    )


def _number(name: str, value: str | float, format: Format) -> float:
    try:
        exact = Fraction(value) if not isinstance(value, str) else _from_text(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise PrecDiffError(f"{name}={value}: not a number; allowed are decimals, hex floats, inf and nan") from None
    return rounding.round_exact(exact, rounding.Rounding(format))


def _from_text(text: str) -> Fraction | float:
    lowered = text.strip().lower()
    if "0x" in lowered or lowered.lstrip("+-") in ("inf", "infinity", "nan"):
        return float.fromhex(lowered) if "0x" in lowered else float(lowered)
    return -0.0 if lowered.startswith("-") and Fraction(lowered) == 0 else Fraction(lowered)


def replay(trace: Trace, changes: Mapping[str | Region, Change]) -> Run:
    """Run a trace again with some steps changed, and everything downstream."""
    return Run(replay_trace(trace, changes))


def round_array(
    x: Any, format: str, direction: str = "nearest-even", overflow: str = "ieee", subnormals: str = "keep",
    rng: np.random.Generator | None = None,
) -> np.ndarray:  # fmt: skip
    """x (float32 or float64) rounded once to `format`, in the ecosystem's dtype.

    >>> round_array([65520.0], "fp16").tolist()
    [inf]
    """
    chosen = rounding.Rounding(format, direction, overflow, subnormals)  # type: ignore[arg-type]  # checked there
    return np.asarray(formats.native(rounding.round_array(np.asarray(x), chosen, rng), format))


def ulp_error(actual: Any, reference: Any, format: str) -> np.ndarray:
    """|actual - reference| in ulps of `format` at the reference (docs/definitions).

    >>> ulp_error([1.0], [1.0 + 2.0**-11], "fp16").tolist()
    [0.5]
    """
    return np.asarray(formats.ulp_error(np.asarray(actual), np.asarray(reference), format))


def ulp_distance(a: Any, b: Any, format: str) -> np.ndarray:
    """How many floats of `format` lie between a and b.

    >>> ulp_distance([1.0], [1.0009765625], "fp16").tolist()
    [1]
    """
    return np.asarray(formats.ulp_distance(np.asarray(a), np.asarray(b), format))


def _judgement(actual: Any, settings: Settings) -> tuple[Judgement, str]:
    trace, kernel, name = _source(actual)
    return Judgement(trace, kernel, settings), name


def _source(actual: Any) -> tuple[Trace, Kernel | None, str]:
    if isinstance(actual, Run):
        return actual.trace, actual.kernel or _known(actual.trace.kernel), f"run of {actual.trace.kernel}"
    if isinstance(actual, Trace):
        return actual, _known(actual.kernel), f"trace of {actual.kernel}"
    if isinstance(actual, Dump):
        return actual.trace(), _known(actual.trace().kernel), str(actual.path)
    if isinstance(actual, str | Path):
        trace = open_dump(actual).trace()
        return trace, _known(trace.kernel), str(actual)
    raise NotComparableError(
        f"there is no reference for {type(actual).__name__}: pass `expected`, or a Run or dump, whose steps are known"
    )


def _known(name: str) -> Kernel | None:
    """The kernel a trace names, where it can still be found; a file that is gone costs its limit and reference."""
    try:
        return get_kernel(name)
    except (PrecDiffError, UnknownNameError):
        return None


def _report(judgement: Judgement, name: str, layer: str | None, findings: Any = ()) -> Report:
    rows = [c.row for c in judgement.steps.values()] + [c.row for c in judgement.outputs.values()]
    kept = [r for r in rows if layer is None or fnmatch.fnmatch(r.layer, layer)]
    if not kept:
        raise NotComparableError(f"no layer matches {layer!r}; there are {', '.join(sorted({r.layer for r in rows}))}")
    envelope = [Candidate(p, v) for p, v in judgement.candidates]  # type: ignore[arg-type]  # a Verdict
    report = Report.of(
        kept, standard=judgement.settings.standard, rule=_rule(judgement), envelope=envelope or None, actual=name,
        expected="reference", first_divergence=judgement.first_divergence, findings=tuple(findings),
        provenance=provenance(judgement),
    )  # fmt: skip
    if envelope and len({report.verdict, *(c.verdict for c in envelope)}) > 1:
        return _with_verdict(report, "undecided")
    return report


def _with_verdict(report: Report, verdict: Any) -> Report:
    return dataclasses.replace(report, verdict=verdict)


def _rule(judgement: Judgement) -> str:
    return f"steps: local error within the op's bound; outputs: {judgement.limit}"


def provenance(judgement: Judgement) -> dict[str, Any]:
    """What made the report: kernel, profile, options, versions."""
    trace = judgement.trace
    return {
        "kernel": trace.kernel, "profile": trace.profile.name, "options": trace.options, "seed": trace.seed,
        "formats": {name: trace.formats[id] for name, id in trace.inputs.items()},
        "shapes": {name: list(trace.values[id].shape) for name, id in trace.inputs.items()},
        "kernel_found": judgement.kernel is not None, "backend": judgement.settings.backend, **versions(),
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of PrecDiff, Python and the libraries whose results count."""
    names = ("precdiff", "numpy", "mpmath", "python-flint", "h5py", "ml_dtypes")
    return {"python": platform.python_version(), **{n: _version(n) for n in names}}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _against(actual: Any, expected: Any, settings: Settings, layer: str | None) -> Report:
    """Compare values with values: arrays, or two runs or dumps tensor by tensor."""
    mine, theirs = _tensors(actual), _tensors(expected)
    pairing = pair(mine, theirs)
    rows = []
    for found in pairing.pairs:
        identity, values, format = found.actual
        if layer is not None and not fnmatch.fnmatch(identity.layer, layer):
            continue
        rows.append(_values_row(found, identity, values, format, settings))
    require_compared(rows)
    return Report.of(
        rows, standard=settings.standard, actual=_shown(actual), expected=_shown(expected),
        unmatched=Unmatched(pairing.unmatched_actual, pairing.unmatched_expected), provenance=versions(),
    )  # fmt: skip


def _values_row(found: Any, identity: Identity, values: np.ndarray, format: Format, settings: Settings) -> Any:
    _, wanted, wanted_format = found.expected
    same = wanted_format == format
    against = Expected.array(wanted, format) if same else Expected.reals(wanted)
    limits = settings.limits(role=identity.role)
    placed = dataclasses.replace(identity, paired_by=found.paired_by)
    return compare_tensor(values, against, format, settings.standard, limits, placed).row


def _tensors(source: Any) -> dict[str, tuple[Identity, np.ndarray, Format]]:
    """The named tensors of an array, mapping, Run or dump."""
    if isinstance(source, Mapping):
        return {name: _array(name, value) for name, value in source.items()}
    if isinstance(source, Run | Trace | Dump | Path) or (isinstance(source, str) and not source.endswith(".npy")):
        trace = _source(source)[0]
        return {s.id: _step(trace, s) for s in trace.steps if s.op != "constant"}
    value = np.load(source, allow_pickle=False) if isinstance(source, str) else source
    return {"array": _array("array", value)}


def _array(name: str, value: Any) -> tuple[Identity, np.ndarray, Format]:
    array = np.asarray(value)
    format = format_of(array) if array.dtype != np.dtype(object) else formats.get_format("fp64")
    values = array if array.dtype == np.dtype(object) else formats.carrier(array)
    return Identity(id=name, name=name), values, format


def _step(trace: Trace, step: Any) -> tuple[Identity, np.ndarray, Format]:
    role = "output" if step.id in trace.outputs.values() else "intermediate"
    identity = Identity(
        id=step.id, name=step.source.name or step.id, layer=step.layer, op=step.op, source=str(step.source),
        phase=step.phase, role=role,
    )  # fmt: skip
    return identity, trace.values[step.id], formats.get_format(step.format)


def _shown(source: Any) -> str:
    if isinstance(source, str | Path):
        return str(source)
    return f"run of {source.trace.kernel}" if isinstance(source, Run) else type(source).__name__
