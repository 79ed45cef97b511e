"""One recorded call by itself: its tensors in a dump of one step, and a script that runs it again on a device.

    FOLDER/call.h5     the call as it was recorded: `precdiff compare call.h5` judges it
    FOLDER/again.py    runs it with torch on the device named as its argument (cpu, npu:0 ...), keeps what came out in
                       again.h5, and judges that

This file knows how calls are named (kernels/api.py) and where torch keeps them; it must not judge.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from precdiff.capture.recorder import Recorder
from precdiff.diagnose.recorded.judging import Recording
from precdiff.dump import StepRow
from precdiff.errors import FileError, UnknownNameError
from precdiff.formats import native
from precdiff.kernels.api import known_module

#: where torch keeps what a prefix names
_HOMES = {
    "Functional": "torch.nn.functional.{name}", "Torch": "torch.{name}", "Tensor": "torch.Tensor.{name}",
    "aten": "torch.ops.aten.{name}", "VF": "torch._VF.{name}",
}  # fmt: skip

_SCRIPT = '''"""{id}, recorded in {path}, run again by itself: python again.py [cpu | npu:0 | cuda:0]"""

import sys
from pathlib import Path

import torch

import precdiff
from precdiff.capture import Recorder

HERE = Path(__file__).parent
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
INPUTS = {inputs}
PLAIN = {plain}


def tensor(dump, id):
    codes, row = dump.codes(id).copy(), dump.row(id)
    if row.format in ("bf16", "fp16"):
        kind = torch.bfloat16 if row.format == "bf16" else torch.float16
        return torch.from_numpy(codes.view("int16")).view(kind).to(DEVICE)
    return torch.from_numpy(dump.native(id).copy()).to(DEVICE)


with precdiff.open_dump(HERE / "call.h5") as dump:
    given = {{role: tensor(dump, id) for role, id in INPUTS.items()}} | PLAIN


def part(name):
    """The arguments input.0, input.1 ... or those of a mapping, lists put together again."""
    found = {{role.split(".", 1)[1]: value for role, value in given.items() if role.split(".")[0] == name}}
    whole = {{}}
    for key, value in found.items():
        first, _, rest = key.partition(".")
        if rest:
            whole.setdefault(first, []).append(value)
        else:
            whole[first] = value
    return whole


positional = [value for _, value in sorted(part("input").items(), key=lambda item: int(item[0]))]
made = {function}(*positional, **part("parameters"), **part("kwargs"))
outputs = made if isinstance(made, (list, tuple)) else [made]
with Recorder(HERE / "again.h5") as rec:
    named = {{f"output.{{place}}": value for place, value in enumerate(outputs)}}
    rec.call({op!r}, given, named, id={id!r})
report = precdiff.compare(HERE / "again.h5")
print(f"{{DEVICE}}: {{report.verdict}}")
for row in report.tensors:
    print(f"  {{row.name}}: {{row.max_ulp:.4g}} ULP; {{row.rule}}")
sys.exit(report.verdict != "pass")
'''


def write_repro(recording: Recording, name: str, folder: str | Path) -> Path:
    """Write the call of a step, or the one that made a tensor, into a new folder; returns that."""
    step = _step(recording, name)
    place = Path(folder)
    function = _function(step)
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise FileError(f"--repro: the folder {place} cannot be made: {error.strerror}. Choose another place") from None
    _record(recording, step, place / "call.h5")
    inputs = {role: f"{step.id}.{role}" for role, _ in step.inputs}
    script = _SCRIPT.format(
        id=step.id, path=recording.dump.path, inputs=inputs, plain=dict(step.params), function=function, op=step.op
    )
    (place / "again.py").write_text(script, encoding="utf-8")
    return place


def _step(recording: Recording, name: str) -> StepRow:
    """A step by its id, a tensor's, or the layer's last step."""
    steps = recording.steps
    made = recording.contents.made_by.get(name)
    reading = next((s.id for s in steps.values() if name in [id for _, id in s.inputs]), None)
    layer = next((s.id for s in reversed(recording.dump.steps) if s.layer == name and s.phase == "forward"), None)
    found = next((id for id in (name if name in steps else None, made, reading, layer) if id is not None), None)
    if found is None:
        raise UnknownNameError("step, tensor or layer", name, [*steps, *recording.dump.tensors])
    if steps[found].phase == "backward":
        raise FileError(f"--repro {name}: it is of a backward pass, which is no call by itself; name its forward call")
    return steps[found]


def _function(step: StepRow) -> str:
    prefix, _, name = step.op.partition(".")
    if prefix in ("Module", "Cell"):
        module = known_module(name)
        if module is None:
            raise FileError(f"--repro {step.id}: what {step.op} computes is not in the record; name a call in it")
        return _HOMES["Functional"].format(name=module[0].name)
    if prefix not in _HOMES:
        raise FileError(
            f"--repro {step.id}: PrecDiff does not know where {step.op} is kept; known are {', '.join(_HOMES)}"
        )
    return _HOMES[prefix].format(name=name)


def _record(recording: Recording, step: StepRow, path: Path) -> None:
    def tensors(ports: Any) -> dict[str, Any]:
        missing = next((id for _, id in ports if not recording.contents.held(id)), None)
        if missing is not None:
            raise FileError(f"--repro {step.id}: the values of {missing} were not kept")
        found = {role: recording.contents.operand(id) for role, id in ports}
        return {role: native(operand.values, operand.format) for role, operand in found.items()}

    with Recorder(path) as rec:
        rec.call(step.op, {**tensors(step.inputs), **step.params}, tensors(step.outputs), id=step.id, layer=step.layer)
