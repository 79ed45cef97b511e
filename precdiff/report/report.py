"""The report: everything `compare` and `explain` say, as plain data with a JSON round trip (precdiff.report/1, DESIGN
5).

Terminal, assertion and web print it from the same rows (rows.py); a report read back prints exactly as it did when
made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from precdiff.comparison import TensorComparison, Verdict, over_tensors, overall, worst_ulp
from precdiff.diagnose.finding import Finding
from precdiff.errors import FileError
from precdiff.report.codec import decode_row, encode

SCHEMA = "precdiff.report/1"


@dataclass(frozen=True)
class Beyond:
    """An output that does not pass under a candidate: its verdict, and its largest error (ULP) not excused."""

    id: str
    name: str
    layer: str
    verdict: Verdict
    max_ulp: float


@dataclass(frozen=True)
class Candidate:
    """The verdict under one of the profiles an envelope ranges over; the outputs that do not pass there, and whether
    waivers accept them all.
    """

    profile: str
    verdict: Verdict
    beyond: Sequence[Beyond] = ()
    waived: bool = False

    @classmethod
    def of(cls, profile: str, outputs: Sequence[TensorComparison]) -> Candidate:
        """The candidate of judged outputs."""
        beyond = [
            Beyond(row.id, row.name, row.layer, row.verdict, worst_ulp(row)) for row in outputs if row.verdict != "pass"
        ]
        return cls(profile, overall(row.verdict for row in outputs), tuple(beyond))

    @property
    def accepted(self) -> Verdict:
        """The verdict, waivers counted."""
        return "pass" if self.waived else self.verdict


def over_the_envelope(verdict: Verdict, envelope: Sequence[Candidate]) -> Verdict:
    """The verdict all candidates agree on, else undecided."""
    return verdict if all(one.accepted == verdict for one in envelope) else "undecided"


@dataclass(frozen=True)
class Agreed:
    """What became of something agreed on beforehand: a limit or waiver of the configuration, or a stored decision.

    `source` is file:line, or file#number of the store; `tensor` and `layer` are globs ("": any). `outcome` maps what
    became of it (docs/ci.md) to the tensors of which that is so; where nothing did, it is empty.
    """

    kind: Literal["limit", "waiver", "decision"]
    source: str
    tensor: str = ""
    layer: str = ""
    max_ulp: float | None = None
    standard: str = ""
    reason: str = ""
    author: str = ""
    expires: str = ""
    outcome: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Unmatched:
    """Names of tensors on either side without a partner."""

    actual: Sequence[str] = ()
    expected: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """What was compared with what, the verdict, every tensor's row, and the findings; `of` fills in what follows."""

    verdict: Verdict
    standard: str
    rule: str
    envelope: Sequence[Candidate] | None
    actual: str
    expected: str
    first_divergence: str | None
    unmatched: Unmatched
    tensors: Sequence[TensorComparison]
    findings: Sequence[Finding] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    agreed: Sequence[Agreed] = ()

    def __post_init__(self) -> None:
        """Take the small parts as mappings too, which is what pairing and profiles give."""
        if isinstance(self.unmatched, Mapping):
            object.__setattr__(self, "unmatched", Unmatched(**self.unmatched))
        rows = [Candidate(**row) if isinstance(row, Mapping) else row for row in self.envelope or ()]
        object.__setattr__(self, "envelope", tuple(rows) if self.envelope is not None else None)

    @classmethod
    def of(cls, tensors: Sequence[TensorComparison], **others: Any) -> Report:
        """Make a report of compared tensors; verdict, rule and first divergence follow from them unless given.

        Without local errors the first divergence is the first tensor, in the order given, beyond the standard.
        """
        failing = next((row.id or row.name for row in tensors if row.verdict == "fail"), None)
        rules = list(dict.fromkeys(row.rule for row in tensors))
        derived = {
            "verdict": over_tensors(tensors),
            "standard": "auto",
            "rule": rules[0] if len(rules) == 1 else "each tensor by its own rule",
            "envelope": None,
            "actual": "actual",
            "expected": "expected",
            "first_divergence": failing,
            "unmatched": Unmatched(),
        }
        return cls(**{**derived, "tensors": tuple(tensors), **others})

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON document; non-finite numbers are strings."""
        return {"schema": SCHEMA, **encode(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Report:
        """The report a JSON document stands for."""
        found = document.get("schema")
        if found != SCHEMA:
            raise FileError(
                f"not a report: schema is {found!r}, allowed is {SCHEMA!r}; `compare -o` writes such a file"
            )
        return decode_row(cls, document, "report")

    def tensor(self, id: str) -> TensorComparison | None:
        """The row of that tensor id, None where there is none; outputs win where a step has the same id."""
        rows = [row for row in self.tensors if id in (row.id, row.name)]
        return next((row for row in rows if row.verdict == "fail"), rows[0] if rows else None)
