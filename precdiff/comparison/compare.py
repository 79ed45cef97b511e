"""Compare one tensor with what was expected: metrics, verdict, worst elements, and which elements fail.

What holds under every standard is here. A value that is not finite where the expected one rounded once is (or the
reverse, or NaN against a number) is mismatched and fails; NaN against NaN agrees, but a tensor with nothing else in
it was not compared; an element whose verdict would change within its reference's radius is undecided. Tensors come
whole or in pieces and are taken in chunks: memory stays a few MiB beyond the piece (and, where asked for, the mask).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from precdiff._accel.backend import worth_loading
from precdiff.comparison.elements import CHUNK, Elements
from precdiff.comparison.expected import Expected, Flat
from precdiff.comparison.metric import METRICS
from precdiff.comparison.pairing import check_shapes
from precdiff.comparison.pieces import Piece, Rows
from precdiff.comparison.result import Errors, ReferenceInfo, TensorComparison, Verdict
from precdiff.comparison.sides import needed, ranks, special
from precdiff.comparison.standard import Judgement, Limits, Standard, check_taken, get_standard
from precdiff.comparison.whole import Counts, Decision, Share, Silent, Whole
from precdiff.comparison.worst import WorstElements
from precdiff.errors import NotComparableError
from precdiff.formats import Array, Format, get_format, to_bits


@dataclass(frozen=True)
class Identity:
    """Which tensor this is; the fields are those of the report's row."""

    id: str = ""
    name: str = ""
    sha256: str = ""
    layer: str = ""
    op: str = ""
    source: str = ""
    iteration: int | None = None
    rank: int | None = None
    phase: str = "forward"
    role: str = "output"
    paired_by: str = "name"


class Compared(NamedTuple):
    """A row of the report and the mask of the elements that fail, in the tensor's shape."""

    row: TensorComparison
    failing: Array


def compare_tensor(
    actual: Array,
    expected: Expected | Array,
    format: str | Format,
    standard: str | Standard = "auto",
    limits: Limits | None = None,
    identity: Identity | None = None,
) -> Compared:
    """Judge a carrier array of `format` against a carrier array of the same format or an Expected.

    >>> row, failing = compare_tensor(np.float32([1.0, 2.0]), np.float32([1.0, 2.25]), "fp16", "ulp", Limits(max_ulp=4))
    >>> row.verdict, row.max_ulp, failing.tolist()
    ('fail', 128.0, [False, True])
    """
    format, identity = get_format(format), identity or Identity()
    actual = np.asarray(actual)
    wanted = expected if isinstance(expected, Expected) else Expected.array(np.asarray(expected), format)
    check_shapes(identity.name or identity.id or "tensor", actual.shape, wanted.shape)
    made = _begun(actual.shape, wanted, format, standard, limits, identity)
    failing = made.keep_failing()
    made.add(Piece(0, actual, wanted))
    return Compared(made.row(identity), failing.reshape(actual.shape))


def compare_pieces(
    pieces: Iterable[Piece], shape: tuple[int, ...], format: str | Format, standard: str | Standard = "auto",
    limits: Limits | None = None, identity: Identity | None = None,
) -> TensorComparison:  # fmt: skip
    """Judge a tensor of `shape` that comes in pieces, in order, at least one; none of them is kept.

    >>> halves = [Piece(i, np.ones(2), Expected.array(np.ones(2), get_format("fp64"))) for i in (0, 2)]
    >>> compare_pieces(halves, (4,), "fp64").compared
    4
    """
    format, identity = get_format(format), identity or Identity()
    made: _Comparison | None = None
    for piece in pieces:
        made = made or _begun(shape, piece.expected, format, standard, limits, identity)
        made.add(piece)
    if made is None:
        raise NotComparableError(f"of {identity.name or 'the tensor'} there is no piece")
    return made.row(identity)


