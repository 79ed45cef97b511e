"""What a dump says beside the values: its attributes, one row a step, one row a tensor. Plain data from any file.

`inputs` and `outputs` of a step are (role, tensor id) in argument order; where a program gives no roles they are
`input` and `output`. A tensor's `name` is an input's argument name, or what its result was assigned to in the source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from precdiff.dump.statistics import Statistics

Ports = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Attributes:
    """What holds for the whole run, None where nobody said; `inputs` and `outputs` map names to tensor ids."""

    kernel: str = ""
    profile: str = ""
    format: str = ""
    seed: int | None = None
    iteration: int | None = None
    rank: int | None = None
    microbatch: int | None = None
    created: str = ""
    complete: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepRow:
    """One op. `source` is `file:line`, empty where unknown."""

    id: str
    op: str
    inputs: Ports
    outputs: Ports
    layer: str = ""
    phase: str = "forward"
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class TensorRow:
    """One tensor. `data` says what was kept: full | stats | checksum; `where` is its place in the file.

    Dumps of other programs: `format` is a name of theirs where PrecDiff has none, and `note` says why values that were
    meant to be there cannot be had. Statistics are as recorded, in the precision they were recorded in.
    """

    id: str
    format: str
    shape: tuple[int, ...]
    name: str = ""
    role: str = "output"
    layer: str = ""
    stored_format: str = ""
    data: str = "full"
    where: str = ""
    statistics: Statistics | None = None
    #: `kind:digits`, kind one of CHECKSUMS (dump/statistics.py), or `value:number` of a scalar that is its own
    checksum: str = ""
    note: str = ""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)
