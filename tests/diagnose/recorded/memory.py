"""Dumps made of arrays, as a recorder would have kept them: [(step id, op, {role: array or value}, {role: array})]."""

from pathlib import Path

import numpy as np

from precdiff.dump import Attributes, Dump, StepRow, TensorRow
from precdiff.formats import carrier, format_of, to_bits


class MemoryDump(Dump):
    """A dump that lies in memory."""

    reader = "memory"

    @classmethod
    def sniff(cls, path, head):
        return False

    @classmethod
    def open(cls, path):
        raise NotImplementedError

    def codes(self, id):
        row, values = self.row(id), self.arrays[id]
        return to_bits(carrier(values), row.format)

    def block(self, row, start, shape):
        whole = self.codes(row.id)
        return whole[tuple(slice(s, s + n) for s, n in zip(start, shape, strict=True))]


def recorded(*calls, **attributes):
    """A dump of calls; a tensor's id is STEP.ROLE."""
    steps, tensors, arrays = [], {}, {}
    for id, op, given, made in calls:
        phase = "backward" if ".backward" in id or "parameters_grad" in id else "forward"
        ports = {"in": [], "out": []}
        for side, values in (("in", given), ("out", made)):
            for role, value in values.items():
                if not isinstance(value, np.ndarray):
                    continue
                name = f"{id}.{role}"
                made_role = "grad" if phase == "backward" else "output"
                kept = made_role if side == "out" else "parameter" if role.startswith("parameters") else "input"
                tensors[name] = TensorRow(name, format_of(value).name, value.shape, role, kept,
                                          stored_format=format_of(value).name)  # fmt: skip
                arrays[name] = value
                ports[side].append((role, name))
        params = {role: value for role, value in given.items() if not isinstance(value, np.ndarray)}
        layer = id.split(".")[1] if id.startswith("Module") else ""
        steps.append(StepRow(id, op, tuple(ports["in"]), tuple(ports["out"]), layer, phase, params))
    dump = MemoryDump(Path("memory"), Attributes(complete=True, **attributes), tuple(steps), tensors)
    dump.arrays = arrays
    return dump
