"""The pages: what lies in the folder, a run, one of its tensors; each also as JSON, at its address and `.json`."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, render_template, request, url_for
from werkzeug.exceptions import HTTPException

from precdiff import __version__
from precdiff.dump.decisions import ConflictError
from precdiff.errors import PrecDiffError
from precdiff.report import SCHEMA, Report, findings, limits, notable, pictures, rows
from precdiff.report.codec import encode

from .library import Entry
from .lookup import entry_of, library, tensor_of
from .reviewing import subject as subject_of

pages = Blueprint("pages", __name__)

#: orders of the tensor table a reviewer may ask for, beside the order of execution
ORDERS = {
    "max_ulp": "largest error",
    "over_limit": "elements over the limit",
    "unavoidable_ratio": "error / unavoidable",
}


@pages.get("/")
def index() -> str:
    """Show what lies in the folder."""
    found = [(entry, _stored(entry)) for entry in library().entries()]
    return render_template("index.html", found=found, root=library().root, rows=rows)


@pages.get("/index.json")
def index_json() -> Response:
    """The folder as JSON."""
    return jsonify({"schema": "precdiff.serve/1", "runs": [_index_row(entry) for entry in library().entries()]})


def _stored(entry: Entry) -> Report | str | None:
    """The report, why there is none, or None where it was not asked for yet."""
    try:
        return library().stored(entry)
    except PrecDiffError as error:
        return str(error)


def _index_row(entry: Entry) -> dict[str, Any]:
    report = _stored(entry)
    verdict = report.verdict if isinstance(report, Report) else None
    return {"id": entry.id, "name": entry.name, "kind": entry.kind, "bytes": entry.size, "verdict": verdict}


@pages.get("/runs/<id>")
def run(id: str) -> str:
    """Show a run: verdict, first divergence, tensors, findings with their proofs, worst elements."""
    entry = entry_of(id)
    report = library().report(entry)
    order = request.args.get("sort", "")
    order = order if order in ORDERS else ""
    return render_template(
        "run.html",
        entry=entry,
        report=report,
        tensors=_ordered(report, order),
        notable=notable.notable(report),
        links=lambda numbered: [url_for("pages.tensor", id=id, number=number) for number, _ in numbered],
        orders=ORDERS,
        order=order,
        subject=notable.subject(report),
        **_MAKERS,
    )


def _ordered(report: Report, order: str) -> list[tuple[int, Any]]:
    """Tensors with their numbers, in execution order or the largest of a figure first; NaN last."""
    numbered = list(enumerate(report.tensors))
    if order not in ORDERS:
        return numbered
    return sorted(numbered, key=lambda row: -_known(getattr(row[1], order)))


def _known(x: float) -> float:
    return x if x == x else float("-inf")


@pages.get("/runs/<id>.json")
def run_json(id: str) -> Response:
    """The report as it is (precdiff.report/1)."""
    return jsonify(library().report(entry_of(id)).to_json())


@pages.get("/runs/<id>/tensors/<int:number>")
def tensor(id: str, number: int) -> str:
    """Show every figure of one tensor."""
    entry = entry_of(id)
    report = library().report(entry)
    return render_template(
        "tensor.html", entry=entry, report=report, number=number, tensor=tensor_of(report, number),
        decision=subject_of(id, number).shown(), **_MAKERS,
    )  # fmt: skip


@pages.get("/runs/<id>/tensors/<int:number>.json")
def tensor_json(id: str, number: int) -> Response:
    """The row of one tensor."""
    return jsonify(encode(tensor_of(library().report(entry_of(id)), number)))


@pages.get("/-/health")
@pages.get("/-/health.json")
def health() -> Response:
    """Say that the pages are served."""
    return jsonify({"status": "ok"})


@pages.get("/-/versions")
@pages.get("/-/versions.json")
def versions() -> Response:
    """Versions of the program and of the documents it reads."""
    return jsonify({"precdiff": __version__, "report": SCHEMA})


_MAKERS = {"rows": rows, "limits": limits, "findings": findings, "pictures": pictures}


@pages.app_errorhandler(ConflictError)
def overtaken(error: ConflictError) -> tuple[Any, int]:
    """Somebody decided meanwhile."""
    return _failure(409, "Somebody was faster", str(error))


@pages.app_errorhandler(PrecDiffError)
def refused(error: PrecDiffError) -> tuple[Any, int]:
    """What was wrong with a file, in its own words."""
    return _failure(422, "This cannot be shown", str(error))


@pages.app_errorhandler(HTTPException)
def failed(error: HTTPException) -> tuple[Any, int]:
    """A wrong address or a refused request."""
    return _failure(error.code or 500, error.name, str(error.description))


def _failure(code: int, title: str, why: str) -> tuple[Any, int]:
    if request.path.endswith(".json"):
        return jsonify({"error": title, "why": why}), code
    return render_template("error.html", title=title, why=why), code


@pages.app_context_processor
def _frame() -> dict[str, str]:
    """What every page's footer says."""
    return {"version": __version__, "schema": SCHEMA}
