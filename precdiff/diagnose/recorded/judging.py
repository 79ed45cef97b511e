"""The verdict on every tensor of a recorded dump, and what it rests on.

    an output of a known call     within what its own recorded inputs allow (truths.py): a local error
    an output of an unknown call  the values of an earlier tensor (origins.py): as good as that one
    an input                      the values of what made it; one that nothing recorded made is given
    any tensor with a partner     whose partner follows from earlier tensors follows from their partners here, too
                                  (partners.py)

What none of these reaches is not compared, and says why. A call that makes what is not finite from finite inputs fails
whatever its formula allows. This file must not know how a report looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from precdiff.comparison import Expected, Identity, Limits, ReferenceInfo, TensorComparison, compare_tensor
from precdiff.diagnose.deviation import grid_of
from precdiff.diagnose.recorded.contents import Contents
from precdiff.diagnose.recorded.origins import Origin, origins
from precdiff.diagnose.recorded.summaries import grew
from precdiff.diagnose.recorded.truths import (
    Expectation,
    NotJudgedError,
    expectations,
    real_array,
    wrote_over_its_input,
)
from precdiff.dump import Dump, StepRow
from precdiff.formats import get_format, ulp
from precdiff.machine.realarray import FINITE
from precdiff.reference.calls import Operand, Truth

_P32 = get_format("fp32").p


@dataclass(frozen=True)
class Judged:
    """One tensor: its row of the report, and why it is as it is. `shares` are the largest errors as a part of what is
    allowed; `step` is the id of the step that made or read it.
    """

    row: TensorComparison
    step: str
    why: str
    share: float = 0.0
    truth: Truth | None = None
    origin: Origin | None = None
    #: whether it stands or falls with another tensor, so that it is no first divergence
    follows: bool = False


@dataclass(frozen=True)
class Recording:
    """A dump, its contents and the origins of its tensors."""

    dump: Dump
    contents: Contents = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "contents", Contents(self.dump))

    @cached_property
    def origins(self) -> dict[str, Origin]:
        """The origin of each tensor that has one."""
        return origins(self.contents)

    @cached_property
    def steps(self) -> dict[str, StepRow]:
        """Steps by id."""
        return {step.id: step for step in self.dump.steps}

    def identity(self, id: str, step: StepRow, paired_by: str) -> Identity:
        """What the report calls a tensor."""
        row, attrs = self.dump.tensors[id], self.dump.attrs
        name = row.name if not step.id and row.name else id
        role = "intermediate" if row.role == "output" else row.role
        return Identity(
            id, name, "", row.layer or step.layer, step.op, step.source, attrs.iteration, attrs.rank, step.phase, role,
            paired_by,
        )  # fmt: skip


def judged_dump(recording: Recording) -> Iterator[Judged]:
    """Every output of every step in order, without an expected side."""
    for step in recording.dump.steps:
        yield from judged_step(recording, step)


def judged_step(recording: Recording, step: StepRow) -> Iterator[Judged]:
    """The outputs of one step."""
    wanted, reason = _wanted(recording, step)
    for _, id in step.outputs:
        yield grown(recording, step, _judged(recording, step, id, wanted, reason))


def _judged(recording: Recording, step: StepRow, id: str, wanted: Mapping[str, Expectation], reason: str) -> Judged:
    if not recording.contents.held(id):
        return not_compared(recording, step, id, "its values were not kept")
    if id in wanted:
        return _known(recording, step, id, wanted[id])
    origin = recording.origins.get(id)
    if origin is not None and origin.kind != "handed":
        return follows(recording, step, id, origin)
    handed = "" if origin is None else "; it holds what an input of its call holds"
    return not_compared(recording, step, id, f"{reason}{handed}")


def grown(recording: Recording, step: StepRow, judged: Judged) -> Judged:
    """The same, failed where it is not finite though everything the step was given is, and its exact result."""
    truth, contents = judged.truth, recording.contents
    if judged.follows or (truth is not None and (truth.exact.kind != FINITE).any()):
        return judged
    said = grew(contents, [id for _, id in step.inputs], judged.row.id)
    return replace(judged, row=replace(judged.row, verdict="fail", rule=said), why=said) if said else judged


def _wanted(recording: Recording, step: StepRow) -> tuple[Mapping[str, Expectation], str]:
    if wrote_over_its_input(step, recording.contents):
        return {}, f"{step.op} wrote over its input before that was recorded"
    try:
        found = expectations(step, recording.contents, recording.steps)
    except NotJudgedError as error:
        return {}, str(error)
    return found, f"no gradient of {step.op} has its shape: the recorder saw another node of it"


def _known(recording: Recording, step: StepRow, id: str, wanted: Expectation) -> Judged:
    """Against the truth it fits best."""
    made = [_against(recording, step, id, truth) for truth in wanted.truths]
    best = min(made, key=lambda judged: judged.share)
    if best.row.verdict != "fail" or wanted.sure:
        return best
    origin = recording.origins.get(id)
    if origin is not None and origin.kind != "handed":
        return follows(recording, step, id, origin)
    return not_compared(recording, step, id, f"{step.op}: a part of it may have been recorded, or another form of it")


def _against(recording: Recording, step: StepRow, id: str, truth: Truth) -> Judged:
    operand, exact = recording.contents.operand(id), truth.exact
    info = ReferenceInfo(truth.backend, truth.bits, "certified", 0.0, 0)
    expected = Expected(exact.hi, exact.lo, exact.radius, exact.kind, info=info, measures="local")
    limits = Limits(bound=truth.allowed, bound_unit="absolute") if operand.format.is_float else Limits()
    standard = "bound" if operand.format.is_float else "bitwise"
    identity = recording.identity(id, step, "reference")
    compared = compare_tensor(operand.values, expected, operand.format, standard, limits, identity)
    share = _share(operand, truth)
    row = replace(compared.row, extra={**compared.row.extra, "share_of_allowed": share})
    if row.verdict == "fail":
        row = replace(row, rule=f"{row.rule}{on_a_grid(operand)}")
    return Judged(row, step.id, "its own recorded inputs", share, truth)


def on_a_grid(operand: Operand) -> str:
    """That the values lie on the grid of a coarser format, where they do and that is no chance."""
    if not operand.format.is_float or operand.format.p < _P32:
        return ""
    bits = grid_of(operand.values, operand.format)
    named = next((name for name in ("bf16", "fp16", "tf32", "hf32") if get_format(name).p == bits), None)
    if bits >= operand.format.p - 1:
        return ""
    return f"; lies on the {f'{named} grid' if named else 'grid'} ({bits} of {operand.format.p} significand bits)"


def _share(operand: Operand, truth: Truth) -> float:
    """The largest error as a part of what is allowed."""
    exact = truth.exact
    finite = (exact.kind == FINITE) & np.isfinite(np.asarray(operand.values, np.float64))
    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(operand.values, np.float64) - exact.hi - exact.lo)
        share = np.where(error == 0, 0.0, error / truth.allowed)[finite]
    return float(np.max(share, initial=0.0))


def follows(recording: Recording, step: StepRow, id: str, origin: Origin) -> Judged:
    """A tensor that is what its origin says, bit for bit."""
    operand = recording.contents.operand(id)
    identity = recording.identity(id, step, str(origin))
    row = compare_tensor(operand.values, operand.values, operand.format, "bitwise", Limits(), identity).row
    return Judged(row, step.id, str(origin), origin=origin, follows=True)


def not_compared(recording: Recording, step: StepRow, id: str, reason: str) -> Judged:
    """A tensor that nothing can be said of."""
    row = recording.dump.tensors[id]
    nothing = np.zeros(0)
    name = row.stored_format or "fp64"
    compared = compare_tensor(nothing, nothing, name, "bitwise", Limits(), recording.identity(id, step, "none")).row
    kept = replace(compared, shape=row.shape, format=row.format, verdict="not_compared", rule=reason)
    return Judged(kept, step.id, reason)


def ulps(operand: Operand, by: float) -> Truth:
    """An array that has to be met within so many ulps."""
    values = np.asarray(operand.values)
    size = np.asarray(ulp(values, operand.format)) if operand.format.is_float else np.zeros(values.shape)
    return Truth(real_array(values, operand.format), by * size, "recorded", get_format(operand.format.name).p)
