"""Assertions about a function run again: on the same inputs, or on inputs whose elements come in another order.

The first run's outputs are kept (copied, since a function may write into the same memory each time) and every other
run is compared with them as it comes: one row of the Report a run and output. Whether both are right is another
question, which `assert_precise` asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from precdiff import api
from precdiff.comparison import Expected, Identity, Limits, TensorComparison, check_limits, compare_tensor
from precdiff.diagnose import Finding
from precdiff.errors import NotComparableError, PrecDiffError
from precdiff.formats import Array, as_array, carrier, format_of
from precdiff.report import Report
from precdiff.testing.assertions import briefly, require
from precdiff.testing.values import named_outputs


class Asked(NamedTuple):
    """What is asked of the runs: by which standard, what to call a difference, how to count, and what to do then."""

    standard: str
    limits: Limits
    cause: str
    counted: str
    advice: str


@briefly
def assert_deterministic(fn: Callable[[], Any], runs: int = 10, *, msg: str | None = None) -> None:
    """Assert that fn() gives the same bits every time it is called, `runs` times in all.

    fn gives an array (of any library), several in a tuple, a mapping of arrays, or a Run. +0 and -0 differ; NaN equals
    NaN.

    >>> import numpy as np
    >>> x = np.float32([1, 2, 3])
    >>> assert_deterministic(lambda: np.exp(x))
    """
    _check_count("runs", runs, 2)
    advice = "add in a fixed order, without atomics; check that fn leaves its inputs as they were"
    asked = Asked("bitwise", Limits(), "nondeterminism", "runs", advice)
    made = ((f"run {i}", named_outputs(fn(), f"run {i}")) for i in range(1, runs + 1))
    require(_report(made, asked), msg)


@briefly
def assert_order_invariant(  # noqa: PLR0913  (what is run, in which orders, how close; by keyword)
    fn: Callable[..., Any],
    *inputs: Any,
    axis: int | Sequence[int | None] = -1,
    out_axis: int | None = None,
    max_ulp: float | None = None,
    orders: int = 8,
    seed: int = 0,
    msg: str | None = None,
) -> None:
    """Assert that fn(*inputs) does not depend on the order of the elements along `axis`.

    All inputs are permuted alike: backwards, then at random, `orders` in all. `axis` is one for all of them, or one an
    input, None for what is left alone. Outputs must not change, bit for bit, or by more than `max_ulp`; with `out_axis`
    they must come permuted along it as the inputs were, which is asked of batches.

    >>> import numpy as np
    >>> x = np.float32([[1e8, 1, -1e8, 1], [1, 2, 3, 4]])
    >>> assert_order_invariant(np.max, x, axis=1)
    >>> assert_order_invariant(lambda x: x.cumsum(axis=1), x, axis=0, out_axis=0)
    """
    _check_count("orders", orders, 1)
    check_limits(max_ulp=max_ulp)
    standard = "bitwise" if max_ulp is None else "ulp"
    advice = "add in an order that does not depend on the place, or wider; where the last bits may differ, pass max_ulp"
    asked = Asked(standard, Limits(max_ulp=max_ulp), "reduction_order", "orders", advice)
    given = [x if hasattr(x, "shape") else as_array(x, f"input {i}") for i, x in enumerate(inputs)]
    axes = _axes(given, axis)
    made = _in_every_order(fn, given, axes, out_axis, _permutations(_length(given, axes), orders, seed))
    require(_report(made, asked), msg)


def _report(made: Iterator[tuple[str, Mapping[str, Array]]], asked: Asked) -> Report:
    """Every run's outputs against those of the first."""
    label, outputs = next(made)
    first = {name: array.copy() for name, array in outputs.items()}
    if not first:
        raise NotComparableError(f"{label} gave no outputs; return what is to be compared")
    rows: dict[str, list[TensorComparison]] = {name: [] for name in first}
    for label, outputs in made:
        if outputs.keys() != first.keys():
            names = f"{label} gave {', '.join(outputs) or 'none'}, the first {', '.join(first)}"
            raise NotComparableError(f"the outputs of two runs have different names: {names}")
        for name, array in outputs.items():
            rows[name].append(_row(label, name, array, first[name], asked))
    return _of(rows, asked)


def _row(label: str, name: str, array: Array, first: Array, asked: Asked) -> TensorComparison:
    format, own = format_of(array), format_of(first)
    if format is not own:
        raise NotComparableError(f"{label} gave {format}, the first {own}; the format must not change from run to run")
    shown = label if name == "out" else f"{name}, {label}"
    identity = Identity(id=shown, name=shown, paired_by="run")
    wanted = Expected.array(carrier(first), own)
    return compare_tensor(carrier(array), wanted, format, asked.standard, asked.limits, identity).row


def _of(rows: Mapping[str, Sequence[TensorComparison]], asked: Asked) -> Report:
    every = [row for own in rows.values() for row in own]
    count = 1 + max(map(len, rows.values()))
    findings = [_finding(name, own, count, asked) for name, own in rows.items() if _failing(own)]
    return Report.of(
        every, standard=asked.standard, actual=f"{count} {asked.counted}", expected="the first of them",
        findings=findings, provenance={**api.versions(), "next": asked.advice},
    )  # fmt: skip


