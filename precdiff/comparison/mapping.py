"""--map FILE: what a person knows of how two dumps' tensors belong together, as TOML rules.

    [[rename]]   actual = "blocks.*.attn.out"          expected = "layers.*.attention.output"
    [[concat]]   actual = ["*.q", "*.k", "*.v"]        expected = "*.qkv"                        axis = 0
    [[split]]    actual = "*.gate_up"                  expected = ["*.gate", "*.up"]             axis = -1
    [[view]]     side = "actual"   tensor = "*.conv.weight"   transpose = [0, 2, 3, 1]
    [[shards]]   side = "actual"   tensor = "*.qkv"           axis = 0       one piece a rank, joined in order of ranks

`*` stands for any text, the same on both sides of a rule. A view may transpose, reshape, `take` (a permutation or a
selection along `axis`), keep a `valid` length of each axis (0: all), and undo `layout` = "NZ" (FRACTAL_NZ: N1, M1, M0,
N0 for M x N; shape, then `valid` for what was padded) or "NHWC". Everything works on codes, so no bit changes. This
file must not compare.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from precdiff.dump import Dump, TensorRow
from precdiff.errors import FileError, UnknownNameError
from precdiff.formats import Array

Side = Literal["actual", "expected"]
_KEYS = {
    "rename": {"actual", "expected"},
    "concat": {"actual", "expected", "axis"},
    "split": {"actual", "expected", "axis", "sizes"},
    "view": {"side", "tensor", "transpose", "reshape", "take", "axis", "valid", "layout"},
    "shards": {"side", "tensor", "axis"},
}
_LAYOUTS = ("NZ", "NHWC")


@dataclass(frozen=True)
class Rule:
    """One table of the file."""

    kind: str
    given: Mapping[str, Any]

    def names(self, key: str) -> list[str]:
        """One pattern or several."""
        value = self.given[key]
        return [value] if isinstance(value, str) else list(value)

    def __str__(self) -> str:
        return f"{self.kind} {' + '.join(self.names('tensor' if 'tensor' in self.given else 'actual'))}"


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a file, in its order."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"--map {path}: {error}. docs/dumps.md shows such a file") from error
    return [_checked(kind, table, path) for kind, tables in found.items() for table in _tables(kind, tables, path)]


def _tables(kind: str, tables: Any, path: str | Path) -> list[Any]:
    if kind not in _KEYS:
        raise UnknownNameError(f"rule in {path}", kind, _KEYS)
    if not isinstance(tables, list):
        raise FileError(f"--map {path}: found [{kind}]; allowed is [[{kind}]], once for each rule")
    return tables


def _checked(kind: str, table: Mapping[str, Any], path: str | Path) -> Rule:
    for key in table:
        if key not in _KEYS[kind]:
            raise UnknownNameError(f"key of [[{kind}]] in {path}", key, _KEYS[kind])
    needed = _KEYS[kind] & ({"actual", "expected"} if "actual" in _KEYS[kind] else {"side", "tensor"})
    missing = sorted(needed - set(table))
    if missing:
        raise FileError(
            f"--map {path}: [[{kind}]] needs {' and '.join(missing)}; found {', '.join(table) or 'nothing'}"
        )
    if table.get("side", "actual") not in ("actual", "expected"):
        raise UnknownNameError(f"side in {path}", str(table["side"]), ("actual", "expected"))
    if table.get("layout", "NZ") not in _LAYOUTS:
        raise UnknownNameError(f"layout in {path}", str(table["layout"]), _LAYOUTS)
    return Rule(kind, dict(table))


def matches(pattern: str, names: Sequence[str]) -> dict[tuple[str, ...], str]:
    """The names a pattern fits, by what its stars stand for.

    >>> matches("*.q", ["a.0.q", "a.1.k"])
    {('a.0',): 'a.0.q'}
    """
    fitting = re.compile("(.*)".join(re.escape(part) for part in pattern.split("*")))
    found = ((fitting.fullmatch(name), name) for name in names)
    return {match.groups(): name for match, name in found if match}


def filled(pattern: str, stars: Sequence[str]) -> str:
    """The pattern with its stars replaced."""
    parts = pattern.split("*")
    return "".join(part + (stars[i] if i < len(stars) else "") for i, part in enumerate(parts[:-1])) + parts[-1]


@dataclass(frozen=True)
class Derived:
    """A tensor made of others: pieces, joined along an axis, then a part of that."""

    pieces: Sequence[Callable[[], Array]]
    axis: int | None = None
    then: Callable[[Array], Array] = lambda codes: codes

    def codes(self) -> Array:
        """Its codes."""
        pieces = [piece() for piece in self.pieces]
        return self.then(pieces[0] if self.axis is None else np.concatenate(pieces, axis=self.axis))


class MappedDump(Dump):
    """A dump seen through rules: its own tensors and steps, and tensors made of them."""

    reader = "mapped"

    def __init__(self, ranks: Sequence[Dump]) -> None:
        first = ranks[0]
        super().__init__(first.path, first.attrs, first.steps, dict(first.tensors))
        self.ranks = ranks
        self._derived: dict[str, Derived] = {}

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """No file is one."""
        return False

    @classmethod
    def open(cls, path: Path) -> Self:
        """No file is one."""
        raise FileError(f"{path}: a mapped dump is made of others")

    def derive(self, id: str, like: TensorRow, derived: Derived) -> None:
        """Add a tensor, or put one in the place of another; its shape is found by making it once."""
        shape = derived.codes().shape
        self.tensors = {
            **self.tensors,
            id: replace(like, id=id, shape=shape, data="full", statistics=None, checksum=""),
        }
        self._derived[id] = derived

    def source(self, id: str, rank: int = 0) -> Callable[[], Array]:
        """What gives a tensor's codes as they are before a further rule."""
        derived = self._derived.get(id) if rank == 0 else None
        return derived.codes if derived is not None else lambda: self.ranks[rank].codes(id)

    def codes(self, id: str) -> Array:
        """As any dump's."""
        return self._derived[id].codes() if id in self._derived else self.ranks[0].codes(id)

    def block(self, row: TensorRow, start: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """As any dump's; a tensor made of others is made whole."""
        if row.id not in self._derived:
            return self.ranks[0].block(row, start, shape)
        return self.codes(row.id)[tuple(slice(s, s + n) for s, n in zip(start, shape, strict=True))]


@dataclass(frozen=True)
class Mapped:
    """Both sides under the rules, the pairs they state, and rules that fitted nothing."""

    actual: MappedDump
    expected: MappedDump
    pairs: Mapping[str, str]
    idle: Sequence[str]


def mapped(actual: Sequence[Dump], expected: Sequence[Dump], rules: Sequence[Rule]) -> Mapped:
    """Apply the rules to the ranks of both sides: views and shards first, as the other rules see what they give."""
    sides = {"actual": MappedDump(actual), "expected": MappedDump(expected)}
    pairs: dict[str, str] = {}
    order = sorted(rules, key=lambda rule: rule.kind not in ("view", "shards"))
    idle = [str(rule) for rule in order if not _APPLY[rule.kind](rule, sides, pairs)]
    return Mapped(sides["actual"], sides["expected"], pairs, idle)


Sides = Mapping[str, MappedDump]


def _view(rule: Rule, sides: Sides, pairs: dict[str, str]) -> int:
    dump = sides[rule.given["side"]]
    found = matches(rule.given["tensor"], list(dump.tensors)).values()
    for id in found:
        dump.derive(id, dump.tensors[id], Derived([dump.source(id)], None, lambda codes: view(codes, rule.given)))
    return len(found)


def _shards(rule: Rule, sides: Sides, pairs: dict[str, str]) -> int:
    dump = sides[rule.given["side"]]
    found = matches(rule.given["tensor"], list(dump.tensors)).values()
    for id in found:
        ranks = [rank for rank, other in enumerate(dump.ranks) if id in other.tensors]
        pieces = [dump.source(id, rank) for rank in ranks]
        dump.derive(id, dump.tensors[id], Derived(pieces, int(rule.given.get("axis", 0))))
    return len(found)


def _rename(rule: Rule, sides: Sides, pairs: dict[str, str]) -> int:
    (mine,), (theirs,) = rule.names("actual"), rule.names("expected")
    found = 0
    for stars, id in matches(mine, list(sides["actual"].tensors)).items():
        other = filled(theirs, stars)
        if other in sides["expected"].tensors:
            pairs[id], found = other, found + 1
    return found


def _concat(rule: Rule, sides: Sides, pairs: dict[str, str]) -> int:
    """Several actual tensors are one expected."""
    dump, axis = sides["actual"], int(rule.given.get("axis", 0))
    whole, names = rule.names("expected")[0], rule.names("actual")
    found = 0
    for stars in matches(names[0], list(dump.tensors)):
        ids, other = [filled(name, stars) for name in names], filled(whole, stars)
        if other in sides["expected"].tensors and all(id in dump.tensors for id in ids):
            joined = " + ".join(ids)
            dump.derive(joined, dump.tensors[ids[0]], Derived([dump.source(id) for id in ids], axis))
            pairs[joined], found = other, found + 1
    return found


def _split(rule: Rule, sides: Sides, pairs: dict[str, str]) -> int:
    """One actual tensor is several expected: it is cut at their lengths, or into equal parts."""
    dump, axis, names = sides["actual"], int(rule.given.get("axis", 0)), rule.names("expected")
    found = 0
    for stars, id in matches(rule.names("actual")[0], list(dump.tensors)).items():
        others = [filled(name, stars) for name in names]
        if all(other in sides["expected"].tensors for other in others):
            found += 1
            for place, other in enumerate(others):
                part = f"{id}[{place}]"
                cut = _part(axis, place, len(others), rule.given.get("sizes"))
                dump.derive(part, dump.tensors[id], Derived([dump.source(id)], None, cut))
                pairs[part] = other
    return found


def _part(axis: int, place: int, count: int, sizes: Sequence[int] | None) -> Callable[[Array], Array]:
    def cut(codes: Array) -> Array:
        where = count if sizes is None else np.cumsum(sizes)[:-1]
        try:
            return np.split(codes, where, axis=axis)[place]
        except ValueError as error:
            raise FileError(
                f"--map: a tensor of shape {list(codes.shape)} does not split into {count}: {error}"
            ) from None

    return cut


def view(codes: Array, given: Mapping[str, Any]) -> Array:
    """A tensor as a [[view]] has it."""
    try:
        return _viewed(codes, given)
    except (ValueError, IndexError, TypeError) as error:
        said = {key: value for key, value in given.items() if key not in ("side", "tensor")}
        raise FileError(f"--map: a tensor of shape {list(codes.shape)} cannot be seen as {said}: {error}") from None


def _viewed(codes: Array, given: Mapping[str, Any]) -> Array:
    if given.get("layout") == "NZ":
        codes = from_nz(codes)
    if given.get("layout") == "NHWC":
        codes = np.moveaxis(codes, -1, -3)
    if "reshape" in given:
        codes = codes.reshape(given["reshape"])
    if "transpose" in given:
        codes = np.transpose(codes, given["transpose"])
    if "take" in given:
        codes = np.take(codes, given["take"], axis=given.get("axis", 0))
    if "valid" in given:
        codes = codes[tuple(slice(n or None) for n in given["valid"])]
    return np.ascontiguousarray(codes)


def from_nz(codes: Array) -> Array:
    """M x N of FRACTAL_NZ (..., N1, M1, M0, N0), padding kept.

    >>> from_nz(np.arange(8).reshape(2, 1, 2, 2)).tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    *lead, n1, m1, m0, n0 = codes.shape
    axes = len(lead)
    order = [*range(axes), axes + 1, axes + 2, axes, axes + 3]
    return codes.transpose(order).reshape(*lead, m1 * m0, n1 * n0)


_APPLY = {"rename": _rename, "concat": _concat, "split": _split, "view": _view, "shards": _shards}
