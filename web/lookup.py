"""What an address means: the entry of an id, the tensor of a number; 404 with a reason where there is none."""

from __future__ import annotations

from flask import abort, current_app

from precdiff.comparison import TensorComparison
from precdiff.report import Report

from .library import Entry, Library


def library() -> Library:
    """The folder that is shown."""
    found: Library = current_app.extensions["precdiff.library"]
    return found


def entry_of(id: str) -> Entry:
    """The entry of that id."""
    entry = library().find(id)
    if entry is None:
        abort(404, f"no run {id!r} in this folder: it was moved or removed, or the address is wrong")
    return entry


def tensor_of(report: Report, number: int) -> TensorComparison:
    """The tensor of that number."""
    if number >= len(report.tensors):
        abort(404, f"this run has {len(report.tensors)} tensors; there is no number {number}")
    return report.tensors[number]