def _failing(rows: Sequence[TensorComparison]) -> list[TensorComparison]:
    return [row for row in rows if row.verdict == "fail"]


def _finding(name: str, rows: Sequence[TensorComparison], count: int, asked: Asked) -> Finding:
    """What differs, as a finding: the runs themselves are the evidence, and no trace is there to replay."""
    failing = _failing(rows)
    different = 1 + len({row.sha256 for row in failing})
    note = f"{different} different results in {count} {asked.counted}"
    evidence = {asked.counted: count, "departing": len(failing), "different_results": different, "note": note}
    return Finding(
        id=hashlib.sha256(f"{asked.cause}:{name}".encode()).hexdigest()[:12], cause=asked.cause, standing="candidate",
        step=name, source="", layer="", region=[name], born_at=[name], chain=[name], share=float("nan"),
        statistic="bits", limit=0.0, group="finite", elements=max(row.over_limit for row in failing),
        evidence=evidence, counterfactual=None, remedy=asked.advice,
    )  # fmt: skip


def _check_count(name: str, count: object, least: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
        raise PrecDiffError(f"{name}: found {count!r}; allowed is a whole number of at least {least}")


def _axes(inputs: Sequence[Any], axis: int | Sequence[int | None]) -> list[int | None]:
    """The axis of each input, counted from the front."""
    if not inputs:
        raise PrecDiffError("found no inputs; give those to be permuted: assert_order_invariant(fn, x, axis=0)")
    given = list(axis) if isinstance(axis, Sequence) else [axis] * len(inputs)
    if len(given) != len(inputs):
        raise PrecDiffError(f"axis: found {len(given)} axes for {len(inputs)} inputs; allowed is one, or one an input")
    return [None if one is None else _from_front(one, len(x.shape)) for one, x in zip(given, inputs, strict=True)]


def _from_front(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        allowed = f"{-ndim} to {ndim - 1}" if ndim else "None: a number has no order"
        raise PrecDiffError(f"axis: found {axis} for an input of {ndim} dimensions; allowed is {allowed}")
    return axis % ndim


def _length(inputs: Sequence[Any], axes: Sequence[int | None]) -> int:
    """How many elements are permuted: as many in each input, and more than one."""
    lengths = {int(x.shape[axis]) for x, axis in zip(inputs, axes, strict=True) if axis is not None}
    if len(lengths) != 1:
        found = ", ".join(map(str, sorted(lengths))) or "none"
        raise PrecDiffError(f"axis: found lengths {found}; allowed is one length for all inputs that are permuted")
    if (length := lengths.pop()) < 2:
        raise NotComparableError(f"nothing was compared: {length} elements along axis have one order only")
    return length


def _permutations(length: int, count: int, seed: int) -> Iterator[tuple[str, Array]]:
    """Backwards, then at random from the seed."""
    rng = np.random.default_rng(seed)
    yield "reversed", np.arange(length)[::-1].copy()
    for i in range(2, count + 1):
        yield f"order {i} of seed {seed}", rng.permutation(length)


def _in_every_order(
    fn: Callable[..., Any], inputs: Sequence[Any], axes: Sequence[int | None], out_axis: int | None,
    permutations: Iterator[tuple[str, Array]],
) -> Iterator[tuple[str, Mapping[str, Array]]]:  # fmt: skip
    """The outputs in the given order, then in every other one; those along out_axis are put back in the given order."""
    given = [as_array(x, "input").copy() for x in inputs]
    length = next(int(x.shape[axis]) for x, axis in zip(inputs, axes, strict=True) if axis is not None)
    yield "given order", named_outputs(fn(*_permuted(inputs, axes, np.arange(length))), "the given order")
    changed = False
    for label, permutation in permutations:
        moved = _permuted(inputs, axes, permutation)
        changed |= any(not np.array_equal(as_array(x, "input"), own) for x, own in zip(moved, given, strict=True))
        outputs = named_outputs(fn(*moved), label)
        yield label, {name: _put_back(array, permutation, out_axis) for name, array in outputs.items()}
    if not changed:
        raise NotComparableError("nothing was compared: these inputs are the same in every order; give other values")


def _permuted(inputs: Sequence[Any], axes: Sequence[int | None], permutation: Array) -> list[Any]:
    """Copies of the inputs in their own library, permuted, so that fn may change them."""
    return [
        x[...] if axis is None else x[(slice(None),) * axis + (permutation,)]
        for x, axis in zip(inputs, axes, strict=True)
    ]


def _put_back(array: Array, permutation: Array, out_axis: int | None) -> Array:
    if out_axis is None:
        return array
    axis = _from_front(out_axis, array.ndim)
    if array.shape[axis] != permutation.size:
        found = f"out_axis {out_axis} of the output {array.shape} holds {array.shape[axis]} elements"
        raise NotComparableError(f"{found}, the inputs' axis {permutation.size}; both must be equal")
    return np.take(array, np.argsort(permutation), axis)
