"""What a reviewer decides on a tensor of a run: shown, taken and undone.

Decisions lie in the store at the root of the folder (precdiff/dump/decisions.py), which `compare` reads as well. A form
names the newest decision its page had shown; where somebody was faster, nothing is kept and the page says who.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Blueprint, jsonify, redirect, request, url_for
from werkzeug.wrappers import Response

from precdiff.comparison import TensorComparison
from precdiff.dump.decision import Decision, write
from precdiff.dump.decisions import Decisions
from precdiff.errors import PrecDiffError
from precdiff.report import Report
from precdiff.report.agreements import key_of

from .library import Entry
from .lookup import entry_of, library, tensor_of

reviewing = Blueprint("reviewing", __name__)

RULINGS = {"accept": "accept", "reject": "reject", "needs_work": "needs work"}


class Subject:
    """The tensor that is decided upon, and the store."""

    def __init__(self, entry: Entry, report: Report, tensor: TensorComparison) -> None:
        self.store = Decisions(library().root)
        self.run, self.name, self.tensor = self.store.run_of(_dump(entry, report)), key_of(tensor), tensor

    @property
    def history(self) -> list[Decision]:
        """All decisions on it, the oldest first."""
        return self.store.history("tensor", self.run, self.name)

    @property
    def standing(self) -> Decision | None:
        """What stands."""
        return next(iter(self.store.standing("tensor", self.run, self.name)), None)

    def shown(self) -> dict[str, Any]:
        """What the page needs."""
        history, stands = self.history, self.standing
        return {
            "history": history, "stands": stands, "seen": history[-1].key if history else "", "rulings": RULINGS,
            "holds": stands is not None and stands.holds(self.tensor.sha256, datetime.now(UTC).date()),
        }  # fmt: skip


def _dump(entry: Entry, report: Report) -> Path:
    """The dump a report is of, where it lies in the folder; else the report itself."""
    if entry.kind == "dump":
        return entry.path
    named = entry.path.with_suffix(".h5")
    return named if named.is_file() and Path(report.actual).name == named.name else entry.path


def subject(id: str, number: int) -> Subject:
    """The subject of an address."""
    entry = entry_of(id)
    report = library().report(entry)
    return Subject(entry, report, tensor_of(report, number))


@reviewing.get("/runs/<id>/tensors/<int:number>/decisions.json")
def decisions_json(id: str, number: int) -> Any:
    """All decisions on a tensor."""
    found = subject(id, number)
    return jsonify({**write(found.history), "run": found.run, "name": found.name})


@reviewing.post("/runs/<id>/tensors/<int:number>/decisions")
def decide(id: str, number: int) -> Response:
    """Keep a decision, or take the one that stands back."""
    made, form = subject(id, number), request.form
    if form.get("verdict") == "undo":
        made.store.undo("tensor", made.run, made.name, form.get("author", ""), seen=form.get("seen"))
    else:
        made.store.record(_decision(made, form), seen=form.get("seen"))
    return redirect(url_for("pages.tensor", id=id, number=number) + "#decision", 303)


def _decision(made: Subject, form: Mapping[str, str]) -> Decision:
    verdict: Any = form.get("verdict", "")
    return Decision(
        "tensor", made.run, made.name, verdict, form.get("author", ""), content=made.tensor.sha256,
        reason=form.get("reason", ""), layer=made.tensor.layer, max_ulp=_limit(form.get("max_ulp", "")),
        expires=form.get("expires", ""),
    )  # fmt: skip


def _limit(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise PrecDiffError(f"limit: found {text!r}; allowed is a number of ULP, or nothing") from None
