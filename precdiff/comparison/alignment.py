"""Which tensors of two dumps belong together, and how that was told.

    name         the same id
    rule         the same call under another spelling: DDP's and compile's wrappers, Cell for Module, Mint for Torch,
                 __add__ for add; calls of one function are numbered anew, in order of occurrence
    structure    between two steps that are paired, steps of the same phase and shapes, where both sides have as many
    shape        tensors of no step: the only one of its shape and format on either side

Each stage looks at what the ones before left over, and every stage is linear in rows. Tensors of paired steps are
paired by role, else by place among those of their shape. What is left over on either side is listed. This file must not
know values.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from precdiff.dump import Dump, StepRow, TensorRow

Key = TypeVar("Key", bound=Hashable)

#: wrappers around a model that take a place in its modules' paths
_WRAPPERS = re.compile(r"(?<![^.])(module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
#: libraries whose functions are the same under the same name
_LIBRARIES = re.compile(r"^(Functional|Torch|Tensor|Mint|MintFunctional|Primitive|NPU|Aten|VF|Jit|aten)\.")
_DUNDER = re.compile(r"__r?i?(?P<name>[a-z]+)__")
_SAME = {"truediv": "div", "true_divide": "div", "multiply": "mul", "subtract": "sub", "concat": "cat"}


@dataclass(frozen=True)
class Alignment:
    """(actual id, expected id) -> how; ids without a partner on either side, in the dumps' order."""

    pairs: Mapping[str, str]
    how: Mapping[str, str]
    unmatched_actual: Sequence[str] = ()
    unmatched_expected: Sequence[str] = ()

    def counts(self) -> dict[str, int]:
        """How many pairs each stage made."""
        return dict(Counter(how.partition(":")[0] for how in self.how.values()))


@dataclass
class _Found:
    """Pairs so far."""

    actual: Dump
    expected: Dump
    pairs: dict[str, str] = field(default_factory=dict)
    how: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    steps: dict[str, str] = field(default_factory=dict)

    def add(self, mine: str, theirs: str, how: str) -> None:
        if mine not in self.pairs and theirs not in self.taken:
            self.pairs[mine], self.how[mine] = theirs, how
            self.taken.add(theirs)

    def add_step(self, mine: StepRow, theirs: StepRow, how: str) -> None:
        """Pair the tensors of two steps."""
        self.steps[mine.id] = theirs.id
        for a, b in ((mine.inputs, theirs.inputs), (mine.outputs, theirs.outputs)):
            by_role = dict(b)
            left = [(role, id) for role, id in a if id not in self.pairs]
            for role, id in left:
                if role in by_role and self._alike(id, by_role[role]):
                    self.add(id, by_role[role], how)
            self._by_place([id for _, id in left], [id for _, id in b], how)

    def _by_place(self, mine: Iterable[str], theirs: Iterable[str], how: str) -> None:
        free = [id for id in theirs if id not in self.taken]
        for id in mine:
            other = None if id in self.pairs else next((f for f in free if self._alike(id, f)), None)
            if other is not None:
                free.remove(other)
                self.add(id, other, how)

    def _alike(self, mine: str, theirs: str) -> bool:
        return self.actual.tensors[mine].shape == self.expected.tensors[theirs].shape


def align(actual: Dump, expected: Dump, stated: Mapping[str, str] | None = None) -> Alignment:
    """Pair the tensors of two dumps; `stated` are pairs somebody gave, which come first."""
    found = _Found(actual, expected)
    for mine, theirs in (stated or {}).items():
        found.add(mine, theirs, "map")
    _by_name(found)
    _by_spelling(found)
    _by_structure(found)
    _loose(found, lambda row: re.sub(r"[^a-z0-9]+", ".", _WRAPPERS.sub("", row.id).lower()), "rule: spelling")
    _loose(found, lambda row: (row.shape, row.format), "shape")
    for id in actual.tensors:
        if id in expected.tensors:
            found.add(id, id, "name")
    return Alignment(
        found.pairs,
        found.how,
        tuple(id for id in actual.tensors if id not in found.pairs),
        tuple(id for id in expected.tensors if id not in found.taken),
    )


def _by_name(found: _Found) -> None:
    """Steps of the same id and shapes, and tensors of no step; a shifted numbering shows in the shapes."""
    theirs = {step.id: step for step in found.expected.steps}
    for step in found.actual.steps:
        other = theirs.get(step.id)
        if other is not None and _shapes(found.actual, step) == _shapes(found.expected, other):
            found.add_step(step, other, "name")
    in_steps = _in_steps(found.actual) | _in_steps(found.expected)
    for id in found.actual.tensors:
        if id in found.expected.tensors and id not in in_steps:
            found.add(id, id, "name")


