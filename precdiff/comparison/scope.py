"""Which tensors a row of the configuration speaks of, by globs, and the limits such rows set.

A scope names tensors (by id or name), layers, or both, as shell patterns that tell capitals apart. A limit is
--max-ulp and --standard for the tensors of its scope; the first row that matches holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Scope:
    """Globs on a tensor's id or name, and on its layer; None: any.

    >>> Scope(tensor="e*").matches("exp", "out", "pow"), Scope("o?t", "q*").matches("exp", "out", "pow")
    (True, False)
    """

    tensor: str | None = None
    layer: str | None = None

    def matches(self, id: str, name: str, layer: str) -> bool:
        """Whether a tensor is meant."""
        named = self.tensor is None or any(fnmatchcase(word, self.tensor) for word in (id, name))
        return named and (self.layer is None or fnmatchcase(layer, self.layer))


@dataclass(frozen=True)
class TensorLimit:
    """What the tensors of a scope are judged by, in place of what holds otherwise; `source` is file:line."""

    scope: Scope
    max_ulp: float | None = None
    standard: str | None = None
    source: str = ""


def limit_of(limits: Iterable[TensorLimit], id: str, name: str, layer: str) -> TensorLimit | None:
    """The first row that speaks of a tensor."""
    return next((row for row in limits if row.scope.matches(id, name, layer)), None)
