"""What a report says, as sentences, facts and tables of text: the one source of every number that is shown.

Terminal and assertion (text.py) and the pages (web) lay these out; none of them formats a number itself. A fact is a
label and its text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from precdiff.comparison import TensorComparison, Worst, worst_ulp
from precdiff.report import numbers
from precdiff.report.devices import device
from precdiff.report.foreign import recorded, some
from precdiff.report.notable import subject, waived
from precdiff.report.regression import facts as baseline_facts
from precdiff.report.report import Report
from precdiff.report.table import Column, Table
from precdiff.report.terms import envelope, terms, waived_by

Facts: TypeAlias = list[tuple[str, str]]

VERDICTS = {"pass": "PASS", "fail": "FAIL", "undecided": "UNDECIDED", "not_compared": "NOT COMPARED"}


def name_of(tensor: TensorComparison) -> str:
    """What a tensor is called."""
    return tensor.name or tensor.id or "tensor"


def verdict_line(report: Report) -> str:
    """The verdict with what it rests on: how many tensors, the worst, by how much."""
    tensor, total = subject(report), len(report.tensors)
    stated = VERDICTS[report.verdict] + ("" if not incomplete(report) else f": {incomplete(report)}")
    let_off = len(waived(report))
    if let_off:
        stated += f", {let_off} waived" + (" (does not pass)" if let_off == 1 else " (do not pass)")
    if tensor is None:
        return f"{stated}: no tensor was compared"
    about_waived = let_off > 0 and report.verdict == "pass"
    alike = let_off if about_waived else sum(row.verdict == report.verdict for row in report.tensors)
    among = "" if total == 1 or not alike else f"{alike} of {total} tensors; "
    return f"{stated}: {among}{name_of(tensor)} ({described(tensor)}): {largest(tensor)}; {tensor.rule}"


def incomplete(report: Report) -> str:
    """Why a dump does not hold all of its run; empty where it does."""
    reason = report.provenance.get("incomplete_because")
    return f"incomplete: {reason}" if reason else ""


def described(tensor: TensorComparison) -> str:
    """Format and size of a tensor."""
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    return f"{tensor.format} {shape}"


def largest(tensor: TensorComparison) -> str:
    """The largest errors of a tensor, in ULP, absolute and relative."""
    if tensor.verdict == "not_compared":
        return _not_compared(tensor)
    if math.isnan(tensor.max_ulp) and not tensor.compared:
        return "no values"
    absolute, relative = numbers.error(tensor.max_abs), numbers.error(tensor.max_rel)
    return f"worst {numbers.error(worst_ulp(tensor))} ULP, abs {absolute}, rel {relative}"


def _not_compared(tensor: TensorComparison) -> str:
    """Why a tensor was not compared; where its standard has no limit the rule says so."""
    if not tensor.compared:
        return "nothing to compare"
    return "nothing but NaN on both sides" if tensor.compared == _count(tensor, "nan_pairs") else "no limit"


def over_limit(tensor: TensorComparison) -> str:
    """How many elements are beyond the limit, and what was let off or left open."""
    stated = f"{tensor.over_limit} of {tensor.compared} elements ({numbers.share(tensor.over_limit, tensor.compared)})"
    if tensor.excused:
        stated += f", {tensor.excused} excused (largest {numbers.error(tensor.extra.get('excused_max_ulp'))} ULP)"
    if tensor.extra.get("nan_pairs"):
        stated += f", {_count(tensor, 'nan_pairs')} NaN on both sides (no error)"
    if tensor.extra.get("undecided"):
        stated += f", {_count(tensor, 'undecided')} undecided within the reference's radius"
    return stated


def mismatches(tensor: TensorComparison) -> str:
    """NaN, infinity and sign mismatches, each by itself."""
    kinds = (("NaN", "nan_mismatched"), ("Inf", "inf_mismatched"), ("sign", "sign_mismatched"))
    return ", ".join(f"{kind} {_count(tensor, key)}" for kind, key in kinds)


def _count(tensor: TensorComparison, key: str) -> int:
    return int(tensor.extra.get(key, 0))


def divergence(report: Report) -> str:
    """Where the numbers first left the truth, as a sentence."""
    if report.first_divergence is None:
        return "none found" if report.verdict == "fail" else "none"
    tensor = report.tensor(report.first_divergence)
    if tensor is None:
        return report.first_divergence
    where = f"{name_of(tensor)}{_at(tensor.source)}"
    layer = f", layer {tensor.layer}" if tensor.layer else ""
    if tensor.verdict == "fail":
        return f"{where}{layer}: {numbers.error(worst_ulp(tensor))} ULP, {tensor.rule}"
    return f"{where}{layer}: no step breaks its bound; most of the output's error is born here"


def _at(source: str) -> str:
    return f" ({source})" if source else ""


def summary(report: Report) -> Facts:
    """The facts on top of every report."""
    facts = [
        ("actual", report.actual),
        ("expected", report.expected),
        ("standard", f"{report.standard}: {report.rule}"),
    ]
    facts.append(("first divergence", divergence(report)))
    for label, names in (("only in actual", report.unmatched.actual), ("only in expected", report.unmatched.expected)):
        facts += [(label, some(names))] if names else []
    facts += recorded(report)
    other = report.provenance.get("decided_otherwise")
    facts += [("path", f"the reference decides otherwise, or cannot decide, at {', '.join(other)}")] if other else []
    facts += [*device(report), *terms(report), *baseline_facts(report)]
    return facts + ([("envelope", envelope(report))] if report.envelope else [])


TENSOR_COLUMNS = (
    Column("tensor"),
    Column("step", spare=3),
    Column("layer", spare=4),
    Column("op", spare=8),
    Column("format", spare=7),
    Column("verdict"),
    Column("max ULP", "right"),
    Column("p99 ULP", "right", spare=3),
    Column("over limit", "right", spare=1),
    Column("local", "right", spare=2),
    Column("inherited", "right", spare=5),
    Column("error / unavoidable", "right", spare=6),
    Column("source", spare=9),
)


def tensor_table(tensors: Sequence[TensorComparison]) -> Table:
    """One row a tensor, in execution order."""
    return Table(TENSOR_COLUMNS, [_tensor_row(tensor) for tensor in tensors])


def _tensor_row(tensor: TensorComparison) -> list[str]:
    step = tensor.id if tensor.id != tensor.name else "-"
    verdict = f"{tensor.verdict}, waived" if tensor.waived else tensor.verdict
    texts = [name_of(tensor), step, tensor.layer, tensor.op, tensor.format, verdict]
    errors = [tensor.max_ulp, tensor.p99_ulp]
    more = [tensor.errors.local, tensor.errors.inherited, tensor.unavoidable_ratio]
    figures = [*map(numbers.error, errors), str(tensor.over_limit), *map(numbers.error, more)]
    return [*texts, *figures, tensor.source]


WORST_COLUMNS = (
    Column("index"),
    Column("actual", "right"),
    Column("expected", "right"),
    Column("ULP", "right"),
    Column("bits", "right"),
)


def worst_table(tensor: TensorComparison, limit: int = 5) -> Table:
    """The worst elements, worst first."""
    return Table(WORST_COLUMNS, [_worst_row(tensor, row) for row in tensor.worst[:limit]])


def _worst_row(tensor: TensorComparison, row: Worst) -> list[str]:
    given = tensor.reference is not None and tensor.reference.status == "given"
    expected = numbers.value(row.expected, tensor.format, extra=0 if given else 3)
    actual = numbers.value(row.actual, tensor.format)
    return [numbers.index(row.index), actual, expected, numbers.error(row.ulp), row.actual_bits]


def distribution(tensor: TensorComparison) -> Facts:
    """The ULP errors in few classes by their upper edge (exact, <= 1/2, <= 1, <= 2, <= 4 ...), and their counts."""
    classes: dict[str, int] = {}
    for edge, count in tensor.ulp_histogram:
        classes[_class(edge)] = classes.get(_class(edge), 0) + count
    return [(name, str(count)) for name, count in classes.items()]


def _class(edge: float) -> str:
    if edge <= 0.5:
        return "<= 1/2" if edge > 0.0 else "exact"
    top = 1.0
    while top < edge:
        top *= 2.0
    return "inf" if top == float("inf") else f"<= {top:.4g}"


def histogram_table(tensor: TensorComparison) -> Table:
    """Every class of the histogram with its upper edge, count and share."""
    rows = [[numbers.error(edge), str(n), numbers.share(n, tensor.compared)] for edge, n in tensor.ulp_histogram]
    return Table((Column("ULP up to", "right"), Column("elements", "right"), Column("share", "right")), rows)


def facts(tensor: TensorComparison) -> Facts:
    """Every figure of a tensor."""
    error = numbers.error
    found = [
        ("rule", tensor.rule),
        ("over limit", over_limit(tensor)),
        ("mismatched", mismatches(tensor)),
        ("max ULP", error(tensor.max_ulp)),
        ("mean ULP", f"{error(tensor.mean_ulp)} (signed {error(tensor.mean_signed_ulp)})"),
        ("median, p99 ULP", f"{error(tensor.p50_ulp)}, {error(tensor.p99_ulp)}"),
        ("error / unavoidable", error(tensor.unavoidable_ratio)),
        ("max abs, max rel", f"{error(tensor.max_abs)}, {error(tensor.max_rel)}"),
        ("rmse", error(tensor.rmse)),
        ("SNR", f"{error(tensor.snr_db)} dB, {error(tensor.snr_loss_db)} dB lost"),
        ("cosine", f"{tensor.cosine:.8f}"),
    ]
    kinds = ("total", "storage", "local", "inherited")
    found += [("waived", waived_by(tensor))] if tensor.waived else []
    known = [(kind, getattr(tensor.errors, kind)) for kind in kinds]
    found += [(f"{kind} error", f"{error(value)} ULP") for kind, value in known if value is not None]
    return found + ([("reference", _reference(tensor))] if tensor.reference else [])


def _reference(tensor: TensorComparison) -> str:
    info = tensor.reference
    assert info is not None
    if info.status == "given":
        return f"{info.backend}, given"
    radius = f"radius <= {numbers.error(info.max_radius_ulp)} ULP"
    return f"{info.backend}, {info.bits} bits, {info.status}, {radius}, {info.spot_checked} spot checks"


def plain(value: Any) -> str:
    """Free-form data (evidence, changes) as short text."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return numbers.error(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(
            f"({plain(item)})" if isinstance(item, list | tuple | Mapping) else plain(item) for item in value
        )
    return str(value)


def place(tensor: TensorComparison) -> Facts:
    """Where a tensor stands in its run; what is not known is left out."""
    named = [("layer", tensor.layer), ("op", tensor.op), ("source", tensor.source), ("phase", tensor.phase)]
    named += [("role", tensor.role), ("paired by", tensor.paired_by), ("sha256", tensor.sha256)]
    numbered = [("iteration", tensor.iteration), ("rank", tensor.rank)]
    return [row for row in named if row[1]] + [(label, str(n)) for label, n in numbered if n is not None]


def provenance(report: Report) -> Facts:
    """What made the report."""
    return [(key.replace("_", " "), plain(value)) for key, value in report.provenance.items()]