def _begun(
    shape: tuple[int, ...], wanted: Expected, format: Format, standard: str | Standard, limits: Limits | None,
    identity: Identity,
) -> _Comparison:  # fmt: skip
    """A comparison with values of that kind, which waits for them."""
    asked = get_standard(standard)
    limits, chosen = _completed(limits or Limits(), identity, asked), _fitting(asked, format)
    if limits.peer is not None:
        check_shapes(f"the peer of {identity.name or 'tensor'}", limits.peer.shape, shape)
    reason = chosen.silent(limits, format) if chosen.silent is not None else ""
    chosen = _silent(reason) if reason else chosen
    return _Comparison(shape, wanted, format, chosen, limits)


def _fitting(standard: Standard, format: Format) -> Standard:
    return get_standard("bitwise") if standard.floats_only and not format.is_float else standard


def _completed(limits: Limits, identity: Identity, standard: Standard) -> Limits:
    """The limits with what the tensor and the standard say."""
    tolerances = {name: getattr(limits, name) is not None for name in ("rtol", "atol")}
    check_taken(
        standard, **tolerances, zero_atol=limits.zero_atol > 0.0, peer=limits.peer is not None, runs=limits.runs
    )
    conventions = replace(limits.conventions, equal_nan=limits.conventions.equal_nan and not standard.nan_differs)
    return replace(limits, role=identity.role, op=limits.op or identity.op, conventions=conventions)


def _silent(reason: str) -> Standard:
    """What stands for a standard with nothing to say."""

    def judge(elements: Elements, limits: Limits) -> Judgement:
        return Judgement.of(np.zeros(len(elements), bool), elements.distance, np.inf)

    return Standard("silent", lambda limits, format: reason, judge, whole=lambda *given: Silent(reason))


