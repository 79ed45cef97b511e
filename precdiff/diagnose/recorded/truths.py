"""What a recorded call must have given: the true values of its outputs from its own recorded inputs.

    forward            the call's formula on its inputs
    backward           its vjp on its forward inputs and on the gradients of its outputs
    parameters_grad    the same for a module that was called once

A hook on a result sees the last node of autograd's graph only. Where a call is one node its gradients are those of its
inputs; a view at its end gives the gradient as it came, in another shape; of a call of several nodes a gradient that
fits is right, and one that does not is not judged. This file must not know verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precdiff.diagnose.recorded.arguments import arguments
from precdiff.diagnose.recorded.contents import Contents
from precdiff.dump import StepRow
from precdiff.errors import PrecDiffError
from precdiff.formats import Format
from precdiff.kernels.api import Api, is_inplace, known_api, known_module
from precdiff.machine import RealArray
from precdiff.reference import calls
from precdiff.reference.calls import Operand, Truth

#: what attributes of an unforeseen kind raise in a formula: then the call is not known in this form
_UNFIT = (PrecDiffError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


@dataclass(frozen=True)
class Expectation:
    """What an output must be: one of `truths`; `sure` if it is wrong where it is none of them."""

    truths: tuple[Truth, ...]
    sure: bool = True


class NotJudgedError(PrecDiffError):
    """Why a call's outputs have no expectation."""


def expectations(step: StepRow, contents: Contents, steps: Mapping[str, StepRow]) -> dict[str, Expectation]:
    """What every output of a step must be, by tensor id; NotJudgedError says why nothing is known."""
    api, sure = _row(step)
    try:
        if step.phase != "backward":
            return _forward(api, step, contents, sure)
        if ".parameters_grad" in step.id:
            return _parameters(api, step, contents, steps)
        return _backward(api, step, contents, steps, sure)
    except _UNFIT as error:
        raise error if isinstance(error, NotJudgedError) else NotJudgedError(_said(step, error)) from error


def _said(step: StepRow, error: Exception) -> str:
    return str(error) if isinstance(error, PrecDiffError) else f"{step.op} is not known with these attributes: {error}"


def _row(step: StepRow) -> tuple[Api, bool]:
    """The step's formula, and whether nothing about it is assumed."""
    kind, _, cls = step.op.partition(".")
    if kind in ("Module", "Cell"):
        module = known_module(cls)
        if module is None:
            raise NotJudgedError(f"{step.op} is not known: what it computes is not in the record")
        return module
    api = known_api(step.op)
    if api is None:
        raise NotJudgedError(f"{step.op} is not known")
    return api, True


def is_known(step: StepRow) -> bool:
    """Whether the step's formula is known, if its attributes suffice."""
    try:
        _row(step)
    except NotJudgedError:
        return False
    return True


def wrote_over_its_input(step: StepRow, contents: Contents) -> bool:
    """Whether an in-place call's first input was recorded after the call: then it holds the result."""
    named = is_inplace(step.op) or step.params.get("kwargs.inplace") is True
    first, made = next(iter(step.inputs), None), next(iter(step.outputs), None)
    if not named or first is None or made is None:
        return False
    before, after = contents.digest(first[1]), contents.digest(made[1])
    return before is not None and before == after


def _operand(contents: Contents) -> Callable[[str], Operand]:
    def read(id: str) -> Operand:
        if not contents.held(id):
            row = contents.row(id)
            raise NotJudgedError(f"the values of {id} were not kept{f': {row.note}' if row.note else ''}")
        return contents.operand(id)

    return read


def _forward(api: Api, step: StepRow, contents: Contents, sure: bool) -> dict[str, Expectation]:
    positional, keywords = arguments(step, _operand(contents))
    _check(api, positional, keywords)
    formats = [contents.operand(id).format for _, id in step.outputs]
    truths = calls.outputs(api, positional, keywords, formats)
    _check_shapes(step, contents, truths)
    return {id: Expectation((truth,), sure) for (_, id), truth in zip(step.outputs, truths, strict=True)}