def _in_steps(dump: Dump) -> set[str]:
    return {id for step in dump.steps for _, id in (*step.inputs, *step.outputs)}


def spelling(step: StepRow) -> tuple[str, str]:
    """What a step's call is called however it is spelt, and its phase.

    >>> spelling(StepRow("Tensor.__iadd__.3.forward", "Tensor.__iadd__", (), ()))
    ('add', 'forward')
    >>> spelling(StepRow("Module.module.head.Linear.forward.0", "Module.Linear", (), (), layer="module/head"))
    ('Module.head', 'forward')
    """
    phase = "gradients" if ".parameters_grad" in step.id else step.phase
    if step.op.startswith(("Module.", "Cell.")):
        return f"Module.{_WRAPPERS.sub('', step.layer.replace('/', '.'))}", phase
    name = _LIBRARIES.sub("", step.op)
    dunder = _DUNDER.fullmatch(name)
    plain = dunder["name"] if dunder else name.rstrip("_") or name
    return _SAME.get(plain, plain), phase


def _by_spelling(found: _Found) -> None:
    """Calls of one spelling in order of occurrence; where the numbers of calls differ, those of the same shapes."""
    mine, theirs = _grouped(_left(found.actual, found.steps), spelling), _grouped(_free(found), spelling)
    for key, steps in mine.items():
        others = theirs.get(key, [])
        if len(steps) == len(others):
            _pair_in_order(found, steps, others, f"rule: {key[0]}")
        else:
            _pair_alike(found, steps, others, f"rule: {key[0]}")


def _pair_in_order(found: _Found, steps: Sequence[StepRow], others: Sequence[StepRow], how: str) -> None:
    for step, other in zip(steps, others, strict=True):
        found.add_step(step, other, how)


def _pair_alike(found: _Found, steps: Sequence[StepRow], others: Sequence[StepRow], how: str) -> None:
    """Those whose shapes occur equally often on both sides."""
    mine = _grouped(steps, lambda s: _shapes(found.actual, s))
    theirs = _grouped(others, lambda s: _shapes(found.expected, s))
    for key, alike in mine.items():
        if len(alike) == len(theirs.get(key, [])):
            _pair_in_order(found, alike, theirs[key], how)


def _by_structure(found: _Found) -> None:
    """Between paired steps (whose order is the same on both sides), steps of the same shapes, where as many."""
    places = {step.id: n for n, step in enumerate(found.expected.steps)}
    gaps: dict[int, list[StepRow]] = defaultdict(list)
    anchor, free = -1, {s.id for s in _free(found)}
    for step in found.actual.steps:
        if step.id in found.steps:
            anchor = max(anchor, places[found.steps[step.id]])
        else:
            gaps[anchor].append(step)
    for start, steps in gaps.items():
        _pair_alike(found, steps, list(_run_of(found.expected.steps, start + 1, free)), "structure")


def _run_of(steps: Sequence[StepRow], start: int, free: set[str]) -> Iterator[StepRow]:
    """The steps from `start` on that are still free."""
    for n in range(start, len(steps)):
        if steps[n].id not in free:
            return
        yield steps[n]


def _shapes(dump: Dump, step: StepRow) -> Hashable:
    given, made = ([dump.tensors[id].shape for _, id in ports] for ports in (step.inputs, step.outputs))
    return step.phase, tuple(given), tuple(made)


def _left(dump: Dump, paired: Mapping[str, str]) -> list[StepRow]:
    return [step for step in dump.steps if step.id not in paired]


def _free(found: _Found) -> list[StepRow]:
    taken = set(found.steps.values())
    return [step for step in found.expected.steps if step.id not in taken]


def _grouped(steps: Iterable[StepRow], key: Callable[[StepRow], Key]) -> dict[Key, list[StepRow]]:
    groups: dict[Key, list[StepRow]] = defaultdict(list)
    for step in steps:
        groups[key(step)].append(step)
    return groups


def _loose(found: _Found, key: Callable[[TensorRow], Hashable], how: str) -> None:
    """Tensors of no step: the only one with its key on either side."""
    mine, theirs = (_only(dump, left, key) for dump, left in (
        (found.actual, lambda id: id not in found.pairs), (found.expected, lambda id: id not in found.taken),
    ))  # fmt: skip
    for k, id in mine.items():
        if k in theirs:
            found.add(id, theirs[k], how)


def _only(dump: Dump, left: Callable[[str], bool], key: Callable[[TensorRow], Hashable]) -> dict[Hashable, str]:
    in_steps = _in_steps(dump)
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for id, row in dump.tensors.items():
        if left(id) and id not in in_steps:
            groups[key(row)].append(id)
    return {k: ids[0] for k, ids in groups.items() if len(ids) == 1}
