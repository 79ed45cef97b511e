"""Pickles read as data: an interpreter of the opcodes that build containers, which cannot call anything.

A pickle is a program for a stack machine. Here GLOBAL pushes a name and imports nothing; a name may only be applied
(REDUCE) if the caller gave a meaning for it, as a function of ours; classes are never made, whatever the opcodes INST,
OBJ, NEWOBJ and BUILD ask for. Opcodes and their arguments are decoded by the standard library's `pickletools`, which
runs nothing.

BUILD is taken for an OrderedDict only, whose state (torch's `_metadata`) is left out.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from precdiff.errors import FileError

#: opcodes of a pickle; a state dict of a million tensors has less
MOST_OPCODES = 50_000_000

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: Mapping[str, Callable[[], Any]] = {
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": list,
}  # fmt: skip
_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES "
    "SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8".split()
)
_IGNORED = frozenset(("PROTO", "FRAME", "STOP"))
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_GET, _PUT = frozenset(("GET", "BINGET", "LONG_BINGET")), frozenset(("PUT", "BINPUT", "LONG_BINPUT"))


@dataclass(frozen=True)
class Name:
    """What a GLOBAL names. It is not imported."""

    text: str

    def __str__(self) -> str:
        return self.text


class _Mark:
    """Where a group of arguments on the stack begins."""


Meaning = Callable[..., Any]


def unpickle(
    file: BinaryIO,
    what: str,
    calls: Mapping[str, Meaning],
    persistent: Callable[[Any], Any],
    allowed: Callable[[str], bool],
) -> Any:
    """The object of the pickle `file` stands at.

    `calls` gives the meaning of each name that may be applied, `persistent` that of a persistent id, and `allowed` says
    which further names may occur as values. Anything else raises a FileError that names it.
    """
    machine = _Machine(what, calls, persistent, allowed)
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            machine.step(opcode.name, argument)
            if count > MOST_OPCODES:
                raise FileError(f"{what}: its pickle has more than {MOST_OPCODES:,} opcodes")
        return machine.result()
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise FileError(f"{what}: its pickle is damaged ({type(error).__name__}: {str(error)[:120]})") from error


class _Machine:
    """The stack, the memo, and what each opcode does to them."""

    def __init__(
        self, what: str, calls: Mapping[str, Meaning], persistent: Callable[[Any], Any], allowed: Callable[[str], bool]
    ) -> None:
        self._what, self._calls, self._persistent, self._allowed = what, calls, persistent, allowed
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self._stack) != 1 or isinstance(self._stack[0], _Mark):
            raise ValueError(f"{len(self._stack)} objects are left")
        return self._stack[0]

    def step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self._stack.append(argument)
        elif name in _PUT:
            self._memo[int(argument)] = self._stack[-1]
        elif name in _GET:
            self._stack.append(self._memo[int(argument)])
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self._stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self._tuple(_TUPLES[name])
        elif name not in _IGNORED:
            self._rest(name, argument)

    def _rest(self, name: str, argument: Any) -> None:
        found = getattr(self, f"_on_{name.lower()}", None)
        if found is None:
            raise FileError(f"{self._what}: refused, its pickle makes objects of a class (opcode {name}){self._seen()}")
        found(argument)

    def _seen(self) -> str:
        names = [str(item) for item in self._stack if isinstance(item, Name)]
        return f": {names[-1]}" if names else ""

    def _tuple(self, count: int) -> None:
        taken = [self._pop() for _ in range(count)]
        self._stack.append(tuple(reversed(taken)))

    def _pop(self) -> Any:
        item = self._stack.pop()
        if isinstance(item, _Mark):
            raise ValueError("a mark where an object is needed")  # noqa: TRY004 - a damaged pickle, not a wrong type of ours
        return item

    def _group(self) -> list[Any]:
        """What lies above the topmost mark, which goes too."""
        place = next(n for n in range(len(self._stack) - 1, -2, -1) if n < 0 or isinstance(self._stack[n], _Mark))
        if place < 0:
            raise ValueError("no mark")
        group = self._stack[place + 1 :]
        del self._stack[place:]
        return group

    def _on_mark(self, _: Any) -> None:
        self._stack.append(_Mark())

    def _on_pop(self, _: Any) -> None:
        self._stack.pop()

    def _on_pop_mark(self, _: Any) -> None:
        self._group()

    def _on_dup(self, _: Any) -> None:
        self._stack.append(self._stack[-1])

    def _on_memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _on_tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._group()))

    def _on_list(self, _: Any) -> None:
        self._stack.append(self._group())

    def _on_dict(self, _: Any) -> None:
        group = self._group()
        self._stack.append(_pairs(group))

    def _on_append(self, _: Any) -> None:
        item = self._pop()
        _of(list, self._stack[-1]).append(item)

    def _on_appends(self, _: Any) -> None:
        group = self._group()
        _of(list, self._stack[-1]).extend(group)

    _on_additems = _on_appends

    def _on_setitem(self, _: Any) -> None:
        value, key = self._pop(), self._pop()
        _of(dict, self._stack[-1]).update(_pairs([key, value]))

    def _on_setitems(self, _: Any) -> None:
        group = self._group()
        _of(dict, self._stack[-1]).update(_pairs(group))

    def _on_global(self, argument: Any) -> None:
        self._name(str(argument).replace(" ", ".", 1))

    def _on_stack_global(self, _: Any) -> None:
        attribute, module = self._pop(), self._pop()
        self._name(f"{_of(str, module)}.{_of(str, attribute)}")

    def _name(self, text: str) -> None:
        if text not in self._calls and not self._allowed(text):
            raise FileError(
                f"{self._what}: refused, its pickle names {text!r}. Read are tensors in dicts, lists and tuples of "
                "plain values; where you trust the file, save them alone: torch.save(model.state_dict(), FILE)"
            )
        self._stack.append(Name(text))

    def _on_reduce(self, _: Any) -> None:
        arguments, called = self._pop(), self._pop()
        meaning = self._calls.get(_of(Name, called).text)
        if meaning is None:
            raise FileError(f"{self._what}: refused, its pickle calls {called}")
        self._stack.append(meaning(*_of(tuple, arguments)))

    def _on_build(self, _: Any) -> None:
        self._pop()
        _of(dict, self._stack[-1])

    def _on_binpersid(self, _: Any) -> None:
        self._stack.append(self._persistent(self._pop()))


def _pairs(group: list[Any]) -> dict[Any, Any]:
    keys = group[::2]
    if len(group) % 2 or not all(isinstance(key, str | int | float | bytes | None) for key in keys):
        raise ValueError("a dict with keys that are no plain values")
    return dict(zip(keys, group[1::2], strict=True))


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{type(value).__name__} where a {kind.__name__} is needed")
    return value