def _check(api: Api, positional: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    try:
        api.bound(positional, keywords)
    except TypeError as error:
        raise NotJudgedError(f"{api.name} is not known with these arguments: {error}") from None


def _check_shapes(step: StepRow, contents: Contents, truths: Sequence[Truth]) -> None:
    for (_, id), truth in zip(step.outputs, truths, strict=True):
        if truth.exact.shape != contents.row(id).shape:
            found, meant = contents.row(id).shape, truth.exact.shape
            raise NotJudgedError(f"{step.op} gave {found} where its formula gives {meant}: it is another form of it")


def _backward(
    api: Api, step: StepRow, contents: Contents, steps: Mapping[str, StepRow], sure: bool
) -> dict[str, Expectation]:
    forward = steps.get("forward".join(step.id.rsplit("backward", 1)))
    if forward is None:
        raise NotJudgedError(f"the forward call of {step.id} was not recorded")
    if wrote_over_its_input(forward, contents):
        raise NotJudgedError(f"the inputs of {forward.id} were recorded after it wrote over them")
    given = [contents.operand(id) for _, id in step.inputs]
    gradients, found = _gradients(api, forward, contents, given), dict[str, Expectation]()
    for _, id in step.outputs:
        fitting = _fitting(gradients, contents.row(id).shape)
        if fitting:
            found[id] = Expectation(tuple(fitting), sure and not api.composite)
        elif len(given) == 1 and given[0].values.size == contents.row(id).size:
            found[id] = Expectation((_exactly(given[0], contents.row(id).shape),))
    return found


def _gradients(api: Api, forward: StepRow, contents: Contents, given: Sequence[Operand]) -> list[Truth]:
    """The gradients of the forward call's inputs; of a composite also those of its last node."""
    positional, keywords = arguments(forward, _operand(contents))
    _check(api, positional, keywords)
    rows = [api] if api.last is None else [api, api.last_row]
    made = [t for row in rows for t in calls.gradients(row, positional, keywords, given)]
    return [t for t in made if t is not None]


def _exactly(operand: Operand, shape: tuple[int, ...]) -> Truth:
    return Truth(
        real_array(operand.values.reshape(shape), operand.format), np.zeros(shape), "recorded", operand.format.p
    )


def real_array(values: np.ndarray, format: Format) -> RealArray:
    """Carrier values as exact reals."""
    from precdiff.machine import IntervalMachine

    machine = IntervalMachine()
    return machine.reals(machine.tensor(values, format))


def _fitting(gradients: Sequence[Truth], shape: tuple[int, ...]) -> list[Truth]:
    """Those of the shape; a matrix also turned round, as frameworks keep weights."""
    straight = [t for t in gradients if t.exact.shape == shape]
    turned = [_turned(t) for t in gradients if len(shape) == 2 and t.exact.shape == shape[::-1] != shape]
    return straight + turned


def _turned(truth: Truth) -> Truth:
    exact = truth.exact
    parts = (np.ascontiguousarray(np.transpose(p)) for p in (exact.hi, exact.lo, exact.radius, exact.kind))
    return Truth(RealArray(*parts), np.transpose(truth.allowed), truth.backend, truth.bits)


def _parameters(api: Api, step: StepRow, contents: Contents, steps: Mapping[str, StepRow]) -> dict[str, Expectation]:
    """The gradients of a module's parameters, from the one time it was called."""
    stem = step.id.rsplit(".parameters_grad", 1)[0]
    forwards = [id for id in steps if id.startswith(f"{stem}.forward.")]
    backwards = [id for id in steps if id.startswith(f"{stem}.backward.")]
    if (len(forwards), len(backwards)) != (1, 1):
        raise NotJudgedError(f"{stem} was called {len(forwards)} times: its gradient is a sum over the calls")
    forward = steps[forwards[0]]
    given = [contents.operand(id) for _, id in steps[backwards[0]].inputs]
    positional, keywords = arguments(forward, _operand(contents))
    names = [role.removeprefix("parameters.") for role, _ in forward.inputs if role.startswith("parameters.")]
    gradients = [t for t in calls.gradients(api, positional, keywords, given) if t is not None]
    by_name = dict(zip(names, gradients[-len(names) :], strict=True)) if names else {}
    known = {id: by_name[role] for role, id in step.outputs if role in by_name}
    return {id: Expectation((t,)) for id, t in known.items() if t.exact.shape == contents.row(id).shape}
