"""A trace: what a kernel did, step by step, as plain data that can be stored, read back and replayed.

Tensors are named by id. The id of an input is its name; the id of any other tensor is the id of the step that made it
(one op, one output). Step ids read like the source: the op's name, prefixed by the inner layers, numbered from the
second use on (`exp`, `exp#2`, `softmax/exp`). Values are numpy carriers (formats/format.py), bit for bit what the
machine gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from precdiff.device.profile import DeviceProfile


@dataclass(frozen=True)
class Source:
    """Where a step was written: file, line, and the name it was assigned to (empty where it had none)."""

    file: str
    line: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Step:
    """One op of a trace.

    `inputs` are tensor ids in argument order; `params` is JSON-able; `format` is the declared format of the output.
    """

    id: str
    op: str
    inputs: tuple[str, ...]
    params: Mapping[str, Any]
    format: str
    layer: str
    source: Source
    phase: str = "forward"


@dataclass
class Trace:
    """Steps in execution order, and every tensor's value.

    `inputs` and `outputs` map the kernel's argument and result names to tensor ids; `values` and `formats` are by
    tensor id; `kernel` is the registered name or file.py:function; `options` are the kernel's keyword options.
    """

    kernel: str
    profile: DeviceProfile
    steps: list[Step] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def step(self, step_id: str) -> Step:
        """The step of that id; unknown ids raise with the nearest known one."""
        from precdiff.errors import UnknownNameError

        for step in self.steps:
            if step.id == step_id:
                return step
        raise UnknownNameError("step", step_id, [s.id for s in self.steps])