class _Comparison:
    """One tensor's comparison while its chunks go by."""

    def __init__(
        self, shape: tuple[int, ...], expected: Expected, format: Format, standard: Standard, limits: Limits
    ) -> None:
        self._shape, self._size = tuple(shape), math.prod(shape)
        #: of the expected side only what is true of all its values
        self._about = replace(expected, hi=np.empty(0), lo=None, radius=None, kind=None)
        self._format, self._standard, self._limits = format, standard, limits
        self._whole = self._gathered()
        self._metrics = [make(format) for _, make in METRICS.items()]
        self._worst = WorstElements(self._shape)
        self._failing: Array | None = None
        self._compared = self._excused = self._undecided = self._nan_pairs = self._over = 0
        self._excused_ulp = self._needed = self._radius = 0.0
        self._factor = False
        self._hash = hashlib.sha256()
        self._fast = worth_loading(self._size)

    def keep_failing(self) -> Array:
        """Keep which elements fail, as the row that is given; it holds once `row` was asked for."""
        self._failing = np.zeros(self._size, bool)
        return self._failing

    def _gathered(self) -> Whole:
        """What decides: the standard's own figures, or the share of elements beyond the limit, none if not stated."""
        if self._standard.whole is not None:
            return self._standard.whole(self._limits, self._format, self._shape)
        return Share(self._limits.allow_fraction or 0.0, self._standard.rule(self._limits, self._format))

    def add(self, piece: Piece) -> None:
        """Take a piece into account, chunk by chunk."""
        for elements in self._chunks(piece):
            for metric in self._metrics:
                metric.add(elements)
            self._judge(elements)

    def _chunks(self, piece: Piece) -> Iterator[Elements]:
        sides = [Rows.of(piece.actual, piece.expected, piece.first)]
        if self._limits.peer is not None:
            size = piece.actual.size
            peer = np.asarray(Flat(self._limits.peer, self._shape)[slice(piece.first, piece.first + size)])
            sides.append(Rows.of(peer.reshape(piece.actual.shape), piece.expected, piece.first))
        last = piece.first + piece.actual.size
        for start in range(piece.first, last, CHUNK):
            chunk = slice(start, min(start + CHUNK, last))
            made = [self._elements(rows, chunk) for rows in sides]
            made[0].peer = made[1] if len(made) > 1 else None
            yield made[0]

    def _elements(self, rows: Rows, chunk: slice) -> Elements:
        representable = self._about.format is self._format
        return Elements(rows, chunk, self._format, self._limits.conventions, representable, self._fast)

    def _judge(self, elements: Elements) -> None:
        judgement = self._standard.judge(elements, self._limits.at(elements.chunk, self._shape))
        judgement = special(elements, judgement)
        self._whole.add(elements)
        self._count(elements, judgement)
        self._worst.add(elements, ranks(elements, judgement))
        self._over += int(np.count_nonzero(judgement.over))
        if self._failing is not None:
            self._failing[elements.chunk] = judgement.over
        codes = to_bits(elements.actual, self._format)
        self._hash.update(codes.astype(codes.dtype.newbyteorder("<"), copy=False).data)

    def _count(self, elements: Elements, judgement: Judgement) -> None:
        skipped = 0 if elements.skipped is None else int(np.count_nonzero(elements.skipped))
        self._compared += len(elements) - skipped
        self._nan_pairs += elements.nan_pairs
        self._undecided += int(np.count_nonzero(judgement.maybe))
        if isinstance(elements.slack, np.ndarray):
            self._radius = max(self._radius, float(elements.slack.max(initial=0.0)))
        if judgement.excused is not None and judgement.excused.any():
            self._excused += int(np.count_nonzero(judgement.excused))
            self._excused_ulp = max(self._excused_ulp, float(elements.distance[judgement.excused].max()))
        beyond = judgement.over | judgement.maybe
        if beyond.any():
            self._factor = np.ndim(judgement.limit) > 0
            self._needed = max(self._needed, needed(elements, judgement, beyond))

    def row(self, identity: Identity) -> TensorComparison:
        """What was found."""
        found: dict[str, Any] = {name: value for metric in self._metrics for name, value in metric.results().items()}
        own = {field.name: found.pop(field.name) for field in fields(TensorComparison) if field.name in found}
        decision = self._decision()
        verdict = self._verdict(decision, own["nonfinite"].mismatched)
        if verdict == "not_compared" or (decision.of_tensor and verdict == "pass"):
            self._none_fails()
        return TensorComparison(
            **{**vars(identity), **own, "sha256": identity.sha256 or self._hash.hexdigest()},
            format=self._format.name,
            shape=self._shape,
            verdict=verdict,
            rule=decision.rule,
            compared=self._compared,
            excused=self._excused,
            over_limit=self._over,
            errors=Errors(**{self._about.measures: own["max_ulp"]}) if self._about.measures else Errors(),
            worst=self._worst.rows(),
            reference=self._reference(),
            extra={**found, "undecided": self._undecided, **self._notes(self._over + self._undecided, decision)},
        )

    def _none_fails(self) -> None:
        self._over = 0
        if self._failing is not None:
            self._failing[:] = False

    def _decision(self) -> Decision:
        """What the standard says of all chunks; its rule alone where nothing was compared."""
        if not self._compared:
            return Decision("undecided" if self._undecided else "pass", self._standard.rule(self._limits, self._format))
        return self._whole.decide(Counts(self._compared, self._over, self._undecided))

    def _verdict(self, decision: Decision, mismatched: int) -> Verdict:
        if decision.outcome == "not_compared":
            return "not_compared"
        if mismatched or decision.outcome != "pass":
            return "fail" if mismatched else decision.outcome
        return "pass" if self._compared > self._nan_pairs else "not_compared"

    def _notes(self, beyond: int, decision: Decision) -> dict[str, float]:
        notes = {"excused_max_ulp": self._excused_ulp} if self._excused else {}
        notes |= {"nan_pairs": self._nan_pairs} if self._nan_pairs else {}
        notes |= {"warning": 1} if decision.warning else {}
        if decision.of_tensor:
            known = decision.outcome != "pass" and math.isfinite(decision.factor)
            return notes | ({"needed_factor": decision.factor} if known else {})
        if beyond:
            notes["needed_factor" if self._factor else "needed_limit"] = self._needed
        return notes

    def _reference(self) -> ReferenceInfo | None:
        info = self._about.info
        return info and replace(info, max_radius_ulp=max(info.max_radius_ulp, self._radius))
